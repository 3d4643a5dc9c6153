"""A TPU predicted in a container as confined as any: one image, since the images of all TPUs have the same parts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from portbench.formats.documents import validate

pytestmark = pytest.mark.frameworks

TARGET = "jax-0.10.2-tpu-v3"


@pytest.mark.slow(minutes=2)
def test_a_container_without_privileges_compiles_for_a_tpu_that_is_not_there(compose, room, results: Path) -> None:
    room(TARGET)
    env = {"JAX_VERSION": "0.10.2", "PORTBENCH_RESULTS": str(results)}
    built = compose("build", "--quiet", "jax-tpu-v3", env=env)
    assert built.returncode == 0, built.stderr[-3000:]
    few = ("--runs", "1", "--function", "jax.numpy.linalg.eig", "--function", "jax.numpy.fliplr")
    options = ("--manifest", "manifests/study/jax.json", "--out", "/results", *few)
    done = compose("run", "--rm", "--no-TTY", "jax-tpu-v3", *options, env=env)
    assert done.returncode == 0, done.stderr[-3000:]
    (run_file,) = results.iterdir()
    assert [verdict.problems for verdict in validate([run_file])] == [()]
    assert run_file.stat().st_uid == results.stat().st_uid
    document = json.loads(run_file.read_text())
    assert document["environment"]["container"] == "docker"
    prediction = document["prediction"]
    assert (prediction["kind"], prediction["topology"]) == ("compiled", "v3:2x2")
    assert prediction["compiler"].startswith("libtpu ")
    # What a call refuses, and options that are combined, are not predicted: such tests are skipped.
    predicted = [
        result
        for result in document["results"]
        if not result["test"].startswith("refuses-") and result["case"] != "jax.combined:combinations"
    ]
    ended = {(result["function"], result["outcome"]) for result in predicted}
    assert ended == {("jax.numpy.linalg.eig", "failed"), ("jax.numpy.fliplr", "passed")}

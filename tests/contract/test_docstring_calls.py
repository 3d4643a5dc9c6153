"""Calls that examples in docstrings make, as collected tests: in every framework they pass on the CPU again."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.paths import ROOT

pytestmark = [pytest.mark.frameworks, pytest.mark.slow(minutes=2), pytest.mark.xdist_group("calls of docstrings")]

FUNCTIONS = {
    "torch-2.9.0-cpu": ("torch.addmm", "torch.gather", "torch.abs", "torch.abs_", "torch.hub.load"),
    "jax-0.12.0.1-cpu": ("jax.numpy.add", "jax.numpy.argmax", "jax.nn.relu"),
    "tensorflow-2.21.0-cpu": ("tf.math.add", "tf.gather", "tf.io.gfile.GFile"),
}


def portbench(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "portbench", *words], cwd=ROOT, capture_output=True, text=True)


@pytest.fixture(scope="module", params=sorted(FUNCTIONS))
def collected(
    request: pytest.FixtureRequest, environment_python: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """A target, and a manifest of a few of its functions."""
    target = str(request.param)
    environment_python(target)
    path = tmp_path_factory.mktemp("docs") / "docs.json"
    only = [word for name in FUNCTIONS[target] for word in ("--function", name)]
    done = portbench("collect", target, "--from", "docs", "--backend", "venv", "-o", str(path), *only)
    assert done.returncode == 0, done.stderr[-3000:]
    return target, path


def test_calls_and_their_mutations_pass_on_the_cpu(collected: tuple[str, Path], tmp_path: Path) -> None:
    target, path = collected
    document = json.loads(path.read_text("utf-8"))
    tests: dict[str, list[Any]] = {entry["function"]: entry["tests"] for entry in document["functions"]}
    expected = [name for name in FUNCTIONS[target] if name not in ("torch.hub.load", "tf.io.gfile.GFile")]
    assert set(expected) <= set(tests)
    for name in expected:
        mutations = [mutation for test in tests[name] for mutation in test["grid"]["mutation"]]
        assert {"none", "empty"} <= set(mutations), name
        assert tests[name][0]["params"]["args"], name
    options = ("--runs", "1", "--protocol", "cold", "--backend", "venv", "--out", str(tmp_path))
    done = portbench("run", target, "--manifest", str(path), *options)
    assert done.returncode == 0, done.stderr[-3000:]
    results = json.loads(next(tmp_path.glob("*.json")).read_text("utf-8"))["results"]
    assert len(results) > 20
    failed = [f"{each['function']}::{each['test']}" for each in results if each["outcome"] != "passed"]
    assert not failed

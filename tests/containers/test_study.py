"""The CPU images of all three frameworks, study version and current one: the study's manifest gives the same results
in a container, started as the README says, as in a virtual environment of the same lock."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from portbench.formats.documents import validate
from portbench.targets.catalog import find_targets
from portbench.util.repository import find_checkout
from tests.containers.conftest import assert_names, group_of
from tests.contract.contracts import CPU_TARGETS, FEW, THIRD
from tests.paths import ROOT

pytestmark = pytest.mark.frameworks

TARGETS = [
    pytest.param(*target.split("-")[:2], marks=pytest.mark.xdist_group(group_of(target))) for target in CPU_TARGETS
]


def portbench(*arguments: str) -> str:
    done = subprocess.run([sys.executable, "-m", "portbench", *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def the_run_file(folder: Path) -> Path:
    (found,) = folder.glob("*.json")
    return found


def ends(run_file: Path) -> dict[tuple[str, str], tuple[str, str | None, str]]:
    """Of each test: outcome, category and placement."""
    results = json.loads(run_file.read_text())["results"]
    return {
        (result["function"], result["test"]): (result["outcome"], result["category"], result["placement"]["verdict"])
        for result in results
    }


@pytest.mark.parametrize(("framework", "version"), TARGETS)
def test_a_container_gives_the_results_of_the_environment(
    compose, build_image, framework: str, version: str, results: Path, tmp_path: Path
) -> None:
    target, service = f"{framework}-{version}-cpu", f"{framework}-cpu"
    build_image(*find_targets([target], find_checkout()))
    variables = {f"{framework.upper()}_VERSION": version, "PORTBENCH_RESULTS": str(results)}
    quick = (
        "--manifest",
        f"manifests/study/{framework}.json",
        "--out",
        "/results",
        "--runs",
        "1",
        "--protocol",
        "cold",
        "--shard",
        THIRD,
        *(word for glob in FEW[framework] for word in ("--function", glob)),
    )
    done = compose("run", "--rm", "--no-TTY", service, *quick, env=variables)
    assert done.returncode == 0, done.stderr[-3000:]
    contained = the_run_file(results)
    assert [verdict.problems for verdict in validate([contained])] == [()]
    document = json.loads(contained.read_text())
    assert document["target"] == {"framework": framework, "version": version, "device": "cpu"}
    assert document["environment"]["container"] == "docker"

    options = quick[4:]
    portbench("run", target, "--backend", "venv", "--out", str(tmp_path / "native"), *options)
    native = the_run_file(tmp_path / "native")
    assert ends(contained) == ends(native)
    packages = [json.loads(file.read_text())["environment"]["packages"] for file in (contained, native)]
    assert packages[0] == packages[1]

    portbench("merge", str(contained), str(native), "-o", str(tmp_path / "study"))
    (merged,) = json.loads((tmp_path / "study" / "study.json").read_text())["targets"]
    flaky = [function["name"] for function in merged["functions"] if function["tests_by_verdict"]["flaky"]]
    assert flaky == []


@pytest.mark.xdist_group(group_of("jax-0.4.13-cpu"))
def test_portbench_records_the_image(build_image, tmp_path: Path) -> None:
    image = build_image(*find_targets(["jax-0.4.13-cpu"], find_checkout()))
    out = tmp_path / "results"
    options = ("--out", str(out), "--function", "jax.numpy.cos", "--runs", "1")
    portbench("run", "jax-0.4.13-cpu", "--backend", "docker", *options)
    assert_names(json.loads(the_run_file(out).read_text()), image)

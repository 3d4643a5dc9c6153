"""Calls of JAX and TensorFlow: recorded in a program that runs as it would alone, and repeated on the CPU."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contract.contracts import VERSIONS
from tests.paths import ROOT

pytestmark = pytest.mark.frameworks

TARGETS = [
    pytest.param(f"{framework}-{version}-cpu", marks=[pytest.mark.slow] if version == VERSIONS[framework][0] else [])
    for framework in ("jax", "tensorflow")
    for version in VERSIONS[framework]
]

Tests = dict[str, list[dict[str, Any]]]


class Recorded:
    """A recorded program: what it printed, its manifest, and the results of its repeated calls by function."""

    def __init__(self, target: str, python: Path, folder: Path) -> None:
        self.target = target
        self.framework = target.split("-")[0]
        program = [str(python), str(ROOT / "tests" / "contract" / f"recorded_{self.framework}.py")]
        command = [sys.executable, "-m", "portbench", "record", "-o", str(folder / "recording"), "--", *program]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]
        self.printed = done.stdout
        self.path = folder / "recording" / f"{self.framework}.json"
        self.manifest = json.loads(self.path.read_text("utf-8"))
        self.tests: Tests = {entry["function"]: entry["tests"] for entry in self.manifest["functions"]}

    def replayed(self) -> list[dict[str, Any]]:
        out = self.path.parent / "results"
        options = ["--runs", "1", "--protocol", "cold", "--backend", "venv", "--out", str(out)]
        # Whole programs have tests of their own.
        functions = [f"--function={name}" for name in self.tests if name not in ("jax.jit", "tf.function")]
        command = [sys.executable, "-m", "portbench", "run", self.target, "--manifest", str(self.path)]
        done = subprocess.run([*command, *options, *functions], cwd=ROOT, capture_output=True, text=True)
        (path,) = out.glob("*.json") or [Path(done.stderr[-3000:])]
        results: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))["results"]
        return results


@pytest.fixture(scope="module", params=TARGETS)
def recorded(
    request: pytest.FixtureRequest, environment_python: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Recorded:
    return Recorded(request.param, environment_python(request.param), tmp_path_factory.mktemp("recorded"))


def test_the_program_runs_as_alone_and_its_calls_are_there(recorded: Recorded) -> None:
    # The refused call raised in the program what it raises without the recorder.
    assert "refused" in recorded.printed and "sum" in recorded.printed
    found = recorded.manifest["recorded"]
    assert found["failures"] == []
    tests = recorded.tests
    if recorded.framework == "jax":
        # In scan and cond, in a mapped function, and in a thread.
        assert {"jax.numpy.sin", "jax.numpy.cos", "jax.numpy.dot", "jax.numpy.sort"} <= set(tests)
        # An update, a reduction that JAX knows by its function, and a call with a named tuple.
        assert {"jax.Array.at", "jax.lax.reduce_window", "jax.lax.conv_general_dilated"} <= set(tests)
        assert [(entry["function"], entry["calls"]) for entry in found["left_out"]] == [("jax.lax.psum", 1)]
        # vmap shows the shapes of one element.
        (dot,) = tests["jax.numpy.dot"]
        assert [each["tensor"]["shape"] for each in dot["args"]] == [[4], [4, 3]]
    else:
        # In tf.function, in a layer of Keras, in map_fn, and in a thread.
        assert {"tf.square", "tf.nn.bias_add", "tf.sin", "tf.sort"} <= set(tests)
        assert [entry["function"] for entry in found["left_out"]] == ["tf.strings.length"]
        # The numbers of a shape are kept, so that it fits.
        shapes = [test["args"][1] for test in tests["tf.reshape"]]
        assert {"tensor": {"dtype": "int32", "values": [4, 8]}} in shapes
        # The traced function as a whole; TensorFlow 2.11 cannot write it down.
        modules = [test["modules"]["any"] for test in tests["tf.function"]]
        assert modules and {*modules[0]} == ({"unknown"} if "2.11" in recorded.target else {"stablehlo"})
    sites = {site for entry in tests.values() for test in entry for site in test["sites"]}
    assert any(f"recorded_{recorded.framework}.py:" in site for site in sites)


def test_calls_whose_gradients_are_wanted_are_told_apart(recorded: Recorded) -> None:
    name = {"jax": "jax.numpy.tanh", "tensorflow": "tf.square"}[recorded.framework]
    gradients = [test for test in recorded.tests[name] if test.get("gradient")]
    assert gradients and all(test["args"][0]["tensor"]["requires_grad"] for test in gradients)
    drawn = {"jax": "jax.random.normal", "tensorflow": "tf.random.stateless_normal"}[recorded.framework]
    assert not any(test.get("gradient") for test in recorded.tests[drawn])


def test_no_value_of_the_program_is_kept(recorded: Recorded) -> None:
    floats = [
        tensor
        for entry in recorded.tests.values()
        for test in entry
        for tensor in (each.get("tensor") for each in test.get("args", []) if isinstance(each, dict))
        if tensor is not None and tensor["dtype"].startswith("float")
    ]
    assert floats and not any("values" in tensor for tensor in floats)
    kept = "".join(path.read_text("utf-8") for path in recorded.path.parent.rglob("*.json"))
    assert "0.98765" not in kept


def test_every_call_is_repeated_on_the_cpu(recorded: Recorded) -> None:
    results = recorded.replayed()
    failed = {(each["function"], each["test"]): each["error"] or each["reason"] for each in results}
    failed = {key: why for key, why in failed.items() if why}
    assert failed == {}
    replays = sum(len(tests) for name, tests in recorded.tests.items() if name not in ("jax.jit", "tf.function"))
    assert len(results) == replays >= 25

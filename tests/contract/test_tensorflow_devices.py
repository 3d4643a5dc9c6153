"""The paper's TensorFlow functions on an XLA device, and the adapter without GPU and TPU."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contract.contracts import FUNCTIONS, ROOT, VERSIONS, findings, known_failures

pytestmark = pytest.mark.frameworks

STUDY = VERSIONS["tensorflow"][0]

DATA_SETS = {"tf.data.Dataset.shard", "tf.data.experimental.dense_to_ragged_batch", "tf.data.experimental.from_list"}

LACKING = DATA_SETS | {
    "tf.image.draw_bounding_boxes",
    "tf.io.parse_single_sequence_example",
    "tf.lookup.KeyValueTensorInitializer",
    "tf.print",
    "tf.random.gamma",
    "tf.sets.intersection",
}
"""Functions whose tests mostly fail because a kernel is missing, in every version."""

WRONG = {
    # XLA's kernel returns no nan outside the domain.
    "tf.math.igammac": "negative[dtype=float32]",
    # XLA removes assertions from compiled programs.
    "tf.debugging.assert_less": "in-function",
    # XLA leaves out updates whose indices are out of range.
    "tf.tensor_scatter_nd_update": "refuses-index",
    "tf.Variable": "refuses-in-use[what=place]",
    # XLA divides integers by zero.
    "tf.compat.v1.Tensor.eval": "refuses-value[what=division]",
    # XLA's fill refuses an array of one element as the number.
    "tf.constant": "filled-from-one-element[value=[5]]",
    # XLA's mean of integers wraps around.
    "tf.math.reduce_mean": "large-integers",
    # XLA refuses the same calls with another message.
    "tf.nn.conv3d": "refuses-empty-kernel",
    "tf.nn.space_to_batch": "refuses-block-rank",
    "tf.io.parse_single_sequence_example": "names-example",
    # XLA ignores bounds that are NaN.
    "tf.experimental.numpy.clip": "not-a-number-as-bound[dtype=float32]",
    # XLA's first number of a falling range from zero is a negative zero.
    "tf.range": "options-combined",
    # XLA's random numbers ignore the seed.
    "tf.compat.v1.Session.run": "number-drawn-again",
    "tf.compat.v1.global_variables_initializer": "random[kind=normal,dtype=float32]",
    "tf.Graph.as_default": "seeds",
    "tf.compat.v1.distributions.Normal": "sample-seeds[dtype=float32]",
    "tf.experimental.numpy.random.standard_normal": "seeded",
}
"""Functions that give other results than on the CPU, each with a test that shows it."""

ON_HOST = {
    "tf.numpy_function": "elementwise[dtype=float32]",
    "tf.compat.v1.saved_model.simple_save": "signature",
    "tf.constant": "text",
    "tf.convert_to_tensor": "text",
}
"""Functions of which tests pass without computing on the device: NumPy, savers, text."""

ENDS_THE_PROCESS = ("tf.linalg.svd", "refuses-one-axis")
"""XLA's kernel is ended by SIGSEGV for a vector, which the CPU's refuses."""

NOT_IN_SHARD = {"tf.image.draw_bounding_boxes": "whole-image", "tf.compat.v1.get_collection": "other-scopes"}
"""A test that lacks a kernel, and one of a function of which the shard has no test."""

Run = Callable[[str, str], "dict[str, Any]"]


@pytest.fixture
def run_on_xla(run_manifest: Callable[..., dict[str, Any]]) -> Run:
    """Run a manifest on the XLA device, once for each version; return the run file."""
    return lambda version, manifest: run_manifest(
        "tensorflow", version, manifest, device="xla", runs=1, protocol="cold"
    )


@pytest.fixture
def study(run_manifest: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """A twelfth of the study manifest on the XLA device, and the tests that are named above. All of the manifest runs
    on the CPU of the same version."""
    options = {"device": "xla", "runs": 1, "protocol": "cold"}
    shard = run_manifest("tensorflow", STUDY, "study", shard="7/12", **options)
    named = [*WRONG.items(), *ON_HOST.items(), *NOT_IN_SHARD.items(), ENDS_THE_PROCESS]
    functions = sorted({function for function, _ in named})
    tests = sorted(f"{function}::{test}" for function, test in named)
    others = run_manifest("tensorflow", STUDY, "study", function=functions, test=tests, **options)
    return {**shard, "results": shard["results"] + others["results"]}


@pytest.mark.slow(minutes=3)
@pytest.mark.xdist_group("study of tensorflow on xla")
def test_every_function_runs_on_xla(study: dict[str, Any]) -> None:
    results = study["results"]
    assert len({result["function"] for result in results}) == FUNCTIONS["tensorflow"]
    ends = {(result["function"], result["test"]): result["outcome"] for result in results}
    assert ends.pop(ENDS_THE_PROCESS) == "crashed"
    assert {ends[r["function"], r["test"]] for r in results if _is_present(r)} == {"passed", "failed"}
    tried = [result for result in results if not result["successor_of"] and result["category"] != "removed"]
    passed = [result for result in tried if result["outcome"] == "passed"]
    assert 0.7 < len(passed) / len(tried) < 0.9
    assert all(result["sync_check"]["passed"] for result in tried if result["outcome"] != "crashed")


def _is_present(result: dict[str, Any]) -> bool:
    return result["category"] not in ("removed", "crash")


@pytest.mark.slow
@pytest.mark.xdist_group("study of tensorflow on xla")
def test_failures_are_those_of_the_device_with_their_categories(study: dict[str, Any]) -> None:
    failed = [result for result in study["results"] if result["outcome"] == "failed" and not result["successor_of"]]
    known = known_failures("tensorflow", STUDY)
    controls = {r["cpu_control"]["outcome"] for r in failed if (r["function"], r["test"]) not in known}
    assert controls == {"passed"}
    found = findings(study)
    categories: dict[str, set[str]] = {}
    for (function, _), category in found.items():
        categories.setdefault(function, set()).add(category)
    assert all("not_implemented" in categories[function] for function in LACKING)
    assert {test: found.get(test) for test in WRONG.items()} == dict.fromkeys(WRONG.items(), "other")
    others = {function for function, kinds in categories.items() if "other" in kinds}
    assert others <= {*WRONG, "tf.linalg.svd"}


@pytest.mark.slow
@pytest.mark.xdist_group("study of tensorflow on xla")
def test_tests_that_pass_without_the_device_are_recorded(study: dict[str, Any]) -> None:
    results = study["results"]
    by_verdict: dict[str, set[str]] = {}
    for result in results:
        if result["outcome"] == "passed":
            by_verdict.setdefault(result["placement"]["verdict"], set()).add(result["function"])
    assert by_verdict["host"] >= ON_HOST.keys()
    assert "tf.linalg.svd" in by_verdict["device"] - by_verdict["host"] - by_verdict.get("mixed", set())
    sessions = [result for result in results if result["function"] == "tf.compat.v1.Session.run"]
    assert {result["placement"]["verdict"] for result in sessions} <= {"device", "unknown"}


@pytest.mark.parametrize("version", VERSIONS["tensorflow"])
def test_placement_comes_from_the_computed_operations(run_on_xla: Run, version: str) -> None:
    results = run_on_xla(version, "placement")["results"]
    words = {"on-device": "device", "on-host": "host", "on-both": "mixed"}
    for result in results:
        expected = next(word for beginning, word in words.items() if result["test"].startswith(beginning))
        assert result["outcome"] == "passed", result["error"]
        assert result["placement"]["verdict"] == expected, result
    elsewhere = {result["test"]: result["placement"]["host_operations"] for result in results}
    assert elsewhere["on-device-session"] == [] and elsewhere["on-host-session"] == ["AddV2"]
    assert elsewhere["on-both-numpy"] == ["read to host"]


@pytest.mark.parametrize("version", VERSIONS["tensorflow"])
def test_the_adapter_passes_its_checks_on_xla(environment_python: Callable[[str], Path], version: str) -> None:
    python = environment_python(f"tensorflow-{version}-xla")
    command = [str(python), "-m", "tests.contract.tensorflow_device_checks", version]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]

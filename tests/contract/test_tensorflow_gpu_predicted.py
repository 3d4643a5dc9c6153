"""Predictions of TensorFlow calls on a GPU from the kernels of its CUDA wheel, in real environments without a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.contract.contracts import VERSIONS, versions

pytestmark = pytest.mark.frameworks

Run = Callable[..., "dict[str, Any]"]


def results(run_manifest: Run, version: str, function: str) -> list[dict[str, Any]]:
    options = {"device": "gpu-predicted", "runs": 1, "function": function}
    document = run_manifest("tensorflow", version, "study", **options)
    assert document["prediction"]["kind"] == "kernel registry"
    assert document["prediction"]["compiler"].startswith(f"tensorflow-{version}-")
    found: list[dict[str, Any]] = document["results"]
    assert not any(result["calls"] for result in found)
    return found


@pytest.mark.parametrize("version", versions("tensorflow"))
def test_a_dtype_without_a_kernel_fails_and_the_message_lists_the_kernels_dtypes(
    run_manifest: Run, version: str
) -> None:
    found = results(run_manifest, version, "tf.linalg.svd")
    refused = {result["test"]: result for result in found if result["outcome"] == "failed"}
    of_complex = {result["test"] for result in found if "complex" in result["test"]}
    assert of_complex and of_complex <= refused.keys()
    for result in refused.values():
        assert (result["category"], result["phase"]) == ("type", "call")
        assert "Svd has T=complex" in result["error"]["message"]
        assert "its kernels take T=float32|float64" in result["error"]["message"]
        assert result["cpu_control"]["outcome"] == "passed"
    # The first only builds a graph, the second also draws numbers, whose seeds the host computes.
    elsewhere = {"name-in-graph", "keeps-draws"}
    passed = [result for result in found if result["outcome"] == "passed" and result["test"] not in elsewhere]
    assert {result["placement"]["verdict"] for result in passed} == {"device"}


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS["tensorflow"])
def test_an_operation_without_any_kernel_is_not_implemented(run_manifest: Run, version: str) -> None:
    found = results(run_manifest, version, "tf.random.gamma")
    refused = [result for result in found if result["outcome"] == "failed"]
    assert len(refused) > len(found) / 2
    assert {result["category"] for result in refused} == {"not_implemented"}
    assert all("the operation RandomGamma " in result["error"]["message"] for result in refused)


@pytest.mark.slow
def test_a_session_is_placed_as_a_whole(run_manifest: Run) -> None:
    found = results(run_manifest, VERSIONS["tensorflow"][0], "tf.compat.v1.Session.run")
    outcomes = {result["test"]: result["outcome"] for result in found}
    assert {test for test, outcome in outcomes.items() if outcome == "failed"} == {"elementwise[dtype=bfloat16]"}
    # Whether a call is refused as it must be is known only when it is made.
    skipped = [result for result in found if result["outcome"] == "skipped"]
    assert all("must raise an error" in result["reason"] for result in skipped)
    assert {result["test"] for result in skipped if not result["test"].startswith("refuses")} == {"side-by-side"}


@pytest.mark.slow
def test_an_operation_on_a_variable_runs_where_the_variable_is(run_manifest: Run) -> None:
    found = results(run_manifest, VERSIONS["tensorflow"][0], "tf.train.ExponentialMovingAverage")
    seen = {result["placement"]["verdict"] for result in found if result["outcome"] == "passed"}
    assert "device" in seen
    assert not any("Assign" in name for result in found for name in result["placement"]["host_operations"])

"""The paper's TensorFlow functions on the CPU: checks beyond passing in the paper's version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.contract.contracts import VERSIONS, current_of, findings, is_as_known, known_failures, removed, study_of

pytestmark = pytest.mark.frameworks

RunManifest = Callable[..., dict[str, Any]]

GONE = {
    "tf.estimator.CheckpointSaverHook",
    "tf.estimator.LoggingTensorHook",
    "tf.keras.optimizers.experimental.Adadelta",
}


@pytest.mark.slow(minutes=4)
@pytest.mark.xdist_group("current study of tensorflow")
def test_the_current_version_lacks_three_functions_and_fails_as_known(run_manifest: RunManifest) -> None:
    current = current_of(run_manifest, "tensorflow")
    assert is_as_known(current)
    assert removed(current) == GONE
    assert findings(current) == known_failures("tensorflow", VERSIONS["tensorflow"][1])


@pytest.mark.slow
@pytest.mark.xdist_group("current study of tensorflow")
def test_successors_run_and_are_recorded_under_their_own_names(run_manifest: RunManifest) -> None:
    tried = [result for result in current_of(run_manifest, "tensorflow")["results"] if result["successor_of"]]
    assert {result["successor_of"] for result in tried} == GONE
    failed = {(result["function"], result["test"]) for result in tried if result["outcome"] != "passed"}
    known = known_failures("tensorflow", VERSIONS["tensorflow"][1])
    assert failed == {(function, test) for function, test in known if function == "tf.keras.optimizers.Adadelta"}


@pytest.mark.slow
@pytest.mark.xdist_group("study of tensorflow")
def test_all_outputs_are_on_the_device(run_manifest: RunManifest) -> None:
    results = study_of(run_manifest, "tensorflow")["results"]
    assert {result["placement"]["verdict"] for result in results} == {"device", "unknown"}
    # A call that is refused, or that is not run in its graph, gives no output.
    svd = [r for r in results if r["function"] == "tf.linalg.svd" and not r["test"].startswith(("refuses-", "name-"))]
    assert {result["placement"]["verdict"] for result in svd} == {"device"}

"""The study's TensorFlow functions in real TensorFlows: all pass in the study's version; later ones lack two."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MANIFEST = Path(__file__).parents[2] / "manifests" / "study" / "tensorflow.json"
RunManifest = Callable[..., dict[str, Any]]

pytestmark = pytest.mark.frameworks


def _unlike_passed(document: dict[str, Any]) -> dict[str, str]:
    return {
        f"{result['function']} {result['test']}": f"{result['outcome']}: {result['reason'] or result['error']}"
        for result in document["results"]
        if result["outcome"] != "passed" and result["category"] != "unavailable"
    }


def _unavailable(document: dict[str, Any]) -> set[str]:
    return {result["function"] for result in document["results"] if result["category"] == "unavailable"}


def test_every_test_passes_in_the_version_of_the_study(run_manifest: RunManifest) -> None:
    document = run_manifest("tensorflow", "2.11.0", MANIFEST, runs=1, protocol="cold")
    assert _unlike_passed(document) == {}
    assert _unavailable(document) == set()
    tests = Counter(result["function"] for result in document["results"])
    assert len(tests) == 12
    assert min(tests.values()) >= 4


def test_the_current_version_lacks_two_functions_and_passes_the_rest(run_manifest: RunManifest) -> None:
    document = run_manifest("tensorflow", "2.21.0", MANIFEST, runs=1, protocol="cold")
    assert _unlike_passed(document) == {}
    assert _unavailable(document) == {
        "tf.keras.optimizers.experimental.Adadelta",
        "tf.estimator.LoggingTensorHook",
    }


def test_no_output_lies_off_the_device(run_manifest: RunManifest) -> None:
    document = run_manifest("tensorflow", "2.11.0", MANIFEST, runs=1, protocol="cold", function="tf.linalg.svd")
    assert {result["placement"]["verdict"] for result in document["results"]} == {"device"}

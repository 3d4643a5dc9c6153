"""Predictions of TensorFlow calls on TPUs that are not there: facts that are known of real TPUs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contract.contracts import VERSIONS, versions

pytestmark = pytest.mark.frameworks

Run = Callable[..., "dict[str, Any]"]

SIXTEEN_GIB = [65536, 65536]


def tensor(dtype: str, *shape: int) -> dict[str, Any]:
    return {"tensor": {"shape": shape, "dtype": dtype, "seed": 1}}


def entry(function: str, *args: Any, **expect: Any) -> dict[str, Any]:
    test = {"id": function, "case": "call", "args": args, "expect": expect}
    return {"function": function, "tests": [test]}


ZEROS = entry("tf.zeros", SIXTEEN_GIB, numpy="zeros")


@pytest.fixture
def predict(run_manifest: Run, tmp_path: Path) -> Callable[..., dict[str, dict[str, Any]]]:
    def of(version: str, device: str, *functions: dict[str, Any]) -> dict[str, dict[str, Any]]:
        path = tmp_path / "manifest.json"
        head = {"schema": "portbench/manifest", "schema_version": 1, "name": "facts", "framework": "tensorflow"}
        path.write_text(json.dumps({**head, "functions": functions}), "utf-8")
        document = run_manifest("tensorflow", version, path, device=device, runs=1)
        assert document["prediction"]["compiler"].startswith("libtpu ")
        assert not any(result["calls"] for result in document["results"])
        return {result["function"]: result for result in document["results"]}

    return of


@pytest.mark.parametrize("version", versions("tensorflow"))
def test_what_a_tpu_does_not_support_fails(predict: Callable[..., dict[str, dict[str, Any]]], version: str) -> None:
    found = predict(
        version,
        "tpu-v3",
        entry("tf.linalg.eigvals", tensor("float32", 8, 8), numpy="linalg.eigvals"),
        entry("tf.signal.fft", tensor("complex128", 16), numpy="fft.fft"),
        ZEROS,
        entry("tf.math.cos", tensor("float32", 8, 8), numpy="cos"),
    )
    categories = {name: result["category"] for name, result in found.items()}
    assert categories == {
        "tf.linalg.eigvals": "not_implemented",
        "tf.signal.fft": "type",
        "tf.zeros": "memory",
        "tf.math.cos": None,
    }
    assert "[Op:Eig]" in found["tf.linalg.eigvals"]["error"]["message"]
    assert "Element type C128 is not supported on TPU" in found["tf.signal.fft"]["error"]["message"]
    assert "15.48G" in found["tf.zeros"]["error"]["message"]
    cos = found["tf.math.cos"]
    assert (cos["outcome"], cos["placement"]["verdict"]) == ("passed", "device")
    assert cos["prediction"]["memory_bytes"] > 0
    assert cos["prediction"]["roofline_ns"] > 0


@pytest.mark.slow
def test_an_array_too_large_for_one_tpu_fits_on_another(
    predict: Callable[..., dict[str, dict[str, Any]]],
) -> None:
    (found,) = predict(VERSIONS["tensorflow"][0], "tpu-v5p", ZEROS).values()
    assert found["outcome"] == "passed"
    assert found["prediction"]["memory_bytes"] >= 4 * 65536**2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "test", "category", "message"),
    [
        (
            "tf.experimental.numpy.random.standard_normal",
            "single",
            "type",
            "While rewriting computation to not contain",
        ),
        ("tf.lookup.KeyValueTensorInitializer", "vocabulary", "not_implemented", "[Op:HashTableV2]"),
        ("tf.compat.v1.Session.run", "while-loop", None, None),
        ("tf.train.ExponentialMovingAverage", "by-count", None, None),
    ],
    ids=["compiler", "between-calls", "session", "variables"],
)
def test_the_papers_functions_in_its_version(
    run_manifest: Run, function: str, test: str, category: str | None, message: str | None
) -> None:
    options = {"device": "tpu-v3", "runs": 1, "function": function, "test": test}
    (result,) = run_manifest("tensorflow", VERSIONS["tensorflow"][0], "study", **options)["results"]
    assert (result["outcome"], result["category"]) == ("failed" if category else "passed", category)
    if message:
        assert message in result["error"]["message"]
        assert result["cpu_control"]["outcome"] == "passed"
    else:
        assert result["prediction"]["compile_ns"] > 0
        assert result["placement"]["verdict"] == "device"

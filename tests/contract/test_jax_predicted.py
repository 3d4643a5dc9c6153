"""Predictions of JAX calls on TPUs that are not there: facts that are known of real TPUs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from portbench.targets.catalog import all_targets
from portbench.util.repository import find_checkout

pytestmark = pytest.mark.frameworks

Results = dict[str, dict[str, Any]]

VERSIONS = [
    target.version for target in all_targets(find_checkout()) if (target.framework, target.device) == ("jax", "tpu-v3")
]

CURRENT, SLOW = VERSIONS[-1], pytest.mark.slow

SEVENTEEN_GIGABYTES = [65536, 65536]


def tensor(dtype: str, *shape: int, **more: Any) -> dict[str, Any]:
    return {"tensor": {"shape": shape, "dtype": dtype, "seed": 1, **more}}


def entry(function: str, *args: Any, **test: Any) -> dict[str, Any]:
    return {"function": function, "tests": [{"id": function, "case": "call", "args": args, **test}]}


def double(function: str, dtype: str, *shape: int, numpy: str, result: str) -> dict[str, Any]:
    """The function with 64-bit types enabled."""
    params = {"args": [tensor(dtype, *shape)], "expect": {"numpy": numpy, "dtype": result}}
    return {"function": function, "tests": [{"id": function, "case": "jax.arrays:double", "params": params}]}


@pytest.fixture
def predict(run_manifest: Callable[..., dict[str, Any]], tmp_path: Path) -> Callable[..., Results]:
    def of(version: str, device: str, *functions: dict[str, Any], **options: Any) -> Results:
        path = tmp_path / "manifest.json"
        head = {"schema": "portbench/manifest", "schema_version": 1, "name": "facts", "framework": "jax"}
        path.write_text(json.dumps({**head, "functions": functions}), "utf-8")
        document = run_manifest("jax", version, path, device=device, runs=1, **options)
        assert document["prediction"]["compiler"].startswith("libtpu ")
        assert not any(result["calls"] for result in document["results"])
        return {result["function"].rpartition(".")[2]: result for result in document["results"]}

    return of


@pytest.mark.parametrize("version", [pytest.param(each, marks=[] if each == CURRENT else SLOW) for each in VERSIONS])
def test_a_tpu_v3_accepts_and_refuses_what_a_real_one_does(predict: Callable[..., Results], version: str) -> None:
    found = predict(
        version,
        "tpu-v3",
        entry("jax.numpy.linalg.eigvals", tensor("float32", 8, 8), expect={"numpy": "linalg.eigvals"}),
        entry("jax.numpy.ones", SEVENTEEN_GIGABYTES, expect={"numpy": "ones"}),
        double("jax.numpy.fft.fft", "complex128", 16, numpy="fft.fft", result="complex128"),
        double("jax.numpy.linalg.inv", "float64", 8, 8, numpy="linalg.inv", result="float64"),
        double("jax.numpy.abs", "complex128", 8, 8, numpy="abs", result="float64"),
        entry("jax.numpy.cos", tensor("float32", 8, 8), expect={"numpy": "cos"}),
        entry("jax.numpy.unique", tensor("int32", 40, low=0, high=9), expect={"numpy": "unique"}),
    )
    said = {name: result["error"]["message"] for name, result in found.items() if result["outcome"] == "failed"}
    assert found["eigvals"]["category"] == "not_implemented"
    # The message is that of the lowering rule for TPUs, before the compiler runs.
    assert "not found for platform tpu" in said["eigvals"] or "only implemented on the CPU" in said["eigvals"]
    assert found["ones"]["category"] == "memory"
    assert "(16.00G) exceeds available HBM (15.48G)" in said["ones"]
    assert "Unexpected operand type for FFT: c128[16]" in said["fft"]
    assert "0x" not in said["fft"]
    assert found["fft"]["category"] == "type"
    # libtpu 0.0.42.1 refused LU of float64, and aborted for the absolute value of complex128.
    assert found["inv"]["outcome"] == "passed"
    assert found["abs"]["outcome"] == "passed"
    assert (found["cos"]["outcome"], found["cos"]["placement"]["verdict"]) == ("passed", "device")
    assert found["cos"]["prediction"]["memory_bytes"] > 0
    assert found["cos"]["prediction"]["roofline_ns"] > 0
    # Its shape depends on values: each of its programs is compiled.
    assert (found["unique"]["outcome"], found["unique"]["prediction"]["verdict"]) == ("passed", "accepted")


@SLOW
def test_an_array_too_large_for_one_tpu_fits_on_another(predict: Callable[..., Results]) -> None:
    found = predict(CURRENT, "tpu-v5p", entry("jax.numpy.ones", SEVENTEEN_GIGABYTES, expect={"numpy": "ones"}))
    assert found["ones"]["outcome"] == "passed"
    assert found["ones"]["prediction"]["memory_bytes"] >= 4 * 65536**2


@SLOW
def test_a_compilation_beyond_the_limit_times_out(predict: Callable[..., Results]) -> None:
    found = predict(
        CURRENT,
        "tpu-v5e",
        # It is compiled for over a minute, the cosine for less than a tenth of a second.
        double("jax.numpy.cumsum", "float64", 300, 300, numpy="cumsum", result="float64"),
        entry("jax.numpy.cos", tensor("float32", 8, 8), expect={"numpy": "cos"}),
        timeout=20,
    )
    assert (found["cumsum"]["outcome"], found["cumsum"]["prediction"]["verdict"]) == ("timed_out", "refused")
    assert "while it was compiled" in found["cumsum"]["reason"]
    assert found["cos"]["outcome"] == "passed"

"""What libtpu says of JAX's calls for TPUs that are not there: truths that are known of real ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Results = dict[str, dict[str, Any]]

SIXTEEN_GIB = [65536, 65536]


def tensor(dtype: str, *shape: int) -> dict[str, Any]:
    return {"tensor": {"shape": shape, "dtype": dtype, "seed": 1}}


def entry(function: str, *args: Any, **test: Any) -> dict[str, Any]:
    return {"function": function, "tests": [{"id": function, "case": "call", "args": args, **test}]}


@pytest.fixture
def foretold(run_manifest: Callable[..., dict[str, Any]], tmp_path: Path) -> Callable[..., Results]:
    def of(device: str, *functions: dict[str, Any]) -> Results:
        path = tmp_path / "manifest.json"
        head = {"schema": "portbench/manifest", "schema_version": 1, "name": "truths", "framework": "jax"}
        path.write_text(json.dumps({**head, "functions": functions}), "utf-8")
        document = run_manifest("jax", "0.10.2", path, device=device, runs=1)
        assert document["prediction"]["compiler"].startswith("libtpu ")
        assert not any(result["calls"] for result in document["results"])
        return {result["function"]: result for result in document["results"]}

    return of


def test_what_a_tpu_refuses_is_refused_in_the_compilers_own_words(foretold: Callable[..., Results]) -> None:
    found = foretold(
        "tpu-v3",
        entry("jax.numpy.linalg.eigvals", tensor("float32", 8, 8), expect={"numpy": "linalg.eigvals"}),
        entry("jax.numpy.ones", SIXTEEN_GIB, expect={"numpy": "ones"}),
        entry("jax.numpy.cos", tensor("float32", 8, 8), expect={"numpy": "cos"}),
    )
    eig, ones, cos = (found[f"jax.numpy.{name}"] for name in ("linalg.eigvals", "ones", "cos"))
    assert (eig["category"], ones["category"]) == ("not_implemented", "memory")
    assert "primitive 'eig' not found for platform tpu" in eig["prediction"]["reason"]
    assert "of 15.48G" in ones["error"]["message"] or "(15.48G)" in ones["error"]["message"]
    assert (cos["outcome"], cos["placement"]["verdict"]) == ("passed", "device")
    assert cos["prediction"]["memory_bytes"] > 0
    assert cos["prediction"]["roofline_ns"] > 0


def test_what_needs_more_memory_than_one_tpu_has_fits_on_another(foretold: Callable[..., Results]) -> None:
    (found,) = foretold("tpu-v5p", entry("jax.numpy.ones", SIXTEEN_GIB, expect={"numpy": "ones"})).values()
    assert found["outcome"] == "passed"
    assert found["prediction"]["memory_bytes"] >= 4 * 65536**2


def test_double_precision_is_refused_where_a_tpu_has_none(
    foretold: Callable[..., Results], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAX_ENABLE_X64", "1")
    found = foretold(
        "tpu-v5e",
        entry("jax.numpy.fft.fft", tensor("float64", 16), expect={"numpy": "fft.fft"}),
        entry("jax.numpy.linalg.inv", tensor("float64", 8, 8), expect={"numpy": "linalg.inv"}),
    )
    assert "Unexpected operand type for FFT" in found["jax.numpy.fft.fft"]["error"]["message"]
    assert "Only F32 and C64 types are implemented" in found["jax.numpy.linalg.inv"]["error"]["message"]
    assert {found[name]["category"] for name in ("jax.numpy.fft.fft", "jax.numpy.linalg.inv")} == {"type"}

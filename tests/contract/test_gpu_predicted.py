"""Predictions of PyTorch and JAX calls on a GPU, in real environments without one: facts known of real GPUs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contract.contracts import versions

pytestmark = pytest.mark.frameworks

Results = dict[str, dict[str, Any]]
Run = Callable[..., "dict[str, Any]"]

BFLOAT16 = {"tensor": {"shape": [4, 8], "dtype": "bfloat16", "seed": 1}}
FLOAT32 = {"tensor": {"shape": [4, 4], "dtype": "float32", "seed": 1}}


def entry(function: str, *args: Any, **test: Any) -> dict[str, Any]:
    return {"function": function, "tests": [{"id": function, "case": "call", "args": args, **test}]}


@pytest.fixture
def predict(run_manifest: Run, tmp_path: Path) -> Callable[..., Results]:
    """Return the results of calls, by function."""

    def of(framework: str, version: str, device: str, *functions: dict[str, Any]) -> Results:
        path = tmp_path / "manifest.json"
        head = {"schema": "portbench/manifest", "schema_version": 1, "name": "facts", "framework": framework}
        path.write_text(json.dumps({**head, "functions": functions}), "utf-8")
        document = run_manifest(framework, version, path, device=device, runs=1)
        assert version in document["prediction"]["compiler"]
        assert not any(result["calls"] for result in document["results"])
        return {result["function"]: result for result in document["results"]}

    return of


@pytest.mark.parametrize("version", versions("torch"))
def test_pytorch_fails_without_a_kernel_for_the_dtypes(predict: Callable[..., Results], version: str) -> None:
    found = predict(
        "torch",
        version,
        "gpu-predicted",
        entry("torch.histogram", FLOAT32, 4, expect={"output": [0], "value": 0.0}),
        entry("torch.nn.functional.smooth_l1_loss", BFLOAT16, BFLOAT16, expect={"value": 0.0}),
        entry("torch.mm", FLOAT32, FLOAT32, expect={"numpy": "matmul"}),
        entry("torch.range", 0, 3, expect={"value": [0, 1, 2, 3]}, kwargs={"dtype": {"dtype": "bfloat16"}}),
    )
    names = ("histogram", "nn.functional.smooth_l1_loss", "mm", "range")
    histogram, loss, product, numbers = (found[f"torch.{name}"] for name in names)
    # What PyTorch 2.11.0 said on an H200: the kernel is there, and refuses the dtype.
    assert numbers["error"]["message"] == "\"range_cuda\" not implemented for 'BFloat16'"
    assert (histogram["outcome"], histogram["category"], histogram["phase"]) == ("failed", "not_implemented", "call")
    assert "no GPU kernel: the operation aten::histogram.bin_ct (" in histogram["error"]["message"]
    # The paper recorded on a T4: "smooth_l1_cuda" not implemented for 'BFloat16'.
    if version == "1.12.0":
        assert (loss["outcome"], loss["category"], loss["cpu_control"]["outcome"]) == ("failed", "type", "passed")
        assert "smooth_l1_loss has layout=strided, self=bfloat16, target=bfloat16" in loss["error"]["message"]
        assert "its kernels take self=float16|float32|float64" in loss["error"]["message"]
    else:
        assert loss["outcome"] == "passed"
    assert (product["outcome"], product["placement"]["verdict"]) == ("passed", "device")


@pytest.mark.parametrize(
    ("version", "device"),
    [
        pytest.param("0.4.13", "gpu-predicted", marks=pytest.mark.slow),
        ("0.10.2", "gpu-predicted"),
        ("0.10.2", "rocm-predicted"),
    ],
)
def test_jax_fails_if_it_cannot_lower(predict: Callable[..., Results], version: str, device: str) -> None:
    found = predict(
        "jax",
        version,
        device,
        entry("jax.scipy.linalg.sqrtm", FLOAT32, expect={"shape": [4, 4], "value": 0.0}),
        entry("jax.numpy.linalg.eig", FLOAT32, expect={"property": "eig"}),
        entry("jax.numpy.linalg.inv", FLOAT32, expect={"numpy": "linalg.inv"}),
        # Its shape depends on values: it cannot be traced whole.
        entry("jax.numpy.unique", FLOAT32, expect={"numpy": "unique"}),
    )
    root, eigenvalues = found["jax.scipy.linalg.sqrtm"], found["jax.numpy.linalg.eig"]
    assert (root["outcome"], root["category"], root["phase"]) == ("failed", "not_implemented", "call")
    if version == "0.4.13":
        assert eigenvalues["error"]["message"].startswith("Nonsymmetric eigendecomposition is only implemented on")
    else:
        assert eigenvalues["placement"]["verdict"] in ("host", "mixed")
    for name in ("linalg.inv", "unique"):
        result = found[f"jax.numpy.{name}"]
        assert (result["outcome"], result["placement"]["verdict"]) == ("passed", "device")

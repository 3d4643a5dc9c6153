"""Predictions of PyTorch calls on Apple's GPUs (MPS): facts known of PyTorch 2.15.0.

The environment is that of TorchTPU, which has the same PyTorch.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contract.contracts import ROOT

pytestmark = pytest.mark.frameworks

MATRIX = {"tensor": {"shape": [4, 4], "dtype": "float32", "seed": 1}}
DOUBLE = {"tensor": {"shape": [4, 4], "dtype": "float64", "seed": 1}}
COMPLEX = {"tensor": {"shape": [4, 4], "dtype": "complex128", "seed": 1}}


def entry(function: str, *tests: tuple[str, list[Any]], numpy: str | None = None) -> dict[str, Any]:
    expect = {"numpy": numpy} if numpy else {"value": 0.0}
    made = [{"id": test, "case": "call", "args": args, "expect": expect} for test, args in tests]
    return {"function": function, "tests": made}


@pytest.fixture(scope="module")
def document(environment_python: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("mps")
    functions = [
        entry(
            "torch.mm",
            ("mm", [MATRIX, MATRIX]),
            ("mm-double", [DOUBLE, DOUBLE]),
            ("mm-complex", [COMPLEX, COMPLEX]),
            numpy="matmul",
        ),
        entry("torch.linalg.eig", ("eig", [MATRIX])),
        entry("torch.mode", ("mode", [MATRIX])),
        entry("torch.abs", ("abs", [MATRIX]), numpy="absolute"),
        entry("torch.linalg.matrix_rank", ("rank", [MATRIX])),
        entry("torch.mul", ("mul", [MATRIX, 2.0]), numpy="multiply"),
    ]
    head = {"schema": "portbench/manifest", "schema_version": 1, "name": "facts", "framework": "torch"}
    (folder / "manifest.json").write_text(json.dumps({**head, "functions": functions}), "utf-8")
    command = [str(environment_python("torch-2.15.0-tpu-v5e")), "-m", "runners", "--framework", "torch", "--runs", "1"]
    command += ["--device", "mps-predicted", "--manifest", str(folder / "manifest.json"), "--out", str(folder / "out")]
    done = subprocess.run(command, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    (path,) = (folder / "out").glob("*.json")
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


@pytest.fixture(scope="module")
def results(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {result["test"]: result for result in document["results"]}


def test_the_list_is_that_of_the_wheel_for_macos(document: dict[str, Any]) -> None:
    assert document["prediction"]["kind"] == "kernel registry"
    assert "macosx" in document["prediction"]["compiler"]
    assert not any(result["calls"] for result in document["results"])


@pytest.mark.parametrize("test", ["mm", "abs", "mul"])
def test_an_operation_with_a_kernel_is_accepted(results: dict[str, dict[str, Any]], test: str) -> None:
    assert (results[test]["outcome"], results[test]["prediction"]["verdict"]) == ("passed", "accepted")
    assert results[test]["placement"]["verdict"] == "device"


@pytest.mark.parametrize(("test", "operation"), [("eig", "aten::linalg_eig"), ("mode", "aten::mode")])
def test_an_operation_without_a_kernel_is_refused_in_pytorchs_words(
    results: dict[str, dict[str, Any]], test: str, operation: str
) -> None:
    error = results[test]["error"]
    assert (results[test]["outcome"], results[test]["category"]) == ("failed", "not_implemented")
    assert error["type"] == "NotImplementedError"
    assert error["message"].startswith(f"The operator '{operation}' is not currently implemented for the MPS device.")


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("mm-double", "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64."),
        ("mm-complex", "Trying to convert ComplexDouble to the MPS backend but it does not have support for that"),
    ],
)
def test_no_tensor_has_64_bits_of_precision(results: dict[str, dict[str, Any]], test: str, message: str) -> None:
    assert (results[test]["outcome"], results[test]["category"]) == ("failed", "type")
    assert results[test]["error"]["type"] == "TypeError"
    assert results[test]["error"]["message"].startswith(message)


def test_a_float64_that_only_the_cpu_computes_is_unknown(results: dict[str, dict[str, Any]]) -> None:
    # On the CPU, PyTorch computes the tolerances of matrix_rank in float64; which dtype it takes on MPS is not known.
    assert (results["rank"]["outcome"], results["rank"]["prediction"]["verdict"]) == ("skipped", "unknown")
    assert "float64, which MPS lacks" in results["rank"]["prediction"]["reason"]

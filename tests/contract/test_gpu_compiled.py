"""Programs compiled for GPUs that are not there: facts that are known of real ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from portbench.targets.catalog import GPU_COMPILER
from runners.core.errors import DeviceUnavailable
from runners.core.prediction.compiling import GPU_PYTHON, Compiler, Refused, Unreadable
from runners.core.prediction.prediction import Unknown

pytestmark = pytest.mark.frameworks

CARDS = ("gpu-t4", "gpu-v100", "gpu-a100", "gpu-h100", "gpu-h200", "gpu-b200")
SLOW = pytest.mark.slow

PRODUCT = """module @m { func.func public @main(%a: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %r = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0]
    : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %r : tensor<64x64xf32> } }"""
CALL = """module @m { func.func public @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %r = stablehlo.custom_call @portbench_no_such_kernel(%a) : (tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32> } }"""
CONSTRAINED = """module @m { func.func public @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %r = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{replicated}"} : (tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32> } }"""
DOUBLED = """module @m {{ func.func public @main(%a: tensor<{0}xf32>) -> tensor<{0}xf32> {{
  %r = stablehlo.add %a, %a : tensor<{0}xf32> return %r : tensor<{0}xf32> }} }}"""


@pytest.fixture
def compiler(
    environment_python: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, compilers: Callable[[str], Compiler]
) -> Callable[[str], Compiler]:
    monkeypatch.setenv(GPU_PYTHON, str(environment_python(GPU_COMPILER)))
    return compilers


@pytest.mark.parametrize(
    "device", [each if each in ("gpu-t4", "gpu-h100") else pytest.param(each, marks=SLOW) for each in CARDS]
)
def test_every_card_compiles_a_product(compiler: Callable[[str], Compiler], device: str) -> None:
    made = compiler(device)
    assert made.name.startswith("XLA:GPU ")
    estimate = made.compile(PRODUCT.encode(), "stablehlo")
    # Of an old card the library computes it, and the compiler does not count what a library does.
    assert estimate.flops == 2 * 64**3
    assert estimate.memory_bytes >= 2 * 4 * 64**2
    assert estimate.roofline_ns == pytest.approx(
        1e9 * max(2 * 64**3 / made.model.flops_per_s, 8 * 64**2 / made.model.bytes_per_s)
    )
    named = [name.partition(" ")[0] for name in estimate.libraries]
    assert named == (["cuBLAS"] if device in ("gpu-t4", "gpu-v100") else [])


def test_a_cost_that_the_compiler_does_not_know_is_none(compiler: Callable[[str], Compiler]) -> None:
    estimate = compiler("gpu-h100").compile(CONSTRAINED.encode(), "stablehlo")
    assert (estimate.flops, estimate.roofline_ns) == (None, None)


def test_the_memory_is_compared_with_that_of_the_card(compiler: Callable[[str], Compiler]) -> None:
    program = DOUBLED.format(12_500_000_000).encode()
    with pytest.raises(
        Refused, match=r"^RESOURCE_EXHAUSTED: .* needs 100\.0 GB .* the NVIDIA H100 80GB HBM3 has 84\.9 GB"
    ):
        compiler("gpu-h100").compile(program, "stablehlo")
    assert compiler("gpu-h200").compile(program, "stablehlo").memory_bytes == 100_000_000_000


def test_what_is_no_verdict_of_the_compiler_is_not_refused(compiler: Callable[[str], Compiler]) -> None:
    made = compiler("gpu-h100")
    with pytest.raises(Unknown, match="portbench_no_such_kernel"):
        made.compile(CALL.encode(), "stablehlo")
    with pytest.raises(Unreadable):
        made.compile(b"no module", "stablehlo")


def test_without_its_packages_the_device_is_unavailable(
    environment_python: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(GPU_PYTHON, str(environment_python("jax-0.10.2-cpu")))
    made = Compiler("gpu-h100")
    with pytest.raises(
        DeviceUnavailable, match="nvidia-cuda-nvcc-cu12, which assembles GPU programs, is not installed"
    ):
        _ = made.name
    made.close()


def tensor(dtype: str, *shape: int, **more: Any) -> dict[str, Any]:
    return {"tensor": {"shape": shape, "dtype": dtype, "seed": 1, **more}}


def entry(function: str, *args: Any, **expect: Any) -> dict[str, Any]:
    return {"function": function, "tests": [{"id": function, "case": "call", "args": args, "expect": expect}]}


@pytest.fixture
def predict(run_manifest: Callable[..., dict[str, Any]], tmp_path: Path) -> Callable[..., dict[str, dict[str, Any]]]:
    def of(framework: str, version: str, *functions: dict[str, Any]) -> dict[str, dict[str, Any]]:
        path = tmp_path / "manifest.json"
        head = {"schema": "portbench/manifest", "schema_version": 1, "name": "facts", "framework": framework}
        path.write_text(json.dumps({**head, "functions": functions}), "utf-8")
        document = run_manifest(framework, version, path, device="gpu-h100", runs=1)
        assert document["prediction"]["topology"] == "NVIDIA H100 80GB HBM3"
        assert not any(result["calls"] for result in document["results"])
        return {result["function"].rpartition(".")[2]: result for result in document["results"]}

    return of


@pytest.mark.parametrize("version", ["0.12.0.1", pytest.param("0.10.2", marks=SLOW)])
def test_jax_on_an_h100(predict: Callable[..., dict[str, dict[str, Any]]], version: str) -> None:
    image, kernel = tensor("int32", 1, 3, 8, 8, low=0, high=9), tensor("int32", 4, 3, 3, 3, low=0, high=9)
    found = predict(
        "jax",
        version,
        entry("jax.lax.conv", image, kernel, [1, 1], "SAME", value=0),
        entry("jax.numpy.linalg.eig", tensor("float32", 8, 8), property="eig"),
        entry("jax.numpy.ones", [300_000, 250_000], numpy="ones"),
        entry("jax.numpy.cos", tensor("float32", 8, 8), numpy="cos"),
        entry("jax.numpy.unique", tensor("int32", 40, low=0, high=9), numpy="unique"),
    )
    assert (found["conv"]["outcome"], found["conv"]["category"]) == ("failed", "not_implemented")
    assert "Can't lower one or more integer convolutions" in found["conv"]["error"]["message"]
    assert (found["eig"]["outcome"], found["eig"]["placement"]["verdict"]) == ("passed", "device")
    needs = "compiled; needs cuSOLVER (cusolver_geev_ffi) at run time, which was not checked"
    assert found["eig"]["prediction"]["reason"] == needs
    assert (found["ones"]["outcome"], found["ones"]["category"]) == ("failed", "memory")
    assert "needs 300.0 GB of memory" in found["ones"]["error"]["message"]
    assert (found["cos"]["outcome"], found["cos"]["prediction"]["reason"]) == ("passed", None)
    # Its shape depends on values: each of its programs is compiled.
    assert (found["unique"]["outcome"], found["unique"]["prediction"]["verdict"]) == ("passed", "accepted")


@SLOW
def test_tensorflow_on_an_h100_is_what_xla_compiles(predict: Callable[..., dict[str, dict[str, Any]]]) -> None:
    found = predict(
        "tensorflow",
        "2.21.0",
        entry("tf.zeros", [300_000, 250_000], numpy="zeros"),
        entry("tf.math.cos", tensor("float32", 8, 8), numpy="cos"),
        entry("tf.linalg.eigvals", tensor("float32", 8, 8), numpy="linalg.eigvals"),
    )
    assert (found["zeros"]["outcome"], found["zeros"]["category"]) == ("failed", "memory")
    assert found["cos"]["outcome"] == "passed"
    # XLA does not compile it; TensorFlow has a kernel of its own.
    assert (found["eigvals"]["outcome"], found["eigvals"]["prediction"]["verdict"]) == ("skipped", "unknown")

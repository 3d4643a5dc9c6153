"""The compiler for TPUs that are not there, alone: it needs no framework's environment but its own."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from runners.core.errors import DeviceUnavailable
from runners.core.prediction.compiling import PYTHON, Compiler, Died, Refused, Unreadable
from runners.core.process import processes

pytestmark = pytest.mark.frameworks

MODULE = "module @m {{ func.func public @main(%a: {type}) -> {type} {{ {body} }} }}"
GIB = 1 << 30


def doubled(elements: int | str, element_type: str = "f32") -> bytes:
    """A program that adds an array to itself. The compiler aborts for one of "?" elements, which no client sends."""
    tensor = f"tensor<{elements}x{element_type}>"
    body = f"%r = stablehlo.add %a, %a : {tensor} return %r : {tensor}"
    return MODULE.format(type=tensor, body=body).encode()


@pytest.fixture(scope="module")
def compiler_python(environment_python: Callable[[str], Path]) -> Path:
    return environment_python("jax-0.12.0.1-tpu")


@pytest.fixture
def compiler(
    compiler_python: Path, monkeypatch: pytest.MonkeyPatch, compilers: Callable[[str], Compiler]
) -> Callable[[str], Compiler]:
    monkeypatch.setenv(PYTHON, str(compiler_python))
    return compilers


def test_a_program_is_compiled_and_its_figures_told(compiler: Callable[[str], Compiler]) -> None:
    made = compiler("tpu-v3")
    assert made.name.startswith("libtpu 0.0.")
    assert made.device_kind == "TPU v3"
    estimate = made.compile(doubled(1 << 20), "stablehlo")
    assert estimate.flops == 1 << 20
    assert estimate.memory_bytes == 2 * 4 << 20
    # The compiler counts the array for each operand that it is; the bound counts what is read and written once.
    assert estimate.bytes == 3 * 4 << 20
    assert estimate.roofline_ns == pytest.approx(1e9 * (8 << 20) / 450e9)
    ((program, compile_ns),) = estimate.compile_ns.items()
    assert compile_ns > 0
    assert made.compile(doubled(1 << 20), "stablehlo").compile_ns == {program: compile_ns}


@pytest.mark.slow
def test_seventeen_gigabytes_fit_into_a_v5p_and_not_into_a_v3(compiler: Callable[[str], Compiler]) -> None:
    program = doubled(17 * GIB // 8)
    with pytest.raises(Refused, match=r"^RESOURCE_EXHAUSTED: .*Ran out of memory .*17\.00G.* exceeds available HBM"):
        compiler("tpu-v3").compile(program, "stablehlo")
    assert compiler("tpu-v5p").compile(program, "stablehlo").memory_bytes == 17 * GIB


def test_what_it_refuses_is_told_in_its_own_words(compiler: Callable[[str], Compiler]) -> None:
    made = compiler("tpu-v3")
    transform = "%r = stablehlo.fft %a, type = FFT, length = [8] : ({0}) -> {0} return %r : {0}"
    tensor = "tensor<8xcomplex<f64>>"
    with pytest.raises(Refused, match="Unexpected operand type for FFT: c128"):
        made.compile(MODULE.format(type=tensor, body=transform.format(tensor)).encode(), "stablehlo")
    assert made.compile(doubled(8, "f64"), "stablehlo").flops is not None


def test_what_it_never_saw_is_not_refused(compiler: Callable[[str], Compiler]) -> None:
    with pytest.raises(Unreadable, match="cannot be converted to StableHLO"):
        compiler("tpu-v3").compile(b"no module", "stablehlo")


def test_its_death_is_told_and_the_next_program_is_compiled(compiler: Callable[[str], Compiler]) -> None:
    made = compiler("tpu-v5e")
    with pytest.raises(Died, match=r"the compiler was ended by SIG\w+: .*Check failed"):
        made.compile(doubled("?"), "stablehlo")
    assert made.compile(doubled(8), "stablehlo").memory_bytes


@pytest.mark.slow
def test_a_killed_compiler_is_told(compiler: Callable[[str], Compiler]) -> None:
    made = compiler("tpu-v3")
    assert made.name
    # Other tests of this process may have left children.
    (process,) = (each for each in processes.children(os.getpid()) if "compile_server" in processes.command_of(each))
    os.kill(process, signal.SIGKILL)
    os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
    assert made.compile(doubled(8), "stablehlo").flops == 8


@pytest.mark.parametrize("damage", ["none", "no file", "no folder"])
def test_a_program_is_compiled_once_although_its_process_is_another_one(
    compiler: Callable[[str], Compiler], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    monkeypatch.setenv("PORTBENCH_COMPILE_CACHE", str(tmp_path / "cache"))
    refused = MODULE.format(
        type="tensor<8xf32>",
        body="%r = stablehlo.custom_call @none(%a) : (tensor<8xf32>) -> tensor<8xf32> return %r : tensor<8xf32>",
    ).encode()
    first = compiler("tpu-v3").compile(doubled(1 << 20), "stablehlo")
    with pytest.raises(Refused) as why:
        compiler("tpu-v3").compile(refused, "stablehlo")
    (kept,) = (tmp_path / "cache").iterdir()
    if damage == "no file":
        kept.write_bytes(b"no database" * 1000)
    elif damage == "no folder":
        shutil.rmtree(kept.parent)
        kept.parent.write_bytes(b"")
    again = compiler("tpu-v3")
    assert (again.compile(doubled(1 << 20), "stablehlo") == first) == (damage == "none")
    with pytest.raises(Refused, match=re.escape(str(why.value))):
        again.compile(refused, "stablehlo")


@pytest.mark.parametrize("python", ["/nowhere/python", os.devnull])
def test_without_its_python_the_device_is_unavailable(python: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PYTHON, python)
    with pytest.raises(DeviceUnavailable, match="there is no compiler for tpu-v3"):
        Compiler("tpu-v3")


def test_without_its_packages_the_device_is_unavailable(
    environment_python: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PYTHON, str(environment_python("jax-0.12.0.1-cpu")))
    made = Compiler("tpu-v3")
    with pytest.raises(DeviceUnavailable, match="TPU support not installed"):
        _ = made.name
    made.close()

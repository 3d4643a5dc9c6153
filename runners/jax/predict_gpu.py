"""Predicts calls of JAX for absent GPUs from its lowering for CUDA and ROCm, which needs neither.

A call is made on the CPU. Each program is first lowered for the GPU: JAX itself refuses what has no rule there. Nothing
is compiled, so it is not known what XLA's compiler, CUDA's libraries and the memory would refuse. The version of those
libraries is not known either, and JAX uses what every version has: LAPACK on the host for ``linalg.eig`` in 0.10.2,
which cuSOLVER supports from 11.7.1 on. Implements runners.core.prediction.prediction.Predictor.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import re
from functools import partial
from typing import Any, Iterator, Mapping, NamedTuple
from unittest import mock

import jax
from jax._src.interpreters import mlir

from runners.core.prediction.prediction import Estimate, Unknown
from runners.core.programs import Program
from runners.jax import adapter, whole_programs

PLATFORMS = {"gpu-predicted": "cuda", "rocm-predicted": "rocm"}

_ON_HOST = re.compile(r'custom_call @(\w*(?:callback|hybrid)\w*)|call_target_name = "(\w*(?:callback|hybrid)\w*)"')
"""The parts of a program that the host computes: Python, and LAPACK if the vendor has no routine."""

_OPERATION = re.compile(r"\b(?:stablehlo|mhlo|chlo)\.(\w+)")
_MOVES = {"broadcast_in_dim", "constant", "custom_call", "reshape", "return", "transpose"}
"""A custom call is classified by its target."""
_TARGET = re.compile(r'custom_call @(\w+)|call_target_name = "(\w+)"')
_DESCRIPTIONS = re.compile(r"Sharding|annotate_device_placement|\w*SPMD\w*")

_LONGEST = 16
"""The most elements of a constant that are written out."""


class _Lowered:
    """The programs of one call, lowered for the GPU."""

    def __init__(self) -> None:
        self.host: list[str] = []
        self.computes = False
        self.refusal: Exception | None = None

    def add(self, text: str) -> None:
        self.host += [first or second for first, second in _ON_HOST.findall(text)]
        targets = {first or second for first, second in _TARGET.findall(text)}
        kernels = {target for target in targets if not _DESCRIPTIONS.match(target)} - set(self.host)
        self.computes |= bool(kernels or set(_OPERATION.findall(text)) - _MOVES)


class _Device(NamedTuple):
    platform: str


def open_device(device: str) -> _Device:
    _complete_rules()
    return _Device(PLATFORMS[device])


def stand_in(device: _Device) -> str:
    return "cpu"


def about(device: _Device) -> Mapping[str, str | None]:
    return {"kind": "lowered", "compiler": f"jax {adapter.version()}", "topology": None}


def facts(device: _Device) -> Mapping[str, str | int | float | bool | None]:
    return {
        "platform": device.platform,
        "x64": bool(jax.config.jax_enable_x64),
        "matmul_precision": jax.config.jax_default_matmul_precision,
    }


def refuses(error: BaseException, device: _Device) -> bool:
    return False


def predict(call: partial[Any], device: _Device) -> Estimate:
    # A cached program of an earlier call would not be lowered again.
    jax.clear_caches()
    try:
        with _lowering_for(device.platform) as lowered:
            output = call()
            adapter.wait(output)
    except Exception as error:
        said = str(error).split("\n")[0]
        if isinstance(lowered.refusal, (AttributeError, ImportError)):
            raise Unknown(f"the lowering needs a part of jaxlib that is not here: {said}"[:500]) from error
        if lowered.refusal is not None:
            raise lowered.refusal from None
        raise Unknown(f"the call does not succeed on the CPU: {type(error).__name__}: {said}"[:500]) from error
    return Estimate(device_work=lowered.computes, host_operations=lowered.host, made=(output,))


def predict_program(program: Program, device: _Device) -> Estimate:
    """Only whether the program could be lowered, and what of it the host would compute."""
    lowered = _Lowered()
    lowered.add(whole_programs.text(program.module(device.platform, ("stablehlo",))))
    return Estimate(device_work=lowered.computes, host_operations=lowered.host)


@contextlib.contextmanager
def _lowering_for(platform: str) -> Iterator[_Lowered]:
    """A context in which each program for the CPU is lowered for the platform first. An error there ends the call."""
    lowered = _Lowered()
    lower = mlir.lower_jaxpr_to_module
    signature = inspect.signature(lower)

    def lower_twice(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs)
        several = "platforms" in given.arguments  # not yet in 0.4.13
        given.arguments["platforms" if several else "platform"] = (platform,) if several else platform
        try:
            with _clients_of_the_host():
                module = lower(*given.args, **given.kwargs).module
        except Exception as error:
            lowered.refusal = lowered.refusal or error
            raise
        lowered.add(module.operation.get_asm(large_elements_limit=_LONGEST))
        return lower(*args, **kwargs)

    with mock.patch.object(mlir, "lower_jaxpr_to_module", lower_twice):
        yield lowered


def _clients_of_the_host() -> Any:
    """Callbacks are registered with the platform's client; only the host's exists. 0.4.13 uses that one by itself."""
    if not hasattr(mlir.ModuleContext, "get_backend"):
        return contextlib.nullcontext()
    return mock.patch.object(mlir.ModuleContext, "get_backend", lambda context, optional=False: context.backend)


class _Described:
    """Replaces jaxlib's parts for CUDA and ROCm: the description of any routine is empty; only the routine itself would
    read it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_: (0, b"") if name.startswith("build_") else b""


def _complete_rules() -> None:
    """In 0.4.13, rules read the memory needs of a routine from jaxlib's parts for CUDA, which its wheel for the CPU
    lacks. Whether there is a rule does not depend on that. Later versions read them when the program runs."""
    for name in ("gpu_linalg", "gpu_prng", "gpu_solver"):
        for rule in vars(importlib.import_module(f"jaxlib.{name}")).values():
            if isinstance(rule, partial) and None in rule.args:
                # JAX keeps references to these objects, so they are changed in place.
                parts = tuple(_Described() if part is None else part for part in rule.args)
                rule.__setstate__((rule.func, parts, rule.keywords, vars(rule)))  # type: ignore[attr-defined]

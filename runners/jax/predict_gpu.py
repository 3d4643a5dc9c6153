"""Foretells calls of JAX for GPUs that are not there: by its lowering for CUDA and ROCm, which needs neither.

A call is made on the CPU. Each program that JAX lowers for that is lowered for the GPU first: what has no rule there is
refused in JAX's own words. Nothing is compiled, so what XLA's compiler, CUDA's libraries and memory would refuse is not
known; nor is the version of those libraries, and JAX takes what every version has: LAPACK on the host for
``linalg.eig``, in 0.10.2, which cuSOLVER can from 11.7.1 on. Implements runners.core.prediction.Predictor.
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
from runners.jax import adapter

PLATFORMS = {"gpu-predicted": "cuda", "rocm-predicted": "rocm"}

_ON_HOST = re.compile(r'custom_call @(\w*(?:callback|hybrid)\w*)|call_target_name = "(\w*(?:callback|hybrid)\w*)"')
"""What of a program the host computes: Python, and LAPACK where a vendor has no routine of its own."""

_OPERATION = re.compile(r"\b(?:stablehlo|mhlo|chlo)\.(\w+)")
_MOVES = {"broadcast_in_dim", "constant", "custom_call", "reshape", "return", "transpose"}
"""A custom call is told by its target."""
_TARGET = re.compile(r'custom_call @(\w+)|call_target_name = "(\w+)"')
_DESCRIPTIONS = re.compile(r"Sharding|annotate_device_placement|\w*SPMD\w*")

_LONGEST = 16
"""Elements of a constant that are written out."""


class _Lowered:
    """What was lowered for the GPU of one call."""

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
    # A program that is kept from an earlier call would not be lowered again.
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


@contextlib.contextmanager
def _lowering_for(platform: str) -> Iterator[_Lowered]:
    """Lowers for the platform what is lowered for the CPU in this context. What refuses it ends the call there."""
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
    """Python that is called back is registered with the platform's client, of which there is only the host's; 0.4.13
    takes that by itself."""
    if not hasattr(mlir.ModuleContext, "get_backend"):
        return contextlib.nullcontext()
    return mock.patch.object(mlir.ModuleContext, "get_backend", lambda context, optional=False: context.backend)


class _Described:
    """In the place of jaxlib's parts for CUDA and ROCm: any question about a routine is answered by an empty
    description of it, which only the routine itself would read."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_: (0, b"") if name.startswith("build_") else b""


def _complete_rules() -> None:
    """In 0.4.13 rules ask jaxlib's parts for CUDA, which its wheel for the CPU lacks, how much room a routine wants.
    Whether there is a rule does not hang on that. Later versions ask when the program runs."""
    for name in ("gpu_linalg", "gpu_prng", "gpu_solver"):
        for rule in vars(importlib.import_module(f"jaxlib.{name}")).values():
            if isinstance(rule, partial) and None in rule.args:
                # JAX holds on to these objects, so they must change themselves.
                parts = tuple(_Described() if part is None else part for part in rule.args)
                rule.__setstate__((rule.func, parts, rule.keywords, vars(rule)))  # type: ignore[attr-defined]

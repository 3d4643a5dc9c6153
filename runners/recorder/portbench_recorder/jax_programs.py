"""JAX: the programs that a user's jitted functions become, each lowered for the CPU, for TPUs and for CUDA.

All programs are lowered by one function of JAX, which is wrapped. A program whose function is JAX's own, as for an
operation outside of ``jit``, is left out. Where a platform has no rule for a primitive, JAX's message is kept instead
of a program.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
from typing import Any, Callable, ContextManager
from unittest import mock

import jax
from jax._src.interpreters import mlir
from jax._src.lax import linalg
from jax._src.lib import xla_client
from jax._src.lib.mlir import ir

from portbench_recorder.programs import MOST_BYTES
from portbench_recorder.recording import Recording
from portbench_recorder.sites import place
from portbench_recorder.stablehlo import LARGE, without_data

PLATFORMS = ("cpu", "tpu", "cuda")

_OWN = os.path.dirname(os.path.abspath(jax.__file__)) + os.sep
_SOURCE = re.compile(r"(.*?) at (.*):(\d+)", re.DOTALL)
_NOT_OF_THE_PLATFORM = (AttributeError, ImportError, KeyError, TypeError)
"""Errors that are those of the way to a lowering rule, and no verdict of one."""

_CUSOLVER = 11705
"""The version of cuSOLVER that is assumed: that of CUDA 12.9, which ``jax[cuda12]`` installs."""


def install(recording: Recording, paused: Callable[[], ContextManager[object]]) -> None:
    """Keeps the programs that are compiled from now on. Calls made inside ``paused`` are not recorded."""
    lower = mlir.lower_jaxpr_to_module
    signature = inspect.signature(lower)

    @functools.wraps(lower)
    def lowering(*args: Any, **kwargs: Any) -> Any:
        if recording.enabled:
            try:
                with paused():
                    _keep(recording, lower, signature.bind(*args, **kwargs))
            except Exception as error:
                recording.failed(error)
        return lower(*args, **kwargs)

    mlir.lower_jaxpr_to_module = lowering


def _keep(recording: Recording, lower: Callable[..., Any], given: inspect.BoundArguments) -> None:
    jaxpr = given.arguments["jaxpr"].jaxpr
    source = getattr(getattr(jaxpr, "debug_info", None), "func_src_info", None) or ""
    found = _SOURCE.fullmatch(source)
    if found is not None and os.path.abspath(found[2]).startswith(_OWN):
        return
    operations = _operations(jaxpr)
    if found is None and operations < 2:
        # Older versions do not say whose function an operation outside of jit is.
        return
    if not recording.programs.wants("jax", operations):
        return
    modules = {platform: _module(recording, lower, given, platform) for platform in PLATFORMS}
    name = found[1] if found is not None else re.sub(r"^jit[(_]|\)$", "", str(given.arguments["module_name"]))
    sites = [place(found[2], int(found[3]))] if found is not None else []
    recording.programs.add("jax", name, operations, modules, sites)


def _operations(jaxpr: Any) -> int:
    """The number of primitives in a program, those of inner functions included."""
    count = 0
    for equation in jaxpr.eqns:
        inner = [
            each
            for value in equation.params.values()
            for each in (value if isinstance(value, (tuple, list)) else (value,))
            if hasattr(each, "eqns")
        ]
        count += sum(map(_operations, inner)) or 1
    return count


def _module(
    recording: Recording, lower: Callable[..., Any], given: inspect.BoundArguments, platform: str
) -> dict[str, str]:
    """The program for a platform: the digest of its file, the message with which it is refused, or why it is not
    known."""
    try:
        module = _lowered(lower, given, platform).module
        attributes = module.operation.attributes
        devices = 1
        for kind in ("replicas", "partitions"):
            devices *= ir.IntegerAttr(attributes[f"mhlo.num_{kind}"]).value
        if devices > 1:
            return {"unknown": f"a program for {devices} devices together"}
        content = _content(without_data(module.operation.get_asm(large_elements_limit=LARGE)))
    except _NOT_OF_THE_PLATFORM as error:
        return {"unknown": _said(error)}
    except Exception as error:
        return {"refused": _said(error)}
    if len(content) > MOST_BYTES:
        return {"unknown": f"the program has {len(content) >> 20} MB, at most {MOST_BYTES >> 20} are kept"}
    return {"stablehlo": recording.programs.store(content)}


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".split("\n")[0][:500]


def _lowered(lower: Callable[..., Any], given: inspect.BoundArguments, platform: str) -> Any:
    arguments: dict[str, Any] = dict(given.arguments)
    for name, value in given.arguments.items():
        if name in ("backend", "backend_or_name"):
            arguments[name] = _Backend(platform, value)
        elif name in ("platform", "platforms"):
            arguments[name] = platform if name == "platform" else (platform,)
    bound = inspect.BoundArguments(given.signature, arguments)  # type: ignore[arg-type]
    with mock.patch.object(linalg, "cuda_versions", mock.Mock(cusolver_get_version=lambda: _CUSOLVER), create=True):
        return lower(*bound.args, **bound.kwargs)


class _Backend:
    """The platform's backend for lowering rules: the program's own, with what only a device's has."""

    def __init__(self, platform: str, own: Any) -> None:
        self.platform = platform
        self._own = own

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    def make_python_callback_from_host_send_and_recv(self, *_: Any) -> object:
        """A handle of a function of the host, which is never called."""
        return object()


def _content(text: str) -> bytes:
    """A portable artifact, which compilers of other versions can read; the text where this version cannot make one."""
    try:
        from jax._src.lib.mlir.dialects import hlo

        week = hlo.StablehloCompatibilityRequirement.WEEK_12
        version = hlo.get_version_from_compatibility_requirement(week)
        return bytes(xla_client._xla.mlir.serialize_portable_artifact(text, version))
    except Exception:
        return text.encode()

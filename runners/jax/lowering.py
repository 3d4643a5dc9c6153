"""Lowers every program of a call for a platform that may be absent.

What JAX computes outside ``jax.jit`` are programs too, mostly of one primitive: each is lowered before it first runs.
The private names that this needs are the same from 0.4.13 to 0.12.
"""

from __future__ import annotations

import contextlib
import inspect
import re
from typing import Any, Callable, ContextManager, Iterator, NamedTuple
from unittest import mock

import jax
from jax._src.interpreters import mlir
from jax._src.lax import linalg
from jax._src.lib import xla_client
from jax._src.lib.mlir import ir

_ON_HOST = re.compile(
    r"stablehlo\.(send|recv)\b(?=.*is_host_transfer = true)"  # Python
    r"|stablehlo\.(outfeed)\b"
    r"|custom_call @(\w*(?:callback|hybrid)\w*)"  # Python and LAPACK, of a program for a GPU
    r'|\b(call) @.*_xla_compute_type = "host"'  # compute_on
)

_CUSOLVER = 11705
"""The version of cuSOLVER that JAX's lowering for CUDA assumes: that of CUDA 12.9, which an installation of
``jax[cuda12]`` has."""


class Program(NamedTuple):
    """``text`` is its StableHLO, the same for the same program. ``devices`` is the number of devices that run it
    together."""

    text: str
    devices: int

    def hlo(self) -> bytes:
        """A serialized HloModuleProto, which other versions of the compiler can read."""
        computation = xla_client._xla.mlir.mlir_module_to_xla_computation(self.text, use_tuple_args=False)
        return bytes(computation.as_serialized_hlo_module_proto())

    @property
    def is_fed(self) -> bool:
        """Whether the host feeds it while it runs."""
        return is_fed(self.text)

    @property
    def host_operations(self) -> list[str]:
        """The parts of it that the host computes."""
        return host_operations(self.text)


def is_fed(text: str) -> bool:
    """Whether the host feeds a program while it runs."""
    return "stablehlo.infeed" in text


def host_operations(text: str) -> list[str]:
    """The parts of a program that the host computes."""
    return [next(filter(None, match.groups())) for match in _ON_HOST.finditer(text)]


@contextlib.contextmanager
def lowered_for(platform: str, see: Callable[[Callable[[], Program]], None]) -> Iterator[None]:
    """A context that calls ``see`` before each program is lowered. The argument of ``see`` lowers that program for the
    platform (``tpu``, ``cuda``), or raises what JAX raises if it has no rule. What ``see`` raises reaches the caller
    that needs the program."""
    lower = mlir.lower_jaxpr_to_module
    signature = inspect.signature(lower)

    def lowering(*args: Any, **kwargs: Any) -> Any:
        def elsewhere() -> Program:
            given = signature.bind(*args, **kwargs)
            for name, value in list(given.arguments.items()):
                if name in ("backend", "backend_or_name"):
                    given.arguments[name] = _Backend(platform, value)
                elif name in ("platform", "platforms"):
                    given.arguments[name] = platform if name == "platform" else (platform,)
            return _program(lower(*given.args, **given.kwargs).module)

        see(elsewhere)
        return lower(*args, **kwargs)

    # Programs that were lowered before would not be lowered again.
    jax.clear_caches()
    with mock.patch.object(mlir, "lower_jaxpr_to_module", lowering), _libraries_of(platform):
        yield


def _libraries_of(platform: str) -> ContextManager[object]:
    """A context in which JAX finds the version of cuSOLVER, which it asks the library itself. Older versions of JAX
    do not ask."""
    if platform != "cuda" or not hasattr(linalg, "cuda_versions"):
        return contextlib.nullcontext()
    return mock.patch.object(linalg, "cuda_versions", mock.Mock(cusolver_get_version=lambda: _CUSOLVER))


def _program(module: Any) -> Program:
    attributes = module.operation.attributes
    replicas, partitions = (ir.IntegerAttr(attributes[f"mhlo.num_{kind}"]).value for kind in ("replicas", "partitions"))
    # The text has no source lines of its operations.
    return Program(str(module), replicas * partitions)


class _Backend:
    """The platform's backend for lowering rules: the host's, with what only a device's has."""

    def __init__(self, platform: str, host: Any) -> None:
        self.platform = platform
        self._host = host

    def __getattr__(self, name: str) -> Any:
        return getattr(self._host, name)

    def make_python_callback_from_host_send_and_recv(self, *_: Any) -> object:
        """A handle of a function of the host, which is never called."""
        return object()

"""Sees every computation of a call: which program ran on which devices, and what NumPy took back in between.

JAX runs a program again without passing through Python. While it is watched it keeps no such short cut, so that every
run goes through ``ExecuteReplicated``. The names that this needs are JAX's own business; they are the same from 0.4.8
to 0.10.2. Where one is gone nothing is seen, and a warning says so: placement is then judged by the outputs alone.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
import sys
import sysconfig
import warnings
from typing import Any, Callable, Iterator, NamedTuple
from unittest import mock

import jax
from jax._src import api, array, pjit
from jax._src.interpreters import pxla
from jax._src.lib import xla_client

from runners.core.adapter import HOST, Operation, OpTrace
from runners.jax.platforms import names_of

ON_HOST = re.compile(
    r'custom_call_target="(\w*(?:callback|hybrid|HostExecute)\w*)"'  # Python, LAPACK for a GPU, compute_on(host)
    r"| (outfeed)\(| (send|recv)\((?=.*is_host_transfer=true)"  # Python, for a TPU
    r'| (call-start)\((?=.*async_execution_thread="host")'
)
"""What of a program the host computes. An infeed only moves what the host had."""

_OPCODE = re.compile(r"^\s*(?:ROOT )?%?[\w.-]+ = .*? ([a-z][a-z0-9-]*)\(", re.MULTILINE)
_MOVES = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "copy", "copy-start", "copy-done"}
_MOVES |= {"reshape", "transpose", "fusion", "call"}

_LOWERING = "jax._src.interpreters.mlir"
"""The module that makes constants of a program out of arrays: that moves them."""


READ = Operation("read to host", HOST)


class _Program(NamedTuple):
    host_work: list[str]
    computes: bool


@contextlib.contextmanager
def watching(on_device: Callable[[str], bool]) -> Iterator[OpTrace]:
    """``on_device`` tells of a location whether it is the target's: only what is read from there is read back."""
    watched = OpTrace()
    programs: dict[Any, _Program] = {}

    def count(name: str, number: int = 1) -> None:
        watched.counters[name] = watched.counters.get(name, 0) + number

    def executed(program: Any, *args: Any) -> Any:
        count("executions")
        found = programs.get(program)
        if found is None:
            found = programs[program] = _described(program)
        watched.operations += [Operation(name, HOST) for name in found.host_work]
        if found.computes:
            watched.operations.append(Operation(program.name, names_of(program._local_devices)))
        return execute(program, *args)

    def read(value: Any) -> Any:
        fetched = value._npy_value is None
        host = read_array(value)
        if on_device(names_of(value.devices())):
            if fetched:
                count("from_device")
                count("from_device_bytes", host.nbytes)
            if host.size > 1 and not _called_from(_LOWERING):
                watched.operations.append(READ)
        return host

    def put(aval: Any, sharding: Any, values: Any, *args: Any, **kwargs: Any) -> Any:
        for value in values:
            if not isinstance(value, jax.Array):
                count("to_device")
                count("to_device_bytes", getattr(value, "nbytes", 0))
        return put_arrays(aval, sharding, values, *args, **kwargs)

    with contextlib.ExitStack() as stack:
        try:
            execute = pxla.ExecuteReplicated.__call__
            read_array = array.ArrayImpl._value.fget
            put_arrays = pxla.batched_device_put
            for place, name, hook in (
                (pxla, "MeshExecutableFastpathData", lambda *_, **__: None),
                (pxla, "batched_device_put", put),
                (pxla.ExecuteReplicated, "__call__", executed),
                (array.ArrayImpl, "_value", property(read)),
            ):
                stack.enter_context(mock.patch.object(place, name, hook))
            _forget_short_cuts()
        except AttributeError as error:
            stack.close()
            warnings.warn(f"JAX {jax.__version__} cannot be watched: {error}", stacklevel=2)
        else:
            stack.callback(_forget_short_cuts)
            stack.enter_context(_without_buffers(array.ArrayImpl))
        yield watched


def _forget_short_cuts() -> None:
    """Compiled programs stay: only how to reach them without Python is forgotten."""
    kind = xla_client._xla.PjitFunctionCache
    for cache in vars(pjit).values():
        if isinstance(cache, kind):
            cache.clear()
    kind.clear_all()
    for mapped in getattr(api, "_pmap_cache_clears", ()):
        mapped._cache_clear()


def _described(program: Any) -> _Program:
    try:
        text = "\n".join(module.to_string() for module in program.xla_executable.hlo_modules())
    except Exception:  # a plug-in need not be able to tell
        return _Program(["callback"] if program.has_host_callbacks else [], True)
    host_work = [next(filter(None, match.groups())) for match in ON_HOST.finditer(text)]
    return _Program(host_work, not set(_OPCODE.findall(text)) <= _MOVES)


def _called_from(module: str) -> bool:
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__") == module:
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


_AS_BUFFER = 20
"""Of the pointers that a CPython type begins with, that to its buffer protocol."""


@contextlib.contextmanager
def _without_buffers(kind: type) -> Iterator[None]:
    """NumPy takes an array that lies in the host's memory through the buffer protocol, which nobody sees. Without it
    NumPy asks the array for its values, as it does with one that lies elsewhere."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        yield
        return
    slot = ctypes.c_void_p.from_address(id(kind) + _AS_BUFFER * ctypes.sizeof(ctypes.c_void_p))
    protocol, slot.value = slot.value, None
    try:
        yield
    finally:
        slot.value = protocol

"""Traces every computation of a call: which program ran on which devices, and what NumPy read back in between.

JAX runs a program again without passing through Python. While a call is traced, JAX keeps no such short cut, so that
every run goes through ``ExecuteReplicated``. The private names that this needs are the same from 0.4.8 to 0.10.2. They
are imported when a call is traced. If one is missing, nothing is traced, ``OpTrace.untraced`` says so, and the
placement is derived from the outputs alone. PORTBENCH_JAX_OP_TRACE=0 in the environment switches the trace off.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import re
import sys
import sysconfig
from typing import Any, Callable, Iterator, NamedTuple
from unittest import mock

import jax

from runners.core.adapter import HOST, Operation, OpTrace
from runners.jax.platforms import names_of

SWITCH = "PORTBENCH_JAX_OP_TRACE"
"""Environment variable; 0 switches the trace off."""

ON_HOST = re.compile(
    r'custom_call_target="(\w*(?:callback|hybrid|HostExecute)\w*)"'  # Python, LAPACK for a GPU, compute_on(host)
    r"| (outfeed)\(| (send|recv)\((?=.*is_host_transfer=true)"  # Python, for a TPU
    r'| (call-start)\((?=.*async_execution_thread="host")'
)
"""The parts of a program that the host computes. An infeed only moves data of the host."""

_OPCODE = re.compile(r"^\s*(?:ROOT )?%?[\w.-]+ = .*? ([a-z][a-z0-9-]*)\(", re.MULTILINE)
_MOVES = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "copy", "copy-start", "copy-done"}
_MOVES |= {"reshape", "transpose", "fusion", "call"}

_LOWERING = "jax._src.interpreters.mlir"
"""The module that turns arrays into constants of a program, which only moves them."""

READ = Operation("read to host", HOST)


class _Program(NamedTuple):
    host_work: list[str]
    computes: bool


@contextlib.contextmanager
def trace_ops(on_device: Callable[[str], bool]) -> Iterator[OpTrace]:
    """``on_device`` says whether a location is on the target: only what is read from there is a read to the host."""
    trace = OpTrace()
    with contextlib.ExitStack() as stack:
        if os.environ.get(SWITCH) == "0":
            trace.untraced.append(f"operations were not traced: {SWITCH}=0")
        else:
            try:
                _install(stack, trace, on_device)
            except (ImportError, AttributeError) as error:
                stack.close()
                trace.untraced.append(f"operations were not traced: JAX {jax.__version__} has no {_missing(error)}")
        yield trace


def _missing(error: Exception) -> str:
    """The part of JAX that an error names, else its message."""
    named = re.search(r"(?:has no attribute|cannot import name) '(\w+)'|No module named '([\w.]+)'", str(error))
    return next(filter(None, named.groups())) if named else str(error)


def _install(stack: contextlib.ExitStack, trace: OpTrace, on_device: Callable[[str], bool]) -> None:
    """Replaces the parts of JAX through which programs run and arrays move; the stack restores them. Raises ImportError
    or AttributeError if one is missing."""
    from jax._src import api, array, pjit
    from jax._src.interpreters import pxla
    from jax._src.lib import xla_client

    programs: dict[Any, _Program] = {}
    execute = pxla.ExecuteReplicated.__call__
    read_array = array.ArrayImpl._value.fget
    put_arrays = pxla.batched_device_put
    forget = functools.partial(_forget_short_cuts, api, pjit, xla_client._xla.PjitFunctionCache)

    def count(name: str, number: int = 1) -> None:
        trace.counters[name] = trace.counters.get(name, 0) + number

    def executed(program: Any, *args: Any) -> Any:
        count("executions")
        found = programs.get(program)
        if found is None:
            found = programs[program] = _described(program)
        trace.operations += [Operation(name, HOST) for name in found.host_work]
        if found.computes:
            trace.operations.append(Operation(program.name, names_of(program._local_devices)))
        return execute(program, *args)

    def read(value: Any) -> Any:
        fetched = value._npy_value is None
        host = read_array(value)
        if on_device(names_of(value.devices())):
            if fetched:
                count("from_device")
                count("from_device_bytes", host.nbytes)
            if host.size > 1 and not _called_from(_LOWERING):
                trace.operations.append(READ)
        return host

    def put(aval: Any, sharding: Any, values: Any, *args: Any, **kwargs: Any) -> Any:
        for value in values:
            if not isinstance(value, jax.Array):
                count("to_device")
                count("to_device_bytes", getattr(value, "nbytes", 0))
        return put_arrays(aval, sharding, values, *args, **kwargs)

    for place, name, hook in (
        (pxla, "MeshExecutableFastpathData", lambda *_, **__: None),
        (pxla, "batched_device_put", put),
        (pxla.ExecuteReplicated, "__call__", executed),
        (array.ArrayImpl, "_value", property(read)),
    ):
        stack.enter_context(mock.patch.object(place, name, hook))
    forget()
    stack.callback(forget)
    if can_remove_buffers():
        stack.enter_context(_without_buffers(array.ArrayImpl))
    else:
        trace.untraced.append("reads by NumPy through the buffer protocol were not traced: unknown layout of types")


def _forget_short_cuts(api: Any, pjit: Any, cache_type: Any) -> None:
    """Compiled programs stay: only how to run them without Python is forgotten."""
    for cache in vars(pjit).values():
        if isinstance(cache, cache_type):
            cache.clear()
    cache_type.clear_all()
    for mapped in getattr(api, "_pmap_cache_clears", ()):
        mapped._cache_clear()


def _described(program: Any) -> _Program:
    try:
        text = "\n".join(module.to_string() for module in program.xla_executable.hlo_modules())
    except Exception:  # not every plug-in has this
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
"""Of the pointers at the beginning of a CPython type, the index of the one to its buffer protocol (tp_as_buffer)."""


class _Probe(bytearray):
    """A type with a buffer protocol, for the self-check."""


@functools.lru_cache(maxsize=None)
def can_remove_buffers() -> bool:
    """Self-check: whether clearing the slot takes the buffer protocol from a type of our own, and setting it again
    gives it back. False if this Python lays out types in another way."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    slot, plain = _buffer_slot(_Probe), _buffer_slot(int)
    if not slot.value or slot.value == plain.value or not _has_buffer(_Probe(b"x")):
        return False
    with _without_buffers(_Probe):
        is_removed = not _has_buffer(_Probe(b"x"))
    return is_removed and _has_buffer(_Probe(b"x"))


def _has_buffer(value: Any) -> bool:
    try:
        memoryview(value).release()
    except TypeError:
        return False
    return True


def _buffer_slot(kind: type) -> ctypes.c_void_p:
    return ctypes.c_void_p.from_address(id(kind) + _AS_BUFFER * ctypes.sizeof(ctypes.c_void_p))


@contextlib.contextmanager
def _without_buffers(kind: type) -> Iterator[None]:
    """NumPy reads an array in the host's memory through the buffer protocol, which cannot be traced. Without the
    protocol, NumPy asks the array for its values, as it does with an array on a device."""
    slot = _buffer_slot(kind)
    protocol, slot.value = slot.value, None
    try:
        yield
    finally:
        slot.value = protocol

"""Adapter of JAX, from 0.4.8 on. Implements runners.core.adapter.Adapter."""

from __future__ import annotations

from types import FunctionType, ModuleType
from typing import Any, Callable, ContextManager, Iterator, Mapping, Sequence

import jax
import jax.monitoring
import numpy as np

from runners.core.adapter import HOST, OpTrace
from runners.core.programs import Program
from runners.core.testing import tree
from runners.core.testing.arrays import KEY
from runners.jax import op_trace, platforms, replaying, whole_programs
from runners.jax.double import x64

_COUNTERS = {
    "/jax/core/compile/jaxpr_trace_duration": ("traces", "trace_ns"),
    "/jax/core/compile/jaxpr_to_mlir_module_duration": ("lowerings", "lower_ns"),
    "/jax/core/compile/backend_compile_duration": ("compilations", "compile_ns"),
}
_totals: dict[str, int] = {}

_PRODUCTS = 32
"""Number of products; with these, the largest calibration kernel takes milliseconds on the fastest devices."""

_DEEPEST = 3
"""How deep arrays are searched in nested objects."""

_kind = "cpu"
"""The kind of the device that this process has opened."""


def _count(event: str, duration: float, **_: Any) -> None:
    if event in _COUNTERS:
        number, time = _COUNTERS[event]
        _totals[number] = _totals.get(number, 0) + 1
        _totals[time] = _totals.get(time, 0) + int(duration * 1e9)


jax.monitoring.register_event_duration_secs_listener(_count)


def version() -> str:
    return jax.__version__.split("+")[0]


def prepare(device: str) -> None:
    """Does nothing: JAX finds its plug-ins when it opens the device."""


def open_device(device: str) -> Any:
    global _kind
    found = platforms.opened(device)
    _kind = device
    return found


def device_facts(device: Any) -> Mapping[str, Any]:
    return platforms.facts(_kind, device)


def device_state(device: Any) -> Mapping[str, Any]:
    return platforms.state(_kind, device)


def scope(device: Any) -> ContextManager[object]:
    """The default device; JAX computes where the inputs are if they were put on a device."""
    return jax.default_device(device)


def full_precision() -> ContextManager[object]:
    return jax.default_matmul_precision("float32")


def float64_mode() -> ContextManager[object]:
    return x64()


def seed(seed: int) -> None:
    """Does nothing: JAX has no global random state; every function gets a key."""


def tensor(array: Any, dtype: str, device: Any, layout: str) -> Any:
    """``layout`` is ignored: JAX's arrays have no strides."""
    if dtype.startswith(KEY):
        return jax.device_put(replaying.keys(array, dtype), device)
    return jax.device_put(np.asarray(array).astype(jax.numpy.dtype(dtype)), device)


def host_device() -> Any:
    return jax.devices("cpu")[0]


def copied_to(leaf: Any, device: Any, dtype_of: Callable[[str], str]) -> Any:
    """The host's tensors are JAX's arrays or NumPy's."""
    if not (isinstance(leaf, (np.ndarray, jax.Array)) and leaf.dtype != object):
        return leaf
    copied = tensor(leaf, dtype_of(str(leaf.dtype)), device, "")
    return replaying.marked(copied) if replaying.is_marked(leaf) else copied


def in_memory_order(tensor: Any, order: Sequence[int]) -> Any:
    return tensor


def differentiable(tensor: Any) -> Any:
    return replaying.marked(tensor)


def with_gradients(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    return replaying.with_gradients(function, args, kwargs)


def as_function(found: Any) -> Callable[..., Any]:
    return replaying.as_function(found)


def dtype(name: str) -> Any:
    try:
        return jax.numpy.dtype(name)
    except TypeError as error:
        raise KeyError(name) from error


def dtype_name(leaf: Any) -> str | None:
    return str(leaf.dtype) if _is_array(leaf) else None


def to_numpy(leaf: Any) -> Any:
    if str(leaf.dtype).startswith(KEY):
        leaf = jax.random.key_data(leaf)
    array = np.asarray(leaf)
    # NumPy converts it, since JAX would compile a program for each shape.
    return array.astype("float32") if leaf.dtype == jax.numpy.bfloat16 else array


def wait(output: Any) -> None:
    try:
        output.block_until_ready()
    except AttributeError:
        for array in _arrays_in(output, _DEEPEST):
            array.block_until_ready()


def wait_as_published(output: Any) -> None:
    """Does nothing for tuples and other containers: the paper did not wait for those."""
    if hasattr(output, "block_until_ready"):
        output.block_until_ready()


def compile_program(device: Any, program: Program) -> None:
    platform = "cuda" if device.platform == "gpu" else device.platform
    whole_programs.compile_for(device, program.module(platform, whole_programs.FORMS))


def forget_programs() -> None:
    jax.clear_caches()


def calibration_kernel(units: int, device: Any) -> Callable[[], Any]:
    left = tensor(np.ones((64 * units, 512), "float32"), "float32", device, "contiguous")
    right = tensor(np.eye(512)[::-1], "float32", device, "contiguous")

    @jax.jit
    def chain(left: Any, right: Any) -> Any:
        for _ in range(_PRODUCTS):
            left = left @ right
        return {"sum": (left.sum(),)}

    return lambda: chain(left, right)


def location(leaf: Any) -> str | None:
    """The location of the arrays in a leaf, which may be a container that JAX knows or a function from jax.vjp."""
    if isinstance(leaf, np.ndarray) and leaf.ndim and leaf.dtype != jax.dtypes.float0:
        return HOST
    arrays = filter(_is_array, jax.tree_util.tree_leaves(leaf))
    return platforms.names_of({device for array in arrays for device in array.devices()}) or None


def on_device(location: str, device: Any) -> bool:
    """The output of a collective is on several devices: all must belong to the target, and one must be its own."""
    names = location.split(",")
    return platforms.names_of([device]) in names and set(names) <= set(map(_name, platforms.of_target(device)))


def trace_ops(device: Any, counts: bool = True) -> ContextManager[OpTrace]:
    return op_trace.trace_ops(lambda location: on_device(location, device))


def counters() -> dict[str, int]:
    return dict(_totals)


def _name(device: Any) -> str:
    return platforms.names_of([device])


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and not isinstance(leaf, jax.core.Tracer)


def _arrays_in(value: Any, depth: int) -> Iterator[Any]:
    """The arrays of a nested value, also those in objects and functions that JAX does not know."""
    try:
        leaves = jax.tree_util.tree_leaves(value)
    except (TypeError, ValueError):  # a dict whose keys cannot be sorted
        leaves = list(tree.leaves(value))
    for leaf in leaves:
        if _is_array(leaf):
            if not leaf.is_deleted():
                yield leaf
        elif isinstance(leaf, FunctionType):
            if depth:
                yield from _arrays_in([cell.cell_contents for cell in leaf.__closure__ or ()], depth - 1)
        elif depth and not isinstance(leaf, (type, ModuleType)) and isinstance(getattr(leaf, "__dict__", None), dict):
            yield from _arrays_in(list(vars(leaf).values()), depth - 1)

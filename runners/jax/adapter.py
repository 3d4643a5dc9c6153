"""Adapter of JAX, from 0.4.8 on. Implements runners.core.adapter.Adapter."""

from __future__ import annotations

from typing import Any, ContextManager, Mapping

import jax
import jax.monitoring
import numpy as np

from runners.core.errors import DeviceUnavailable

_COUNTERS = {
    "/jax/core/compile/jaxpr_trace_duration": ("traces", "trace_ns"),
    "/jax/core/compile/jaxpr_to_mlir_module_duration": ("lowerings", "lower_ns"),
    "/jax/core/compile/backend_compile_duration": ("compilations", "compile_ns"),
}
_totals: dict[str, int] = {}


def _count(event: str, duration: float, **_: Any) -> None:
    if event in _COUNTERS:
        number, time = _COUNTERS[event]
        _totals[number] = _totals.get(number, 0) + 1
        _totals[time] = _totals.get(time, 0) + int(duration * 1e9)


jax.monitoring.register_event_duration_secs_listener(_count)


def version() -> str:
    return jax.__version__.split("+")[0]


def open_device(device: str) -> Any:
    if device != "cpu":
        raise DeviceUnavailable(f"the JAX adapter cannot open a {device}", "Use jax-cpu.")
    found = jax.devices()[0]
    if found.platform != device:
        raise DeviceUnavailable(f"JAX opened {found.platform} where {device} was asked for", "Unset JAX_PLATFORMS.")
    return found


def device_facts(device: Any) -> Mapping[str, Any]:
    return {
        "kind": device.platform,
        "model": device.device_kind,
        "devices": jax.device_count(),
        "x64": bool(jax.config.jax_enable_x64),
        "matmul_precision": jax.config.jax_default_matmul_precision,
        "prng": str(jax.config.jax_default_prng_impl),
    }


def scope(device: Any) -> ContextManager[object]:
    return jax.default_device(device)


def seed(seed: int) -> None:
    """JAX has no global random state; every function gets its key."""


def tensor(array: Any, dtype: str, device: Any, layout: str) -> Any:
    """``layout`` is ignored: JAX's arrays have no strides."""
    return jax.device_put(np.asarray(array).astype(jax.numpy.dtype(dtype)), device)


def dtype(name: str) -> Any:
    try:
        return jax.numpy.dtype(name)
    except TypeError as error:
        raise KeyError(name) from error


def dtype_name(leaf: Any) -> str | None:
    return str(leaf.dtype) if _is_array(leaf) else None


def to_numpy(leaf: Any) -> Any:
    return np.asarray(leaf.astype("float32") if leaf.dtype == jax.numpy.bfloat16 else leaf)


def wait(output: Any) -> None:
    try:
        output.block_until_ready()
    except AttributeError:
        jax.block_until_ready(output)


def location(leaf: Any) -> str | None:
    """A leaf may be a container that JAX knows, or a function that jax.vjp gave: where the arrays in it live."""
    arrays = filter(_is_array, jax.tree_util.tree_leaves(leaf))
    names = {f"{device.platform}:{device.id}" for array in arrays for device in array.devices()}
    return ",".join(sorted(names)) or None


def on_device(location: str, device: Any) -> bool:
    """A collective's output lies on several devices: all must be of the target's kind, and one the target's own."""
    names = location.split(",")
    alike = all(name.startswith(device.platform + ":") for name in names)
    return alike and f"{device.platform}:{device.id}" in names


def counters() -> dict[str, int]:
    return dict(_totals)


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and not isinstance(leaf, jax.core.Tracer)

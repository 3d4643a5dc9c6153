"""How outputs of JAX are altered, also traced ones (see runners.core.mutants.mutant).

A tracer has no values: if its size shows that a change would change nothing, it is returned unchanged.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import jax
import jax.numpy as jnp

from runners.core.mutants.mutation import other_dtype

ARRAYS = (jax.Array,)


def scaled(value: Any) -> Any:
    if not value.size:
        return value
    return ~value if value.dtype == bool else (value * 2).astype(value.dtype)


def shifted(value: Any) -> Any:
    return jnp.roll(value, 1) if value.size > 1 else value


def zeroed(value: Any) -> Any:
    return jnp.zeros_like(value) if value.size else value


def wrong_dtype(value: Any) -> Any:
    # Without x64 there is no complex128; the other dtype of complex64 is float32.
    other = "float32" if value.dtype == "complex64" else other_dtype(value.dtype.name)
    return jnp.real(value).astype(other) if value.dtype == "complex64" else value.astype(other)


def wrong_shape(value: Any) -> Any:
    return value[None]


_DIFFERENTIATED = ("JVPTracer", "LinearizeTracer")


def is_differentiated(leaf: Any) -> bool:
    """Whether a derivative is being computed. Inside of a compiled function that cannot be seen."""
    return type(leaf).__name__ in _DIFFERENTIATED


def gradient_scaled(leaf: Any, factor: float, notice: Callable[[], None]) -> Any:
    """The same values with a scaled derivative, forward and backward."""
    if not is_differentiated(leaf) or not jnp.issubdtype(leaf.dtype, jnp.inexact):
        return leaf
    notice()
    held = jax.lax.stop_gradient(leaf)
    return held + jnp.where(jnp.isfinite(held), factor * (leaf - held), 0).astype(leaf.dtype)


def has_state(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether a call may leave anything behind that ``undo`` sets back."""
    return False


def undo(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Callable[[], bool]:
    """Nothing: arrays cannot be changed."""
    return lambda: False


def stream(function: Callable[..., Any], kwargs: Mapping[str, Any]) -> Any:
    """Another object at each call for the function that makes keys: there is no stream."""
    return object() if _makes_keys(function) else None


def reseeded(number: int, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The arguments of a call that makes the key of another seed."""
    if not _makes_keys(function):
        return args, kwargs
    return [args[0] + number % 1000 + 1, *args[1:]], kwargs


def _makes_keys(function: Callable[..., Any]) -> bool:
    return getattr(function, "__name__", "") in ("PRNGKey", "key")

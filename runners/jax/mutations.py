"""How outputs of JAX are altered, also traced ones (see runners.core.testing.mutants).

A tracer has no values: if its size shows that a change would change nothing, it is returned unchanged.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from runners.core.testing.mutants import other_dtype

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

"""What the sources of JAX have in common. The arrays of samples are NumPy's until a test copies them to a device."""

from __future__ import annotations

from typing import Any, Mapping

import jax
import numpy as np

from runners.core.testing import tree
from runners.jax import replaying


def name(dtype: Any) -> str:
    """JAX's name of a dtype, which it may not hold in 64 bits: ``float32`` of NumPy's float64."""
    return str(jax.dtypes.canonicalize_dtype(dtype))


def with_marks(value: Any) -> Any:
    """A nested value whose floating arrays want gradients."""
    return tree.mapped(lambda leaf: replaying.marked(leaf) if _is_floating(leaf) else leaf, value)


def look(value: Any) -> str:
    """How a nested value looks, the same in each process."""
    if isinstance(value, (np.ndarray, np.generic)):
        return f"{name(value.dtype)}{tuple(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}({','.join(map(look, value))})"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{look(item)}" for key, item in value.items()) + "}"
    if callable(value):
        return getattr(value, "__qualname__", type(value).__name__)
    plain = isinstance(value, (bool, int, float, complex, str, type(None), slice))
    # The text of another object may hold its address.
    return repr(value) if plain else type(value).__name__


def _is_floating(leaf: Any) -> bool:
    return isinstance(leaf, np.ndarray) and bool(jax.numpy.issubdtype(leaf.dtype, jax.numpy.inexact))

"""What the sources of JAX have in common. The arrays of samples are NumPy's until a test copies them to a device."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from runners.core.testing import samples, tree
from runners.jax import replaying


def name(dtype: Any) -> str:
    """JAX's name of a dtype, which it may not hold in 64 bits: ``float32`` of NumPy's float64."""
    return str(jax.dtypes.canonicalize_dtype(dtype))


def with_marks(value: Any) -> Any:
    """A nested value whose floating arrays want gradients."""
    return tree.mapped(lambda leaf: replaying.marked(leaf) if _is_floating(leaf) else leaf, value)


def look(value: Any) -> str:
    """How a nested value looks, the same in each process."""
    return samples.look(value, _look_of_array)


def _look_of_array(value: Any) -> str | None:
    if isinstance(value, (np.ndarray, np.generic)):
        return f"{name(value.dtype)}{tuple(value.shape)}"
    return repr(value) if isinstance(value, slice) else None


def _is_floating(leaf: Any) -> bool:
    return isinstance(leaf, np.ndarray) and bool(jax.numpy.issubdtype(leaf.dtype, jax.numpy.inexact))

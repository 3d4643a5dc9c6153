"""What the sources of JAX have in common. The arrays of samples are NumPy's until a test copies them to a device."""

from __future__ import annotations

import warnings
from typing import Any, Callable, Mapping, Sequence

import jax
import numpy as np

from runners.core.testing import samples, tree
from runners.core.testing.counterparts import Framework
from runners.jax import replaying


def name(dtype: Any) -> str:
    """JAX's name of a dtype, which it may not hold in 64 bits: ``float32`` of NumPy's float64."""
    return str(jax.dtypes.canonicalize_dtype(dtype))


def with_marks(value: Any) -> Any:
    """A nested value whose floating arrays want gradients."""
    return tree.mapped(lambda leaf: replaying.marked(leaf) if is_floating(leaf) else leaf, value)


def accepts(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether JAX can trace the call. What needs the values of its arguments cannot be traced, and is accepted."""
    leaves, structure = jax.tree_util.tree_flatten(args)
    places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, np.ndarray)]

    def call(*arrays: Any) -> Any:
        known = dict(zip(places, arrays))
        return function(*structure.unflatten([known.get(place, leaf) for place, leaf in enumerate(leaves)]), **kwargs)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outputs = jax.eval_shape(call, *(leaves[place] for place in places))
    except jax.errors.JAXTypeError:
        return True
    except Exception:
        return False
    return any(hasattr(leaf, "dtype") for leaf in jax.tree_util.tree_leaves(outputs))


OF_COUNTERPARTS = Framework(
    ("bool", "complex64", "float16", "float32", "int32", "int8", "uint32", "uint8"),
    accepts,
    lambda args, gradient: with_marks(args) if gradient else args,
)


def look_of(sample: samples.Sample) -> str:
    """How a sample without an object looks."""
    return look((list(sample.args), sample.kwargs))


def look(value: Any) -> str:
    """How a nested value looks, the same in each process."""
    return samples.look(value, _look_of_array)


def _look_of_array(value: Any) -> str | None:
    if isinstance(value, (np.ndarray, np.generic)):
        return f"{name(value.dtype)}{tuple(value.shape)}"
    return repr(value) if isinstance(value, slice) else None


def is_floating(leaf: Any) -> bool:
    return isinstance(leaf, np.ndarray) and bool(jax.numpy.issubdtype(leaf.dtype, jax.numpy.inexact))

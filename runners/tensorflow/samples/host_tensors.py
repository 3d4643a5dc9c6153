"""What the sources of TensorFlow have in common: tensors on the host, and how they look."""

from __future__ import annotations

import functools
import warnings
from typing import Any, Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing import samples, tree
from runners.core.testing.counterparts import Framework, Pair
from runners.core.testing.samples import Sample
from runners.tensorflow import devices, placing, replaying

COMPOSITES = (tf.RaggedTensor, tf.SparseTensor, tf.IndexedSlices)
"""What consists of several tensors."""


def on_host() -> Any:
    """A context in which everything is computed on the host, also in graphs of version 1 on another target."""
    return placing.placed(devices.NAMES["cpu"])


def with_tensors(args: Any, gradient: bool) -> Any:
    """A nested value with a tensor in the place of each array of NumPy's. With ``gradient``, floating ones want
    theirs."""

    def made(leaf: Any) -> Any:
        if not isinstance(leaf, (np.ndarray, np.generic)):
            return leaf
        found = tf.constant(leaf)
        return replaying.marked(found) if gradient and is_floating(found) else found

    with on_host():
        return tree.mapped(made, args)


def accepts(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether TensorFlow computes the call on the host, with a tensor as a result."""
    try:
        with warnings.catch_warnings(), on_host():
            warnings.simplefilter("ignore")
            found = function(*with_tensors(args, False), **kwargs)
    except Exception:
        return False
    return any(isinstance(leaf, tf.Tensor) for leaf in tree.leaves(found))


OF_COUNTERPARTS = Framework(
    ("bool", "complex64", "float16", "float32", "float64", "int32", "int64", "int8", "uint8"), accepts, with_tensors
)


def named(name: str) -> Any:
    """What has this full name; None where this version lacks it."""
    return functools.reduce(lambda home, part: getattr(home, part, None), name.split(".")[1:], tf)


def modules(counterparts: Mapping[str, Any]) -> Mapping[str, tuple[Any, Any]]:
    """Modules of TensorFlow and their counterparts by the names of the first. Those that this version lacks are left
    out."""
    return {name: (named(name), theirs) for name, theirs in counterparts.items() if named(name) is not None}


def pairs(counterparts: Mapping[str, Any]) -> Mapping[str, Pair]:
    """Pairs of the functions with these full names. Those that this version lacks are left out."""
    found = {}
    for name, counterpart in counterparts.items():
        function = named(name)
        if function is not None:
            found[name] = Pair(function, counterpart)
    return found


def without_aliases(pairs: Mapping[str, Pair]) -> Mapping[str, Pair]:
    """Of several names of one function, the first."""
    first: dict[int, str] = {}
    for name, pair in pairs.items():
        first.setdefault(id(pair.function), name)
    return {name: pairs[name] for name in sorted(first.values())}


def parts(output: Any) -> Any:
    """The tensors of a nested output: of sparse and ragged ones, those that they consist of."""
    return tf.nest.flatten(output, expand_composites=True)


def look_of(sample: Sample) -> str:
    """How a sample looks."""
    return samples.look((list(sample.args), sample.kwargs), _look)


def _look(value: Any) -> str | None:
    if isinstance(value, COMPOSITES):
        return f"{type(value).__name__}[{','.join(str(_look(part)) for part in parts(value))}]"
    if isinstance(value, (tf.Tensor, np.ndarray, np.generic)):
        return f"{tf.as_dtype(value.dtype).name}{tuple(value.shape)}"
    return repr(value) if isinstance(value, (tf.DType, tf.TensorShape, slice)) else None


def is_floating(leaf: Any) -> bool:
    """Whether a leaf is a tensor that may have a gradient."""
    return isinstance(leaf, tf.Tensor) and bool(leaf.dtype.is_floating or leaf.dtype.is_complex)

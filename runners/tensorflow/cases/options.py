"""How functions that compute values are called with options, and what they compute then, in NumPy.

For cases that check options together, with layouts, dtypes, shapes and gradients.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple, Sequence

import numpy as np
import tensorflow as tf
from scipy import special

from runners.tensorflow.cases.convolution import convolved, transposed, windows_of
from runners.tensorflow.cases.distributions import NORMAL_METHODS
from runners.tensorflow.cases.linalg import with_diagonals
from runners.tensorflow.cases.math import cosines
from runners.tensorflow.cases.scatter import scattered
from runners.tensorflow.cases.space_to_batch import blocks_to_batch
from runners.tensorflow.cases.survival import log_laplace_survival

_distributions = tf.compat.v1.distributions
Sizes = Sequence[int]


class Function(NamedTuple):
    """``call`` gets the function, its tensors and options; ``compute`` the same values in float64, or whole numbers.

    ``ranges`` has the lowest and highest value of each tensor, the last one of all that follow. The output is precise
    to ``rtol`` in float32."""

    call: Callable[..., Any]
    compute: Callable[..., Any]
    ranges: Sequence[Sequence[float]] = ((-2, 2),)
    rtol: float = 1e-5
    dtype: Callable[..., str] | None = None


def _axes(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis


def _mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    mean = x.mean(_axes(axis), keepdims=keepdims)
    return mean if x.dtype.kind in "fc" else np.trunc(mean)


def _conv3d(f: Any, x: Any, w: Any, strides: Sizes, padding: str, dilations: Sizes, first: bool = False) -> Any:
    if not first:
        return f(x, w, [1, *strides, 1], padding, dilations=[1, *dilations, 1])
    moved = tf.transpose(x, [0, 4, 1, 2, 3])
    found = f(moved, w, [1, 1, *strides], padding, data_format="NCDHW", dilations=[1, 1, *dilations])
    return tf.transpose(found, [0, 2, 3, 4, 1])


def _enlarged(x: Any, w: Any, strides: Sizes, padding: Any, dilations: Sizes, more: int) -> list[int]:
    """The height and width of the output of a transposed convolution, ``more`` than the smallest with this input."""
    found = []
    for size, kernel, step, skip, place in zip(x[1:3], w[:2], strides, dilations, (0, 1)):
        span = (kernel - 1) * skip + 1
        cut = 0 if isinstance(padding, str) else sum(padding[place])
        found.append((size - 1) * step + (1 if padding == "SAME" else span - cut) + min(more, step - 1))
    return found


def _transpose(f: Any, x: Any, w: Any, strides: Sizes, padding: Any, dilations: Sizes, more: int = 0) -> Any:
    size = _enlarged(x.shape, w.shape, strides, padding, dilations, more)
    borders = padding if isinstance(padding, str) else [[0, 0], *padding, [0, 0]]
    return f(x, w, [x.shape[0], *size, w.shape[2]], strides, borders, dilations=dilations)


def _transposed(x: Any, w: Any, strides: Sizes, padding: Any, dilations: Sizes, more: int = 0) -> Any:
    size = _enlarged(x.shape, w.shape, strides, padding, dilations, more)
    return transposed(x, w, size, strides, padding, dilations)


def _reshape(f: Any, x: Any, shape: Sizes, given_as: str = "list") -> Any:
    kinds: Mapping[str, Callable[[Any], Any]] = {
        "list": list,
        "tuple": tuple,
        "array": np.asarray,
        "int32": lambda sizes: tf.constant(sizes, tf.int32),
        "int64": lambda sizes: tf.constant(sizes, tf.int64),
    }
    return f(x, kinds[given_as](shape))


def _cast(x: Any, to: str) -> Any:
    if to == "bool":
        return x != 0
    return np.trunc(x.astype("float64")) if "int" in to else x.astype("float64")


def _places(sizes: Sizes, updates: Sizes, depth: int) -> Any:
    """Distinct places in the first axes, the first and the last one among them, not in order."""
    count = int(np.prod(sizes[:depth]))
    chosen = np.linspace(0, count - 1, updates[0]).astype("int64")
    return np.stack(np.unravel_index(np.roll(chosen, 1), sizes[:depth]), -1)


def _scatter(f: Any, x: Any, updates: Any, depth: int, index: str) -> Any:
    return f(x, tf.constant(_places(x.shape, updates.shape, depth), index), updates)


def _band(f: Any, x: Any, diagonals: Any, low: int, high: int, align: str) -> Any:
    return f(x, diagonals, k=low if low == high else (low, high), align=align)


def _with_band(x: Any, diagonals: Any, low: int, high: int, align: str) -> Any:
    return with_diagonals(x, diagonals[..., None, :] if low == high else diagonals, low, high, align)


def _cosines(x: Any, kind: int, norm: str | None) -> Any:
    return x @ cosines(x.shape[-1], kind, norm).T


_LOC_SCALE_X = ((-2, 2), (0.5, 2), (-3, 3))

FUNCTIONS: Mapping[str, Function] = {
    "brightness": Function(lambda f, x, delta: f(x, delta), lambda x, delta: x + delta),
    "cast": Function(lambda f, x, to: f(x, to), _cast, ((0, 100),), dtype=lambda to: to),
    "clip": Function(
        lambda f, x, *bounds, low=None, high=None: f(x, *(bounds or (low, high))),
        lambda x, *bounds, low=None, high=None: np.clip(x, *(bounds or (low, high))),
        ((-2, 2), (-1.5, 0), (0.5, 1.5)),
    ),
    "concat": Function(lambda f, *parts, axis: f(list(parts), axis), lambda *parts, axis: np.concatenate(parts, axis)),
    "conv2d-transpose": Function(_transpose, _transposed),
    "conv3d": Function(
        _conv3d,
        lambda x, w, strides, padding, dilations, first=False: convolved(
            windows_of(x, w.shape[:3], strides, padding, dilations), w
        ),
    ),
    "diagflat": Function(lambda f, x, k: f(x, k), np.diagflat),
    "fill": Function(lambda f, x, dims: f(dims, x), lambda x, dims: np.full(dims, x)),
    "host-values": Function(lambda f, x: f(lambda a: a, [x], x.dtype), lambda x: x),
    "idct": Function(lambda f, x, kind, norm: f(x, kind, norm=norm), _cosines, rtol=1e-4),
    "igammac": Function(lambda f, a, x: f(a, x), special.gammaincc, ((0.5, 8),), rtol=1e-4),
    "laplace": Function(
        lambda f, loc, scale, x: f(_distributions.Laplace(loc, scale), x),
        lambda loc, scale, x: log_laplace_survival(x, loc, scale),
        _LOC_SCALE_X,
        rtol=2e-5,
    ),
    "logsumexp": Function(
        lambda f, x, axis=None, keepdims=False: f(x, axis, keepdims),
        lambda x, axis=None, keepdims=False: special.logsumexp(x, _axes(axis), keepdims=keepdims),
    ),
    "mean": Function(lambda f, x, axis=None, keepdims=False: f(x, axis, keepdims), _mean, ((0, 7),)),
    "normal": Function(
        lambda f, loc, scale, x, method: getattr(f(loc, scale), method)(x),
        lambda loc, scale, x, method: NORMAL_METHODS[method](x, loc, scale),
        _LOC_SCALE_X,
        rtol=2e-5,
    ),
    "numpy-function": Function(lambda f, x, y: f(lambda a, b: a * b, [x, y], x.dtype), np.multiply),
    "reshape": Function(_reshape, lambda x, shape, given_as="list": x.reshape(shape)),
    "scatter": Function(
        _scatter,
        lambda x, updates, depth, index: scattered(x, _places(x.shape, updates.shape, depth), updates),
    ),
    "set-diag": Function(_band, _with_band),
    "smart-cond": Function(
        lambda f, x, y, condition: f(condition, lambda: tf.multiply(x, y), lambda: tf.add(x, y)),
        lambda x, y, condition: x * y if condition else x + y,
    ),
    "smart-cond-of-values": Function(
        lambda f, x, y: f(tf.reduce_sum(x) > 0, lambda: tf.multiply(x, y), lambda: tf.add(x, y)),
        lambda x, y: x * y if x.sum() > 0 else x + y,
    ),
    "space-to-batch": Function(
        lambda f, x, block, paddings: f(x, block, paddings),
        lambda x, block, paddings: blocks_to_batch(x, block, paddings),
    ),
    "survival": Function(
        lambda f, loc, scale, x: f(_distributions.Normal(loc, scale), x),
        lambda loc, scale, x: NORMAL_METHODS["survival_function"](x, loc, scale),
        _LOC_SCALE_X,
        rtol=2e-5,
    ),
    "svd": Function(lambda f, x: f(x, compute_uv=False), lambda x: np.linalg.svd(x, False, False)),
    "values": Function(lambda f, x: f(x), lambda x: x),
}
"""By a word for the function."""

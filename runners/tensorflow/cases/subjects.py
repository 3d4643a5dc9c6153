"""How functions that compute values are called on their tensors, and what they compute, in NumPy.

For cases that check any of these functions in the same way: layouts of memory, gradients, large counts.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple, Sequence

import numpy as np
import tensorflow as tf
from scipy import special

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.convolution import convolved, transposed, windows_of
from runners.tensorflow.cases.distributions import NORMAL_METHODS
from runners.tensorflow.cases.drawing import drawn
from runners.tensorflow.cases.math import cosines
from runners.tensorflow.cases.scatter import scattered
from runners.tensorflow.cases.space_to_batch import blocks_to_batch
from runners.tensorflow.cases.survival import log_laplace_survival

_distributions = tf.compat.v1.distributions
_PLACES = np.asarray([[3], [0], [5]])
_BOXES = [[[0.1, 0.2, 0.6, 0.9], [0.0, 0.5, 0.9, 0.8]]]
_COLORS = [[0.25, 0.5, 0.75]]


class Given(NamedTuple):
    """A tensor that a function gets: uniform in [low, high)."""

    shape: Sequence[int]
    low: float = -2.0
    high: float = 2.0


class Subject(NamedTuple):
    """``call`` gets the function and tensors, ``compute`` the same values in float64. The output has the ``dtype``, or
    that of the tensors, and is precise to ``rtol`` in float32."""

    given: Sequence[Given]
    call: Callable[..., Any]
    compute: Callable[..., Any]
    rtol: float = 1e-5
    dtype: str | None = None

    def hosts(self, trial: Trial, dtype: str, shapes: Sequence[Sequence[int]] | None = None) -> list[Any]:
        """Random host arrays, of these shapes if there are any."""
        return [
            trial.random(*shape, dtype=dtype, seed=60 + number, low=each.low, high=each.high)
            for number, (each, shape) in enumerate(zip(self.given, shapes or [each.shape for each in self.given]))
        ]


def _shape_transposed(x: Any, w: Any) -> Any:
    sizes = tf.shape(x)
    return tf.stack([sizes[0], 2 * sizes[1], 2 * sizes[2], tf.shape(w)[2]])


def _sequence(lengths: Any, width: int) -> Any:
    return np.arange(width) < lengths[..., None]


def _set_diagonal(x: Any, diagonal: Any) -> Any:
    found, places = x.copy(), np.arange(min(x.shape[-2:]))
    found[..., places, places] = diagonal
    return found


def _row_major(x: Any) -> Any:
    return np.ascontiguousarray(x).reshape(-1, 2)


_ONE, _PAIR = Given([5, 4, 3]), [Given([5, 4]), Given([5, 4])]
_LOC_SCALE_X = [Given([4]), Given([4], 0.5, 2.0), Given([5, 4])]

SUBJECTS: Mapping[str, Subject] = {
    "brightness": Subject([Given([5, 4, 3])], lambda f, x: f(x, 0.25), lambda x: x + 0.25),
    "cast": Subject([_ONE], lambda f, x: f(x, tf.float64), lambda x: x, dtype="float64"),
    "clip": Subject([_ONE, Given([3], -1, -0.5), Given([4, 1], 0.5, 1)], lambda f, *x: f(*x), np.clip),
    "concat": Subject(_PAIR, lambda f, x, y: f([x, y, x], -1), lambda x, y: np.concatenate([x, y, x], -1)),
    "constant": Subject([_ONE], lambda f, x: f(x), lambda x: x),
    "conv2d-transpose": Subject(
        [Given([2, 3, 4, 2]), Given([3, 3, 3, 2])],
        lambda f, x, w: f(x, w, _shape_transposed(x, w), 2, "SAME"),
        lambda x, w: transposed(x, w, [2 * size for size in x.shape[1:3]], (2, 2), "SAME"),
    ),
    "conv2d-transpose-1x1": Subject(
        [Given([2, 3, 4, 2]), Given([1, 1, 3, 2])],
        lambda f, x, w: f(x, w, _shape_transposed(x, w), 2, "SAME"),
        lambda x, w: transposed(x, w, [2 * size for size in x.shape[1:3]], (2, 2), "SAME"),
    ),
    "conv3d": Subject(
        [Given([2, 3, 4, 3, 2]), Given([2, 2, 2, 2, 3])],
        lambda f, x, w: f(x, w, [1, 1, 2, 1, 1], "SAME"),
        lambda x, w: convolved(windows_of(x, w.shape[:3], (1, 2, 1), "SAME"), w),
    ),
    "conv3d-1x1x1": Subject(
        [Given([2, 3, 4, 3, 2]), Given([1, 1, 1, 2, 3])],
        lambda f, x, w: f(x, w, [1, 2, 2, 3, 1], "VALID"),
        lambda x, w: convolved(windows_of(x, w.shape[:3], (2, 2, 3), "VALID"), w),
    ),
    "diagflat": Subject([Given([3, 2])], lambda f, x: f(x, 1), lambda x: np.diagflat(x, 1)),
    "draw": Subject(
        [Given([1, 9, 7, 3])],
        lambda f, x: f(x, _BOXES, _COLORS),
        lambda x: drawn(x, np.asarray(_BOXES, "float32"), np.asarray(_COLORS)),
    ),
    "fill": Subject([Given([])], lambda f, x: f([3, 1, 4], x), lambda x: np.full([3, 1, 4], x)),
    "idct": Subject([Given([5, 4, 6])], lambda f, x: f(x), lambda x: x @ cosines(x.shape[-1], 2, None).T),
    "igammac": Subject(
        [Given([4], 0.5, 8), Given([5, 4], 0.5, 8)], lambda f, a, x: f(a, x), special.gammaincc, rtol=1e-4
    ),
    "laplace": Subject(
        _LOC_SCALE_X,
        lambda f, loc, scale, x: f(_distributions.Laplace(loc, scale), x),
        lambda loc, scale, x: log_laplace_survival(x, loc, scale),
    ),
    "logsumexp": Subject([_ONE], lambda f, x: f(x, axis=-2), lambda x: special.logsumexp(x, axis=-2)),
    "logsumexp-rows": Subject([Given([7, 3])], lambda f, x: f(x, -1), lambda x: special.logsumexp(x, axis=-1)),
    "mean": Subject([_ONE], lambda f, x: f(x, axis=-2), lambda x: x.mean(-2)),
    "mean-rows": Subject([Given([7, 3])], lambda f, x: f(x, -1), lambda x: x.mean(-1)),
    "normal": Subject(
        _LOC_SCALE_X,
        lambda f, loc, scale, x: f(loc, scale).log_prob(x),
        lambda loc, scale, x: NORMAL_METHODS["log_prob"](x, loc, scale),
    ),
    "normal-cdf": Subject(
        _LOC_SCALE_X,
        lambda f, loc, scale, x: f(loc, scale).cdf(x),
        lambda loc, scale, x: NORMAL_METHODS["cdf"](x, loc, scale),
    ),
    "numpy-function": Subject([_ONE], lambda f, x: f(lambda a: a * 2, [x], x.dtype), lambda x: x * 2),
    "reshape": Subject([Given([5, 4, 6])], lambda f, x: f(x, [-1, 2]), _row_major),
    "scatter": Subject(
        [Given([6, 4]), Given([3, 4])],
        lambda f, x, updates: f(x, _PLACES, updates),
        lambda x, updates: scattered(x, _PLACES, updates),
    ),
    "scatter-rows": Subject(
        [Given([7, 2]), Given([7, 2])],
        lambda f, x, updates: f(x, np.arange(updates.shape[0])[::-1, None], updates),
        lambda x, updates: updates[::-1] + 0 * x,
    ),
    "set-diag": Subject([Given([5, 4, 3]), Given([5, 3])], lambda f, x, d: f(x, d), _set_diagonal),
    "smart-cond": Subject([_ONE], lambda f, x: f(True, lambda: x * x, lambda: -x), lambda x: x * x),
    "space-to-batch": Subject(
        [Given([2, 4, 5, 2])],
        lambda f, x: f(x, [2, 3], [[0, 0], [0, 1]]),
        lambda x: blocks_to_batch(x, (2, 3), [[0, 0], [0, 1]]),
    ),
    "survival": Subject(
        _LOC_SCALE_X,
        lambda f, loc, scale, x: f(_distributions.Normal(loc, scale), x),
        lambda loc, scale, x: NORMAL_METHODS["survival_function"](x, loc, scale),
    ),
    "svd": Subject([Given([2, 3, 4])], lambda f, x: f(x, compute_uv=False), lambda x: np.linalg.svd(x, False, False)),
    "tensor": Subject([_ONE], lambda f, x: f(x), lambda x: x),
    "variable": Subject([_ONE], lambda f, x: f(x), lambda x: x),
}
"""By a word for the function and, if it has several, for the options or the shape."""


def slopes(subject: Subject, hosts: Sequence[Any], weights: Any) -> list[Any]:
    """The gradients of the sum of weights times output for each input: central differences in float64."""
    step = 1e-5
    found = []
    for number, host in enumerate(hosts):
        slope = np.zeros(host.size)
        for place in range(host.size):
            ends = []
            for sign in (1, -1):
                moved = [each.astype("float64") for each in hosts]
                moved[number].reshape(-1)[place] += sign * step
                ends.append((weights * subject.compute(*moved)).sum())
            slope[place] = (ends[0] - ends[1]) / (2 * step)
        found.append(slope.reshape(host.shape))
    return found

"""Calls that must fail within a tf.function, where shapes are known only when it runs."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.tensors import traced

_normal = tf.compat.v1.distributions.Normal
_BOXES = [[[0.1, 0.2, 0.6, 0.9]]] * 3

_CALLS: Mapping[str, tuple[Callable[..., Any], Sequence[Sequence[int]]]] = {
    "axis": (lambda f, x: f(x, tf.shape(x)[0] + 5), [[2, 3]]),
    "batch of boxes": (lambda f, x: f(x, _BOXES, [[1.0]]), [[2, 5, 5, 1]]),
    "channels": (lambda f, x, w: f(x, w, [1, 1, 1, 1, 1], "SAME"), [[1, 3, 3, 3, 2], [1, 1, 1, 3, 2]]),
    "columns": (lambda f, x, y: f([x, y], 0), [[2, 3], [2, 4]]),
    "diagonal": (lambda f, x, d: f(x, d), [[3, 3], [2]]),
    "direction": (lambda f, x: f(0, tf.shape(x)[0], -1), [[2]]),
    "dtype of output": (lambda f, x: f(lambda a: a.astype("int32"), [x], tf.float64), [[2]]),
    "element count": (lambda f, x: f(x, [4, -1]), [[2, 3]]),
    "index beyond": (lambda f, x, u: f(x, tf.shape(x)[None, :1], u), [[4, 2], [1, 2]]),
    "index below": (lambda f, x, u: f(x, -tf.shape(u)[None, :1], u), [[4, 2], [1, 2]]),
    "negative size": (lambda f, x: f([2, -tf.shape(x)[0]], 1.5), [[3]]),
    "negative zeros": (lambda f, x: f([2, -tf.shape(x)[0]]), [[3]]),
    "output size": (lambda f, x, w: f(x, w, tf.stack([1, 3 * tf.shape(x)[1], 2, 1]), 2), [[1, 2, 2, 1], [2, 2, 1, 1]]),
    "rest of block": (lambda f, x: f(x, [2, 2], [[0, 0], [0, 0]]), [[1, 3, 4, 1]]),
    "scale": (lambda f, x: f(x, -tf.abs(x) - 1, validate_args=True).mean(), [[3]]),
    "set sizes": (lambda f, x, y: f(tf.cast(x, tf.int32), tf.cast(y, tf.int32)).values, [[2, 3], [4, 3]]),
    "shapes": (lambda f, x, y: f(x, y), [[2], [3]]),
    "bounds": (lambda f, x, y: f(x, y, 2 * y), [[2], [3]]),
    "width": (lambda f, x: f(x, tf.shape(x)), [[2, 3]]),
}


def refuses(trial: Trial, call: str, kinds: Sequence[str] = ("InvalidArgumentError", "ValueError")) -> None:
    """The call fails when the function runs."""
    apply, shapes = _CALLS[call]
    tensors = [trial.tensor(trial.random(*shape, seed=number)) for number, shape in enumerate(shapes)]
    specs = [tf.TensorSpec([None] * len(shape), tf.float32) for shape in shapes]

    def body(function: Callable[..., Any]) -> Any:
        return traced(lambda *given: apply(function, *given), specs)(*tensors)

    trial.raises_inside(kinds, "", body)

"""tf.math.reduce_logsumexp, where a ``call`` test is not enough: gradients, unknown shapes."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf
from scipy import special

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.tensors import weighted_gradients


def gradient(
    trial: Trial, dtype: str, scale: float, axis: int | Sequence[int] | None = 1, keepdims: bool = False
) -> None:
    """The gradient of log-sum-exp is the softmax times the incoming one, also where a plain exp would overflow; that of
    minus infinity is zero."""
    host = (scale * trial.random(4, 9, 3, dtype=dtype, seed=6)).astype(dtype)
    host[1, 5, 2] = -np.inf
    wide = host.astype("float64")
    axes = tuple(axis) if isinstance(axis, (list, tuple)) else axis
    whole = special.logsumexp(wide, axis=axes, keepdims=True)
    expected = np.asarray(special.logsumexp(wide, axis=axes, keepdims=keepdims))
    host_weights = trial.random(*expected.shape, dtype=dtype, seed=9)
    weights = trial.tensor(host_weights)

    def body(reduce_logsumexp: Callable[..., Any], values: Any) -> Any:
        return weighted_gradients(lambda x: reduce_logsumexp(x, axis=axis, keepdims=keepdims), [values], weights)

    reduced, (slope,) = trial.call_inside(body, trial.tensor(host))
    trial.close(reduced, expected, dtype=dtype)
    softmax = np.exp(wide - whole) * host_weights.astype("float64").reshape(whole.shape)
    allowed = {"rtol": 1e-4, "atol": 1e-6} if dtype == "float32" else {"rtol": 1e-11, "atol": 1e-13}
    trial.close(slope, softmax, dtype=dtype, **allowed)


def gradient_of_equals(trial: Trial, shape: Sequence[int], axis: int | None, dtype: str) -> None:
    """Equal elements, also several that are the largest, have equal parts of the gradient, and the smaller ones theirs.
    The second gradient of the sum is that of the softmax."""
    host = trial.random(*shape, dtype=dtype, seed=10, low=-1.5, high=2.4).round()
    host[..., 1] = host[..., -1] = 2
    wide = host.astype("float64")
    whole = np.asarray(special.logsumexp(wide, axis=axis, keepdims=True))
    softmax = np.exp(wide - whole)
    weights = trial.random(*shape, dtype=dtype, seed=11)

    def body(reduce_logsumexp: Callable[..., Any], x: Any) -> Any:
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                total = tf.reduce_sum(reduce_logsumexp(x, axis))
            slope = inner.gradient(total, x)
            weighted = tf.reduce_sum(slope * weights)
        return slope, outer.gradient(weighted, x)

    slope, second = trial.call_inside(body, trial.tensor(host))
    rounded = 1e-5 if dtype == "float32" else 1e-12
    trial.close(slope, softmax, rounded, rounded, dtype=dtype)
    weighted = (softmax * weights).sum(axis, keepdims=True)
    trial.close(second, softmax * (weights - weighted), rounded, rounded, dtype=dtype)


def unknown_shape(trial: Trial, axis: int) -> None:
    """One tf.function traced for any matrix reduces matrices of two sizes as SciPy does."""
    hosts = [trial.random(3, 40, seed=7), trial.random(25, 2, seed=8)]
    tensors = [trial.tensor(host) for host in hosts]

    def body(reduce_logsumexp: Callable[..., Any]) -> Any:
        signature = [tf.TensorSpec([None, None], tf.float32)]
        reduce = tf.function(lambda x: reduce_logsumexp(x, axis=axis, keepdims=True), input_signature=signature)
        return [reduce(tensor) for tensor in tensors]

    for found, host in zip(trial.call_inside(body), hosts):
        expected = special.logsumexp(host.astype("float64"), axis=axis, keepdims=True)
        trial.close(found, np.asarray(expected), dtype="float32")

"""tf.math.reduce_logsumexp, where a ``call`` test is not enough: gradients, unknown shapes."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf
from scipy import special

from runners.core.testing.trial import Trial


def gradient(trial: Trial, dtype: str, scale: float) -> None:
    """The gradient of log-sum-exp is the softmax, also where a plain exp would overflow."""
    host = scale * trial.random(4, 9, dtype=dtype, seed=6)
    values = trial.tensor(host.astype(dtype))

    def body(reduce_logsumexp: Callable[..., Any]) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(values)
            reduced = reduce_logsumexp(values, axis=1)
        return reduced, tape.gradient(reduced, values)

    reduced, slope = trial.call_inside(body)
    wide = host.astype(dtype).astype("float64")
    trial.close(reduced, special.logsumexp(wide, axis=1), dtype=dtype)
    trial.close(slope, special.softmax(wide, axis=1), rtol=1e-4, atol=1e-6, dtype=dtype)


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

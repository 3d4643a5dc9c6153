"""tf.experimental.numpy.clip with one bound: values and gradients."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial


def one_bound(trial: Trial, is_lower: bool, dtype: str) -> None:
    """With one bound the other side is open. Each element that is inside has the incoming gradient, and the bound
    has the sum of the others."""
    sign = 1.0 if is_lower else -1.0
    host, weights = trial.random(3, 67, dtype=dtype, seed=1), trial.random(3, 67, dtype=dtype, seed=2)
    host[0, :3] = sign * np.asarray([1e30, -1e30, np.inf])
    x, bound = trial.tensor(host), trial.tensor(np.asarray(-0.25, dtype))

    def body(clip: Callable[..., Any]) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([x, bound])
            output = clip(x, bound, None) if is_lower else clip(x, None, bound)
            total = tf.reduce_sum(trial.tensor(weights) * tf.where(tf.math.is_finite(output), output, 0))
        return output, tape.gradient(total, [x, bound])

    output, (to_x, to_bound) = trial.call_inside(body)
    wide, inside = weights.astype("float64"), sign * (host + 0.25) > 0
    trial.exact(output, np.where(inside, host, -0.25).astype(dtype), dtype)
    trial.close(to_x, np.where(inside & np.isfinite(host), wide, 0), dtype=dtype)
    trial.close(to_bound, wide[~inside].sum(), 1e-4, 1e-4, dtype=dtype)

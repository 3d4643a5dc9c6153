"""Draws without axes."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial


def normal(trial: Trial) -> None:
    """No size, and a size of no axes as a tuple, list or array, gives one number each time, another at each call, and
    the same ones again after the seed is set, in a tf.function too; sizes of 0 give no numbers."""
    none: list[Any] = [None, (), [], np.zeros(0, "int32")]

    def body(standard_normal: Callable[..., Any]) -> Any:
        found = []
        for _ in range(2):
            tf.random.set_seed(25)
            draws = [standard_normal() if size is None else standard_normal(size) for size in none]
            draw = tf.function(lambda: (standard_normal(), standard_normal(())))
            found.append([*draws, *draw(), *draw()])
        many = tf.stack([standard_normal(()) for _ in range(300)])
        return found, many, [standard_normal(size) for size in (0, (0,), (2, 0))]

    (first, second), many, empty = trial.call_inside(body)
    for draw in first:
        trial.equal((trial.dtype_name(draw), draw.shape.as_list()), ("float64", []))
    values = [float(trial.numpy(draw)) for draw in first]
    trial.equal([float(trial.numpy(draw)) for draw in second], values)
    trial.equal(len(set(values)), len(values))
    deviation = trial.numpy(many).std()
    trial.check(0.8 < deviation < 1.2, f"the standard deviation is {deviation}, expected 1")
    trial.equal([draw.shape.as_list() for draw in empty], [[0], [0], [2, 0]])

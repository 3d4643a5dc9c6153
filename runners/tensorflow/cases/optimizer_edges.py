"""tf.keras.optimizers.experimental.Adadelta: default options, and gradients that are zero, tiny, huge or not finite."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.optimizers import expected_steps


def _stepped(trial: Trial, adadelta: Callable[..., Any], arguments: Sequence[Any], slopes: Sequence[Any]) -> list[Any]:
    """The weight, which begins with zeros, after each step of an optimizer."""
    weight = tf.Variable(trial.tensor(np.zeros(slopes[0].shape, slopes[0].dtype)))
    optimizer = adadelta(*arguments)
    optimizer.build([weight])
    found = []
    for slope in slopes:
        optimizer.apply_gradients([(trial.tensor(slope), weight)])
        found.append(tf.convert_to_tensor(weight))
    return found


def default_options(trial: Trial, arguments: Sequence[float]) -> None:
    """Rate, decay and epsilon are given in this order, and are a thousandth, 0.95 and 1e-7 if they are not given. A
    weight that begins with zero shows all digits of the steps."""
    rate, rho, epsilon = [*arguments, *(0.001, 0.95, 1e-7)[len(arguments) :]]
    slopes = [trial.random(5, 7, seed=1 + step) for step in range(3)]
    found = trial.call_inside(lambda adadelta: _stepped(trial, adadelta, arguments, slopes))
    wide = [slope.astype("float64") for slope in slopes]
    for weight, expected in zip(found, expected_steps(np.zeros(1), wide, lambda step: rate, rho, epsilon)):
        trial.close(weight, expected, 1e-4, 1e-12, dtype="float32")


def special_slopes(trial: Trial, dtype: str) -> None:
    """Zero gradients leave their weights, tiny and huge ones move them by their share, and one that is not finite
    changes no other place, in this step and the next."""
    first = np.asarray([0.0, -0.0, 1e-12, -1e-12, 1e-25, 1e12, -1e12, 1.0, -1.0, np.nan, np.inf, 0.5], dtype)
    slopes = [first, np.ones(12, dtype), trial.random(12, dtype=dtype, seed=3)]
    found = trial.call_inside(lambda adadelta: _stepped(trial, adadelta, [0.5, 0.75, 1e-3], slopes))
    wide = [slope.astype("float64") for slope in slopes]
    with np.errstate(all="ignore"):
        expected = expected_steps(np.zeros(1), wide, lambda step: 0.5, 0.75, 1e-3)
    for weight, wanted in zip(found, expected):
        trial.close(weight, wanted, 1e-4 if dtype == "float32" else 1e-6, 0.0, dtype=dtype)


def moved_weight(trial: Trial) -> None:
    """A weight that is assigned between two steps is moved from its new value, and what the optimizer keeps of the
    gradients stays."""
    start, other = trial.random(6, seed=4), trial.random(6, seed=5)
    slopes = [trial.random(6, seed=6 + step) for step in range(3)]

    def body(adadelta: Callable[..., Any]) -> Any:
        weight = tf.Variable(trial.tensor(start))
        optimizer = adadelta(0.5, 0.75, 1e-2)
        optimizer.build([weight])
        found = []
        for number, slope in enumerate(slopes):
            if number == 2:
                weight.assign(trial.tensor(other))
            optimizer.apply_gradients([(trial.tensor(slope), weight)])
            found.append(tf.convert_to_tensor(weight))
        return found

    wide = [slope.astype("float64") for slope in slopes]
    values = expected_steps(start, wide, lambda step: 0.5, 0.75, 1e-2)
    expected = [*values[:2], other + values[2] - values[1]]
    for weight, wanted in zip(trial.call_inside(body), expected):
        trial.close(weight, wanted, 1e-6, 1e-6, dtype="float32")

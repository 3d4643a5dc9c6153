"""Random draws of counts that are no multiple of a vector or a block: the last ones are drawn too."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.compare import check_dtype
from runners.core.testing.trial import Trial

_LAST = 5
_CALLS = 40


def _drawing(trial: Trial, how: str, dtype: str) -> tuple[Callable[..., Any], float, float]:
    """A function of the function under test and a count, and the mean and the deviation of its draws."""
    if how == "gamma":
        alpha = trial.tensor(np.asarray(4.0, dtype))
        return lambda draw, count: draw([count], alpha, dtype=trial.dtype(dtype)), 4.0, 2.0
    if how == "distribution":
        loc, scale = (trial.tensor(np.asarray(value, dtype)) for value in (-3.0, 0.5))
        return lambda normal, count: normal(loc, scale).sample([count]), -3.0, 0.5
    return lambda draw, count: tf.convert_to_tensor(draw([count])), 0.0, 1.0


def last(trial: Trial, how: str, counts: Sequence[int], dtype: str = "float64") -> None:
    """All draws of a call are finite and different, and the last ones of many calls have the mean and the deviation of
    the distribution."""
    draw, mean, deviation = _drawing(trial, how, dtype)
    tf.random.set_seed(trial.seed(41))
    trial.repeatable = False
    for count in counts:
        found = trial.call_inside(lambda function, count=count: [draw(function, count) for _ in range(_CALLS)])
        check_dtype(trial.dtype_name(found[0]), dtype)
        draws = np.stack(trial.numpy(found)).astype("float64")
        trial.equal(list(draws.shape), [_CALLS, count])
        trial.check(np.isfinite(draws).all() and (draws != 0).all(), f"of {count} draws some were not drawn")
        # A few draws of float32 are equal by chance.
        twice = draws.size - len(np.unique(draws))
        trial.check(twice <= (0 if dtype == "float64" else 2 + draws.size // 100), f"{twice} draws are there twice")
        end = (draws[:, -_LAST:] - mean) / deviation
        off, spread = abs(float(end.mean())), float(end.std())
        trial.check(off < 6 / np.sqrt(end.size), f"the mean of the last of {count} draws is off by {off:.3g}")
        trial.check(0.6 < spread < 1.5, f"the last of {count} draws have {spread:.3g} of their deviation")

"""Draws that are copies of others: moved, reversed, of another seed or of another dtype."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial

_COUNT = 4000
_LAGS = 40


def _check_unlike(trial: Trial, first: Any, second: Any, what: str) -> None:
    """No move of one array by a few places, forward, or backward in reverse, is like the other."""
    one, two = ((each - each.mean()) / each.std() for each in (first, second))
    allowed = 6 / np.sqrt(_COUNT - _LAGS)
    for name, other in (("", two), (" in reverse", two[::-1])):
        for lag in range(-_LAGS, _LAGS + 1):
            pair = one[max(lag, 0) : _COUNT + min(lag, 0)], other[max(-lag, 0) : _COUNT + min(-lag, 0)]
            found = abs(float(np.mean(pair[0] * pair[1])))
            trial.check(found < allowed, f"{what}{name}: correlated by {found:.3g} at {lag}, allowed {allowed:.3g}")


def unlike(trial: Trial, gamma: bool) -> None:
    """Two calls in a row, the first calls after neighboring seeds, and calls in a tf.function and outside of it, are no
    moved copies of each other; neither is any of its own parts."""
    trial.repeatable = False
    seed = trial.seed(31)
    set_seed = tf.random.set_seed if gamma else tf.experimental.numpy.random.seed
    options = {"alpha": trial.tensor(np.asarray(2.0, "float64")), "dtype": tf.float64} if gamma else {}

    def body(draw: Callable[..., Any]) -> Any:
        def once() -> Any:
            return tf.convert_to_tensor(draw([_COUNT], **options))

        set_seed(seed)
        found = [once(), once(), tf.function(once, autograph=False)()]
        set_seed(seed + 1)
        return [*found, once()]

    draws = [trial.numpy(each).astype("float64") for each in trial.call_inside(body)]
    names = ["the first call", "the second call", "the call in a function", "the call after the next seed"]
    for number, first in enumerate(draws):
        half = first[: _COUNT // 2], first[_COUNT // 2 :]
        trial.check(not np.intersect1d(*half).size, f"{names[number]} has numbers twice")
        for other in range(number):
            _check_unlike(trial, draws[other], first, f"{names[other]} and {names[number]}")

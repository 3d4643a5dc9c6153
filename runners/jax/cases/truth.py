"""jax.numpy.all, where a ``call`` test is not enough."""

from __future__ import annotations

import numpy as np

from runners.core.testing.trial import Trial


def all_special(trial: Trial) -> None:
    """NaN and infinities count as true, zeros of both signs as false; all bytes of an integer count."""
    host = np.array([[np.nan, np.inf], [-np.inf, 1e-30], [0.0, np.nan], [-0.0, 1.0]], "float32")
    trial.close(trial.call(trial.tensor(host), axis=1), [True, True, False, False], dtype="bool")
    integers = np.array([[256, 65536], [1 << 24, -(2**31)], [-1, 0]], "int32")
    trial.close(trial.call(trial.tensor(integers), axis=-1), [True, True, False], dtype="bool")


def all_last(trial: Trial, count: int, dtype: str) -> None:
    """One zero among many elements makes it false, wherever it is: the first, the last or one between."""
    host = np.ones((5, count), dtype)
    host[[1, 2, 3], [0, count - 1, count * 2 // 3]] = 0
    trial.close(trial.call(trial.tensor(host), axis=-1), [True, False, False, False, True], dtype="bool")
    trial.close(trial.call(trial.tensor(host[2]), keepdims=True), [False], dtype="bool")

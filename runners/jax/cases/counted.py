"""More elements, rows or classes than 16 or 24 bits can count, where a ``call`` test is not enough."""

from __future__ import annotations

import numpy as np

from runners.core.testing.trial import Trial

_MANY = 2**24 + 3
_ROWS = 2**16 + 3


def many_ones(trial: Trial, dtype: str) -> None:
    """Of more ones than a float32 can count one by one, and then one zero, none is lost: the sum is exact, the mean is
    almost one, and not all are true."""
    host = np.ones(_MANY, dtype)
    host[-1] = 0
    output = trial.call(trial.tensor(host))
    name = trial.function.__name__
    if name == "sum":
        trial.exact(output, _MANY - 1, "int32")
    elif name == "all":
        trial.exact(output, False, "bool")
    else:
        trial.close(output, (_MANY - 1) / _MANY, dtype="float32")


def many_kept(trial: Trial) -> None:
    """Of many rows those that the condition names are kept, also the last."""
    host, kept = trial.random(_ROWS, 2), trial.random(_ROWS, dtype="bool", seed=1)
    kept[-2:] = [False, True]
    output = trial.call(trial.tensor(kept), trial.tensor(host), axis=0)
    trial.exact(output, host[kept], "float32")


def top_k_of_nan(trial: Trial, dtype: str) -> None:
    """In each of many rows NaN is the largest, and the places of a row of NaN alone are its first ones."""
    host = trial.random(600, 5)
    host[::3, 2] = np.nan
    host[1::3] = np.nan
    moved = trial.tensor(host, dtype)
    values, places = trial.call(moved, 3)
    rows = trial.numpy(moved).astype("float64")
    order = np.argsort(np.where(np.isnan(rows), -np.inf, -rows), axis=-1, kind="stable")[:, :3]
    trial.equal(places, order)
    trial.exact(values, np.take_along_axis(rows, order, axis=-1), dtype)

"""More elements, rows or classes than 16 or 24 bits can count, where a ``call`` test is not enough."""

from __future__ import annotations

from typing import Any

import jax
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


def top_k_by_sign(trial: Trial, k: int, dtype: str) -> None:
    """Among many numbers NaN is the largest, and NaN with the sign bit the smallest, below minus infinity; a zero is
    above a negative zero."""
    host = trial.random(2, 1500, low=0.5, high=9)
    host[:, ::2] *= -1
    host[0, [7, 900, 31]] = [-np.nan, np.nan, -np.inf]
    host[1, [1, 5]] = [np.inf, -np.nan]
    host[1, 2:5] = [-0.0, 0.0, -0.0]
    moved = trial.tensor(host, dtype)
    values, places = trial.call(moved, k)
    rows = trial.numpy(moved).astype("float64")
    # Numbers in the order of their bits: of equal ones the first is first.
    key = np.where(np.isnan(rows), np.where(np.signbit(rows), -1e39, 1e39), rows.clip(-1e38, 1e38))
    key = np.where(rows == 0, np.where(np.signbit(rows), 0, 1e-30), key)
    order = np.argsort(-key, axis=-1, kind="stable")[:, :k]
    trial.equal(places, order)
    trial.exact(values, np.take_along_axis(rows, order, axis=-1), dtype)


def filled_again(trial: Trial, value: float, dtype: str = "float32") -> None:
    """In memory that had other values before, every element is written, also after an array like it was changed."""
    trial.repeatable = False  # each call is one of a row
    kept = []
    for number in range(4):
        dirty = trial.tensor(np.full((700, 300), 7 + number), dtype)
        dirty.delete()
        filled = trial.call((700, 300), trial.dtype(dtype))
        changed = _with_five_more(filled, number)
        kept.append(filled)
        trial.equal(float(trial.numpy(changed)[number, 0]), value + 5)
    for filled in kept:
        trial.exact(filled, np.full((700, 300), value), dtype)


@jax.jit
def _with_five_more(x: Any, row: Any) -> Any:
    return x.at[row].add(5)


def copied(trial: Trial, dtype: str) -> None:
    """jax.numpy.array: what is written to the NumPy array afterwards does not change the copy, nor another one."""
    before = np.asarray(trial.random(64, 33, dtype=dtype))
    # Memory that begins at a multiple of 64 bytes can be shared with the device.
    memory = np.zeros(before.nbytes + 64, "uint8")
    first = -memory.ctypes.data % 64
    host = memory[first : first + before.nbytes].view(dtype).reshape(before.shape)
    host[...] = before
    trial.repeatable = False  # the argument changes
    outputs = [trial.call(host), trial.call(host[::2]), trial.call(host.T)]
    for output in outputs:
        output.block_until_ready()
    host[...] = 1
    for output, wanted in zip(outputs, (before, before[::2], before.T)):
        trial.exact(output, wanted, dtype)

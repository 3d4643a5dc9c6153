"""torch.tensor: data that is neither a number, a list nor an array, and what it warns of."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from runners.core.testing.trial import Trial


class _Sequence:
    """Has a length and items, and is no list."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> int:
        if index >= 3:
            raise IndexError(index)
        return [7, -1, 4][index]


def tensor_of_sequences(trial: Trial) -> None:
    """Sequences of other classes give all their items in order, also within each other."""
    for data, expected in (
        (range(5), range(5)),
        (range(7, 1, -2), [7, 5, 3]),
        (_Sequence(), [7, -1, 4]),
        ([range(2), (3, 4), _Pair(5, 6)], [[0, 1], [3, 4], [5, 6]]),
        ([np.array([1, 2]), [3, 4]], [[1, 2], [3, 4]]),
        ([np.int64(3), 4], [3, 4]),
    ):
        trial.close(trial.call(data, device=trial.device), np.array(expected), rtol=0, atol=0, dtype="int64")


class _Pair(tuple):
    def __new__(cls, *items: int) -> Any:
        return super().__new__(cls, items)


def tensor_warns(trial: Trial) -> None:
    """A tensor as data is copied, with a warning that names the better way; other data gives none."""
    given = trial.tensor(trial.random(3))
    for data, count in ((given, 1), ([1.5, 2.0], 0), (np.ones(2), 0), (3, 0)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            trial.call(data, device=trial.device)
        found = [each for each in caught if issubclass(each.category, UserWarning) and "clone" in str(each.message)]
        trial.equal(len(found), count)


def tensor_truncates(trial: Trial, dtype: str) -> None:
    """Arrays and tensors of fractions lose them in an integer dtype, towards zero, in any layout."""
    values = np.array([[-1.5, 2.5, -0.875], [0.75, -100.25, 99.75], [-0.0, -2.0, -7.0625], [-1.0, 3.0, 0.5]])
    if dtype == "uint8":
        values = abs(values)
    for source in ("float16", "float32", "float64"):
        array = values.astype(source)
        for data in (array, array.T, array[1::2, ::2], array[1:2, 1].reshape(()), array[:0]):
            output = trial.call(data, dtype=trial.dtype(dtype), device=trial.device)
            trial.exact(output, np.trunc(data.astype("float64")), dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            output = trial.call(trial.tensor(array, source), dtype=trial.dtype(dtype), device=trial.device)
        trial.exact(output, np.trunc(values), dtype)


def tensor_refuses_reversed(trial: Trial) -> None:
    """An array with a negative stride raises an error that says so; its copy does not."""
    values = trial.random(3, 4, dtype="float64")
    for reversed_array in (values[::-1], values[:, ::-1], values[::-1, ::-2]):
        trial.raises(["ValueError"], "negative", reversed_array, device=trial.device)
        trial.exact(trial.call(reversed_array.copy(), device=trial.device), reversed_array, "float64")


def tensor_refuses_beyond(trial: Trial) -> None:
    """An integer beyond 64 bits raises an error, alone and in a list; the ends of the range do not."""
    kinds = ["RuntimeError", "ValueError", "OverflowError"]
    for number in (2**63, -(2**63) - 1, 2**70):
        for data in (number, [1, number], [[number], [0]]):
            trial.raises(kinds, "overflow", data, device=trial.device)
    ends = [2**63 - 1, -(2**63)]
    trial.exact(trial.call(ends, device=trial.device), np.array(ends), "int64")

"""Reductions whose output one element decides, wherever it is: a zero, the largest, or one too few."""

from __future__ import annotations

import numpy as np

from runners.core.testing import references
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


def all_last_row(trial: Trial, count: int) -> None:
    """Of many rows, one zero in the first, the last or one between makes its column false."""
    host = np.ones((count, 5), "int32")
    host[[0, count - 1, count * 2 // 3], [1, 2, 3]] = 0
    trial.close(trial.call(trial.tensor(host), axis=0), [True, False, False, False, True], dtype="bool")


def max_last(trial: Trial, count: int, dtype: str) -> None:
    """The largest of many elements is found wherever it is: the first, the last or one between, along each axis."""
    host = np.asarray(trial.random(3, count, dtype=dtype, low=-9, high=9))
    host[[0, 1, 2], [0, count - 1, count * 2 // 3]] = [50, 60, 70]
    moved, turned = trial.tensor(host, dtype), trial.tensor(host.T, dtype)
    for output in (trial.call(moved, axis=1), trial.call(turned, axis=0)):
        trial.close(output, [50, 60, 70], dtype=dtype)
    trial.close(trial.call(moved[:2]), 60, dtype=dtype)


def ends_counted(trial: Trial, reference: str, count: int, dtype: str = "float32", others: float = 0) -> None:
    """The first and the last of many elements count, along each axis and over both: all others are zero or one.

    ``reference``: the name of a function of NumPy that takes an axis.
    """
    host = np.full((3, count), others, "float32")
    host[[0, 1, 2], [0, count - 1, count * 2 // 3]] = [2, 4, 8]
    reduced = references.find("numpy", reference)
    for values, axis in ((host, 1), (host.T, 0), (host[1:2], None)):
        output = trial.call(trial.tensor(values, dtype), axis=axis)
        allowed = 2e-3 if dtype == "float16" else 3e-6
        trial.close(output, reduced(values.astype("float64"), axis=axis), rtol=allowed, atol=0, dtype=dtype)


def variance_without_freedom(trial: Trial) -> None:
    """A variance of as many numbers as ddof takes away is not finite; of one number more it is. So along an axis, and
    where only so many numbers are chosen."""
    host = trial.random(2, 3)
    x = trial.tensor(host)
    chosen = trial.tensor(np.array([[True, True, False], [True, True, True]]))
    for options, finite in (({"ddof": 3}, [False, False]), ({"ddof": 2, "where": chosen}, [False, True])):
        output = trial.numpy(trial.call(x, axis=1, **options))
        trial.equal(np.isfinite(output).tolist(), finite)
    trial.close(trial.call(x, axis=1, ddof=2), 3 * host.astype("float64").var(axis=1), dtype="float32")


def all_of_imaginary(trial: Trial) -> None:
    """A complex number whose real part is zero is true if its imaginary part is not."""
    trial.exact(trial.call(trial.tensor(np.array([2j, -0.5j], "complex64"))), np.array(True), "bool")


def all_of_complex(trial: Trial) -> None:
    """A complex number is true if its real part is not zero, also a tiny one or NaN, whatever the other part is; zeros
    of both signs are false."""
    reals, imaginaries = [1.0, 1e-30, -0.5, np.nan, np.inf], [1.0, -1e-30, np.nan, -np.inf, 0.0, -0.0]
    numbers = [complex(real, imaginary) for real in reals for imaginary in imaginaries]
    numbers += [complex(real, imaginary) for real in (0.0, -0.0) for imaginary in (0.0, -0.0)]
    rows = np.array([[number, 1] for number in numbers], "complex64")
    for axis in (1, -1):
        trial.exact(trial.call(trial.tensor(rows), axis), rows.all(axis=1), "bool")
    for number in numbers[::5]:
        trial.exact(trial.call(trial.tensor(np.array(number, "complex64"))), np.array(number != 0), "bool")

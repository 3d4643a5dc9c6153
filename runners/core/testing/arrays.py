"""Host arrays for tests: random values that never change, and the wider dtype that references compute in."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

CARRIERS = {"bfloat16": "float32"}
"""NumPy lacks these dtypes. The values are made in the next wider one and rounded by the framework."""


def random(shape: Sequence[int], dtype: str, seed: int, low: float | None = None, high: float | None = None) -> Any:
    """A random host array of a shape, from numpy.random.RandomState, whose stream never changes.

    Uniform in [low, high) where both are given; else standard normal for floating and complex dtypes, 0 to 9 for
    integers, 0 or 1 with equal probability for bool. The parts of complex numbers are independent. bfloat16 is
    returned as float32.
    """
    state = np.random.RandomState(seed)
    kind = np.dtype(CARRIERS.get(dtype, dtype)).kind
    if kind == "b":
        array = state.randint(0, 2, shape)
    elif kind in "iu":
        array = state.randint(0 if low is None else int(low), 10 if high is None else int(high), shape)
    else:

        def part() -> Any:
            return state.standard_normal(shape) if low is None or high is None else state.uniform(low, high, shape)

        array = part() + 1j * part() if kind == "c" else part()
    return np.asarray(array).astype(CARRIERS.get(dtype, dtype))


def widened(array: Any) -> Any:
    """Floating arrays as float64, complex ones as complex128, so that a reference is more precise than the output that
    it checks; other arrays as they are."""
    array = np.asarray(array)
    return array.astype({"f": np.float64, "c": np.complex128}.get(array.dtype.kind, array.dtype))

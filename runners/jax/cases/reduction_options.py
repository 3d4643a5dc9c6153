"""Options of reductions in all kinds and together: initial, where, dtype and keepdims of jax.numpy.max, prod, mean and
all. The reference is NumPy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial

_AXES: tuple[Any, ...] = (0, -1, None, (0, 1), (-1, 0), ())


def starts(trial: Trial, of: str) -> None:
    """The first value may be a plain number, a NumPy scalar or an array of the device without axes, also NaN. It counts
    once, beside each axis and keepdims, and with a condition too. The output keeps the array's dtype."""
    exact = getattr(np, of)
    host = trial.random(3, 4, low=0.5, high=1.5)
    moved = trial.tensor(host)
    condition = trial.random(3, 4, dtype="bool", seed=1)
    chosen = trial.tensor(condition)
    trial.repeatable = False  # each call is one of a row
    for number in (1.25, -2.0, 7.0, float("nan"), float("inf")):
        for start in (number, np.float32(number), trial.tensor(np.array(number, "float32"))):
            for axis in _AXES:
                for keepdims in (False, True):
                    options = {"axis": axis, "keepdims": keepdims}
                    output = trial.call(moved, initial=start, **options)
                    expected = exact(widened(host), initial=number, **options)
                    trial.close(output, expected, rtol=3e-6, dtype="float32")
            for axis in (0, None):
                output = trial.call(moved, axis, initial=start, where=chosen)
                expected = exact(widened(host), axis=axis, initial=number, where=condition)
                trial.close(output, expected, rtol=3e-6, dtype="float32")
    integers = trial.tensor(np.array([[1, 2], [3, -4]], "int32"))
    for start in (3, np.int8(3), trial.tensor(np.array(3, "int32"))):
        trial.exact(trial.call(integers, 1, initial=start), [3, 3] if of == "max" else [6, -36], "int32")
    trial.raises(["ValueError"], "scalar", moved, 0, initial=trial.tensor(np.ones(4, "float32")))


def conditions(trial: Trial, of: str) -> None:
    """A condition may be a plain bool, or an array of NumPy or the device, of fewer axes or of length one; keepdims may
    be 1 or 0. Without axes the array stays without axes. A plain number is an array without axes."""
    exact = getattr(np, of)
    host = trial.random(3, 4, low=0.5, high=1.5)
    more = {"initial": -1.0} if of == "max" else {}
    row, column = np.array([True, False, True, True]), np.array([[True], [False], [True]])
    moved = trial.tensor(host)
    if of == "all":
        host = trial.random(3, 4, dtype="bool")
        moved = trial.tensor(host)
    trial.repeatable = False  # each call is one of a row
    dtype = "bool" if of == "all" else "float32"
    both: list[Any] = [row, column, row & column, True, np.bool_(True)]
    for condition in both + ([False] if of != "mean" else []):
        kinds = [condition] if np.ndim(condition) == 0 else [condition, trial.tensor(condition)]
        for given in kinds:
            for axis in (0, None) if np.shape(condition) != (3, 1) else (0, None, (0, 1)):
                for keepdims in (0, 1, True):
                    output = trial.call(moved, axis, where=given, keepdims=keepdims, **more)
                    options = {"axis": axis, "keepdims": bool(keepdims), "where": condition, **more}
                    values = host if of == "all" else widened(host)
                    trial.close(output, exact(values, **options), rtol=3e-6, dtype=dtype)
    for keepdims in (0, 1):
        output = trial.call(moved, 1, keepdims=keepdims)
        values = host if of == "all" else widened(host)
        trial.close(output, exact(values, axis=1, keepdims=bool(keepdims)), rtol=3e-6, dtype=dtype)
        for number in (2.5, trial.tensor(np.array(2.5, "float32"))):
            output = trial.call(number, keepdims=keepdims)
            trial.close(output, np.array(True if of == "all" else 2.5), dtype=dtype)


def result_types(trial: Trial, of: str) -> None:
    """The output has the dtype that is asked for, by a name, a type of NumPy or Python, beside each axis, keepdims and
    a condition; integers are counted in it."""
    exact = getattr(np, of)
    condition = trial.random(3, 4, dtype="bool", seed=1)
    trial.repeatable = False  # each call is one of a row
    kinds = (
        (float, "float32"),
        (complex, "complex64"),
        ("complex64", "complex64"),
        ("bfloat16", "bfloat16"),
        (np.float16, "float16"),
    )
    for source in ("float32", "int32"):
        host = trial.random(3, 4, dtype=source, low=1, high=3)
        moved = trial.tensor(host)
        for kind, dtype in kinds:
            for axis in (0, None):
                for options in ({}, {"keepdims": True}, {"where": condition}):
                    output = trial.call(moved, axis, dtype=kind, **options)
                    with np.errstate(all="ignore"):
                        expected = exact(host.astype("float64"), axis=axis, **options)
                    rtol = {"bfloat16": 4e-2, "float16": 4e-3}.get(dtype, 5e-6)
                    trial.close(output, expected, rtol=rtol, dtype=dtype)

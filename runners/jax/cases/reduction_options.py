"""Options of reductions in all kinds and together: initial, where, dtype and keepdims of jax.numpy.max, prod, mean and
all. The reference is NumPy in float64."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable

import jax
import numpy as np

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial

_AXES: tuple[Any, ...] = (0, -1, None, (0, 1), (-1, 0), ())
_RTOL = {"bfloat16": 4e-2, "float16": 4e-3}


def starts(trial: Trial, of: str) -> None:
    """The first value may be a plain number, a NumPy scalar or an array of the device without axes, also NaN. It counts
    once, with a condition too, and in a compiled function beside each axis and keepdims. The output keeps the array's
    dtype."""
    exact = getattr(np, of)
    host = trial.random(3, 4, low=0.5, high=1.5)
    moved = trial.tensor(host)
    condition = trial.random(3, 4, dtype="bool", seed=1)
    chosen = trial.tensor(condition)
    trial.repeatable = False  # each call is one of a row
    options: list[dict[str, Any]] = [
        {"axis": axis, "keepdims": keepdims} for axis in _AXES for keepdims in (False, True)
    ]
    options += [{"axis": axis, "where": condition} for axis in (0, None)]
    compiled = _compiled(lambda function, x, start: [function(x, initial=start, **each) for each in options])
    trial.has_random_inputs = False  # other values would compile the same program again
    numbers = (1.25, -2.0, 7.0, float("nan"), float("inf"))
    arrays = [trial.tensor(np.array(number, "float32")) for number in numbers]
    found = trial.call_inside(lambda function, *arrays: [compiled(function, moved, start) for start in arrays], *arrays)
    for number, first, outputs in zip(numbers, arrays, found):
        for output, each in zip(outputs, options):
            trial.close(output, exact(widened(host), initial=number, **each), rtol=3e-6, dtype="float32")
        for start in (number, np.float32(number), first):
            output = trial.call(moved, 0, initial=start)
            trial.close(output, exact(widened(host), 0, initial=number), rtol=3e-6, dtype="float32")
            output = trial.call(moved, initial=start, where=chosen, keepdims=True)
            expected = exact(widened(host), initial=number, where=condition, keepdims=True)
            trial.close(output, expected, rtol=3e-6, dtype="float32")
    integers = trial.tensor(np.array([[1, 2], [3, -4]], "int32"))
    for start in (3, np.int8(3), trial.tensor(np.array(3, "int32"))):
        trial.exact(trial.call(integers, 1, initial=start), [3, 3] if of == "max" else [6, -36], "int32")
    trial.raises(["ValueError"], "scalar", moved, 0, initial=trial.tensor(np.ones(4, "float32")))


def conditions(trial: Trial, of: str) -> None:
    """A condition may be a plain bool, or an array of NumPy or the device, of fewer axes or of length one; keepdims may
    be 1 or 0. In a compiled function each condition is beside each axis and keepdims. Without axes the array stays
    without axes. A plain number is an array without axes."""
    exact = getattr(np, of)
    host = trial.random(3, 4, low=0.5, high=1.5)
    more = {"initial": -1.0} if of == "max" else {}
    row, column = np.array([True, False, True, True]), np.array([[True], [False], [True]])
    if of == "all":
        host = trial.random(3, 4, dtype="bool")
    moved = trial.tensor(host)
    values = host if of == "all" else widened(host)
    trial.repeatable = False  # each call is one of a row
    dtype = "bool" if of == "all" else "float32"

    def check(output: Any, **options: Any) -> None:
        trial.close(output, exact(values, **options), rtol=3e-6, dtype=dtype)

    places = [(axis, keepdims) for axis in (0, None, (0, 1)) for keepdims in (0, True)]
    compiled = _compiled(
        lambda function, x, *wheres: [
            [function(x, axis, where=where, keepdims=kept, **more) for axis, kept in places] for where in wheres
        ]
    )
    trial.has_random_inputs = False  # other values would compile the same program again
    arrays = (row, column, row & column)
    for condition, outputs in zip(arrays, trial.call_inside(compiled, moved, *map(trial.tensor, arrays))):
        for output, (axis, kept) in zip(outputs, places):
            check(output, axis=axis, keepdims=bool(kept), where=condition, **more)
    both: list[Any] = [*arrays, True, np.bool_(True)]
    for condition in both + ([False] if of != "mean" else []):
        kinds = [condition] if np.ndim(condition) == 0 else [condition, trial.tensor(condition)]
        for given in kinds:
            for keepdims in (1, True):
                output = trial.call(moved, 0, where=given, keepdims=keepdims, **more)
                check(output, axis=0, keepdims=True, where=condition, **more)
    for keepdims in (0, 1):
        check(trial.call(moved, 1, keepdims=keepdims), axis=1, keepdims=bool(keepdims))
        number = (2.5, trial.tensor(np.array(2.5, "float32")))[keepdims]
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
    hosts = [trial.random(3, 4, dtype=source, low=1, high=3) for source in ("float32", "int32")]
    beside: list[dict[str, Any]] = [
        {"axis": 0},
        {"axis": None, "keepdims": True},
        {"axis": None, "where": condition},
        {"axis": 0, "where": condition},
    ]
    choices = [(number, kind, dtype, options) for number in (0, 1) for kind, dtype in kinds for options in beside]
    compiled = _compiled(
        lambda function, *arrays: [
            function(arrays[number], dtype=kind, **options) for number, kind, _, options in choices
        ]
    )
    trial.has_random_inputs = False  # other values would compile the same program again
    outputs = trial.call_inside(compiled, *map(trial.tensor, hosts))
    for output, (number, _, dtype, options) in zip(outputs, choices):
        with np.errstate(all="ignore"):
            expected = exact(hosts[number].astype("float64"), **options)
        trial.close(output, expected, rtol=_RTOL.get(dtype, 5e-6), dtype=dtype)
    for kind, dtype in kinds[1:4:2]:
        output = trial.call(trial.tensor(hosts[0]), 0, dtype=kind)
        trial.close(output, exact(widened(hosts[0]), axis=0), rtol=_RTOL.get(dtype, 5e-6), dtype=dtype)


def _compiled(body: Callable[..., Any]) -> Callable[..., Any]:
    """Return the body, compiled once for each function, so that all of its outputs are those of one program."""

    @lru_cache(maxsize=1)
    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        return jax.jit(lambda *arrays: body(function, *arrays))

    return lambda function, *arrays: made(function)(*arrays)

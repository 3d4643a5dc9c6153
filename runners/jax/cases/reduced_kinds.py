"""Reductions with axes, keepdims, types and conditions of every kind: jax.numpy.max, prod, mean and all. Shapes and
types are seen in a trace, which compiles nothing; the reference of the values is NumPy in float64."""

from __future__ import annotations

from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial

_COUNTED = {"bool": "int32", "int8": "int32", "int16": "int32", "uint8": "uint32", "uint16": "uint32"}
_TYPES = ("float32", "float16", "bfloat16", "complex64", "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32")


def shapes_and_types(trial: Trial, of: str) -> None:
    """Some of four axes, from either end and in any order, given as numbers of Python or NumPy or an array, go or stay
    with length one, whatever kind of true keepdims is. Of each type the output has the function's type."""
    device = trial.tensor(np.array(-2, "int32"))
    axes: list[Any] = [np.int64(-1), np.uint8(2), np.array(1), device, (np.int8(-4), 2), (2, -3, 0), (-1, -2, 1, 0), ()]
    axes += [(0, 2), (-1, 0), (3, 1, 2), None, -4]
    calls: list[Any] = []
    for number, axis in enumerate(axes):
        host = np.zeros((2, 3, 4, 5), jnp.dtype(_TYPES[number % len(_TYPES)]))
        calls.append(
            (host, {"axis": axis, "keepdims": (True, np.bool_(True), 1, False, 0, np.bool_(False))[number % 6]})
        )
    more = {"initial": 1} if of == "max" else {}
    row, none = np.ones(5, bool), np.array(True)
    for shape, options in (
        ((), {"keepdims": True}),
        ((1, 1, 1), {}),
        ((2, 5), {"axis": 1, "keepdims": np.bool_(True)}),
        ((1, 1, 1), {"keepdims": np.bool_(True)}),
        ((0, 5), {"axis": 1, "where": row, **more}),
        ((2, 5), {"axis": (), "where": none, **more}),
        ((2, 5), {"axis": 0, "where": row, "keepdims": 1, **more}),
    ):
        calls.append((np.zeros(shape, "float32"), options))
    for source in ("bool", "int8", "uint16") if of == "prod" else ():
        calls.append((np.zeros((2, 5), source), {"axis": -1, "promote_integers": False}))
    kinds: Any = {
        "prod": (complex, jnp.bfloat16, "float16", np.int8, bool),
        "mean": (complex, jnp.bfloat16, "float16"),
    }.get(of, ())
    for number, kind in enumerate(kinds):
        source = jnp.dtype(("float32", "float16", "bfloat16", "int8", "uint8")[number])
        calls.append((np.zeros((2, 5), source), {"axis": 0, "dtype": kind, "where": row, "keepdims": number % 2}))
    if of == "mean":
        calls.append((np.zeros((2, 5), bool), {"axis": 0, "where": row}))
    plain = (3, True, 2.5)
    found: list[Any] = []

    def body(function: Callable[..., Any]) -> Any:
        def program(arrays: Any) -> None:
            for array, (_, options) in zip(arrays, calls):
                output = function(array, **options)
                found.append((output.shape, str(output.dtype), bool(output.aval.weak_type)))
            found.extend((function(number).shape, str(function(number).dtype)) for number in plain)

        jax.eval_shape(program, [host for host, _ in calls])
        return found

    trial.call_inside(body)
    for given, output in zip(plain, found[len(calls) :]):
        trial.equal(output, ((), _dtype(of, {int: "int32", bool: "bool", float: "float32"}[type(given)], {})))
    for output, (host, options) in zip(found, calls):
        axis = options.get("axis")
        axis = tuple(map(int, axis)) if isinstance(axis, tuple) else axis if axis is None else int(axis)
        shape = np.sum(np.zeros(host.shape), axis=axis, keepdims=bool(options.get("keepdims", False))).shape
        trial.equal(output, (shape, _dtype(of, host.dtype.name, options), False))


def hidden(trial: Trial, of: str) -> None:
    """A condition has each order of memory, lies below the last axis, or has no axes, as a constant of NumPy or an
    input of one program; another one of the same shape has its own output. Without axes each element has its own."""
    exact = getattr(np, of)
    host = trial.random(3, 3, low=0.5, high=1.5)
    if of == "all":
        host = np.array([[True, False, True], [True, True, False], [False, True, True]])
    full = np.array([[True, False, True], [True, True, False], [False, False, True]])
    more = {"initial": 0.75} if of in ("max", "prod") else {}
    constants = (np.asfortranarray(full), full[1], np.array(False))
    inputs = (full.T, full[0], np.array(of == "mean"))

    def body(function: Callable[..., Any], x: Any, *conditions: Any) -> Any:
        def program(x: Any, *conditions: Any) -> Any:
            every = [function(x, 1, where=where, **more) for where in (*constants, *conditions)]
            plain = function(x, 1, where=False, **more)
            return [*every, plain, function(x, (), where=constants[0], **more)]

        return jax.jit(program)(x, *conditions)

    trial.has_random_inputs = False  # other values would compile the same program again
    outputs = trial.call_inside(body, trial.tensor(host), *map(trial.tensor, inputs))
    values = host if of == "all" else widened(host)
    for number, (output, condition) in enumerate(zip(outputs, (*constants, *inputs, np.array(False), full))):
        spread, axis = np.broadcast_to(condition, (3, 3)), 1 if number < 7 else ()
        with np.errstate(all="ignore"):
            if of == "mean":
                expected = np.where(spread, values, 0).sum(axis=axis) / spread.sum(axis=axis)
            else:
                expected = exact(values, axis=axis, where=spread, **more)
        trial.close(output, expected, rtol=3e-6, dtype="bool" if of == "all" else "float32")


def little(trial: Trial, of: str) -> None:
    """The first value counts for an array without axes, may be a large integer and keeps its digits, and may be a bool
    for an array of bool, which stays one for the largest."""
    trial.repeatable = False  # each call is one of a row
    exact = getattr(np, of)
    for number in (2.5, -1.5):
        output = trial.call(np.array(2.0, "float32"), initial=number)
        trial.exact(output, exact([2.0, number]), "float32")
    integers = trial.tensor(np.array([1, 1], "int32"))
    trial.exact(trial.call(integers, initial=2**24 + 1), np.array(2**24 + 1), "int32")
    flag = of == "prod"
    flags = trial.tensor(np.array([flag, flag]))
    for first in (True, False):
        output = trial.call(flags, initial=first)
        trial.exact(output, exact([flag, flag, first]), "bool" if of == "max" else "int32")


def _dtype(of: str, source: str, options: Any) -> str:
    if options.get("dtype") is not None:
        return str(jax.dtypes.canonicalize_dtype(options["dtype"]))
    if of == "all":
        return "bool"
    if of == "mean":
        return source if source.startswith(("float", "bfloat", "complex")) else "float32"
    counted = of == "prod" and (source == "bool" or options.get("promote_integers", True))
    return _COUNTED.get(source, source) if counted else source

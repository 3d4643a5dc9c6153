"""Shapes, dtypes and arrays given in all the ways that a function takes them: jax.numpy.zeros, ones, reshape, size and
isscalar."""

from __future__ import annotations

from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.trial import Trial

_DTYPES = {
    "bool": bool,
    "int32": int,
    "float32": float,
    "complex64": complex,
    "int16": np.int16,
    "uint8": np.dtype("uint8"),
    "bfloat16": jnp.bfloat16,
    "float16": "f2",
    "int8": "i1",
}


def filled(trial: Trial, value: float) -> None:
    """A shape may be a number or a row of numbers of any kind, and a dtype a type of Python, NumPy or JAX, or a name.
    The array is one of JAX and has no weak type."""
    trial.repeatable = False  # each call is one of a row
    shapes: list[Any] = [np.array([2, 3]), np.array([2, 3], "uint8"), range(2, 4), [np.int8(2), 3], (2, np.uint64(3))]
    shapes.append(trial.tensor(np.array([2, 3], "int32")))
    numbers: list[Any] = [np.int32(6), np.uint8(6), np.int64(6), np.array(6), trial.tensor(np.array(6, "int32")), (6,)]
    for given, shape in [(given, (2, 3)) for given in shapes] + [(given, (6,)) for given in numbers]:
        _check_filled(trial, trial.call(given), np.full(shape, value), "float32")
    for given in ((), [], np.array([], "int32")):
        _check_filled(trial, trial.call(given), np.array(value), "float32")
    for name, dtype in _DTYPES.items():
        for output in (trial.call((2, 3), dtype), trial.call(shape=[2, 3], dtype=dtype)):
            _check_filled(trial, output, np.full((2, 3), value), name)
    trial.raises(["TypeError"], "sequence", (length for length in (2, 3)))


def reshaped(trial: Trial, dtype: str) -> None:
    """A new shape may be a row of numbers of any kind, with one -1; the elements keep their order, and with ``F`` that
    of columns, also for many axes and for none. Of float32 all shapes are tried, of other dtypes four."""
    trial.repeatable = False  # each call is one of a row
    rows = (
        ((2, 3, 2, 1, 2), (3, -1, 2), (3, 4, 2)),
        ((6,), -1, (6,)),
        ((0, 4), (3, -1), (3, 0)),
        ((), (1, -1), (1, 1)),
        ((4, 6), (2, 3, 1, 2, 2), (2, 3, 1, 2, 2)),
        ((2, 1, 3, 2, 2), (-1, 2, 2, 1, 3), (2, 2, 2, 1, 3)),
        ((2, 0, 3), (-1,), (0,)),
        ((1, 1, 1), (), ()),
        ((3, 2), 6, (6,)),
    )
    for old, new, whole in rows if dtype == "float32" else rows[:4]:
        moved = trial.tensor(trial.random(*old, dtype=dtype), dtype)
        host = trial.numpy(moved)
        shapes = [new] if isinstance(new, int) else [new, list(new), np.array(new, "int64"), tuple(map(np.int32, new))]
        for shape in shapes:
            trial.exact(trial.call(moved, shape), np.reshape(host, whole), dtype)
            for order in ("C", "F"):
                output = trial.call(moved, shape, order=order)
                trial.exact(output, np.reshape(host, whole, order=order), dtype)


def reshaped_of_host(trial: Trial) -> None:
    """A NumPy array of 64 bits keeps its values; a plain number and a weakly typed array keep their weak type, and
    another array has none."""
    trial.repeatable = False  # each call is one of a row
    for dtype in ("int64", "int32", "uint16", "float32", "bool"):
        host = trial.random(4, 6, dtype=dtype)
        if dtype == "int64":
            host = host + 2**24 + 1  # would lose digits as float32
        for order in ("C", "F"):
            output = np.asarray(trial.call(host, (3, -1), order))
            trial.equal(output.dtype.kind, host.dtype.kind)
            trial.equal(output.astype(dtype), np.reshape(host, (3, 8), order=order))
    weak, strong = jnp.asarray(2.5), trial.tensor(np.array(2.5, "float32"))
    for number, kept in ((2.5, True), (weak, True), (strong, False)):
        output = trial.call(number, (1, 1))
        trial.exact(output, [[2.5]], "float32")
        trial.equal(bool(output.weak_type), kept)


def size_of_rows(trial: Trial) -> None:
    """In a mapped function the size is that of one row, also under two mapped axes, in a gradient and in a loop. An
    axis may be a number of any kind, and a list counts as the array that it describes."""
    seen: list[Any] = []
    trial.repeatable = False  # each call is one of a row

    def body(size: Callable[..., Any], x: Any) -> Any:
        def noted(row: Any) -> Any:
            seen.append((size(row), size(row, 0), size(row, axis=-1)))
            return row.sum()

        jax.vmap(noted)(x)
        jax.vmap(jax.vmap(noted), in_axes=2)(x)
        jax.vmap(jax.grad(noted))(x)
        return jax.lax.map(noted, x)

    trial.call_inside(body, trial.tensor(trial.random(4, 3, 2)))
    trial.equal(seen[:3], [(6, 3, 2), (3, 3, 3), (6, 3, 2)])
    trial.equal(set(seen[3:]), {(6, 3, 2)})
    x = trial.tensor(trial.random(2, 0, 5))
    for kind in (np.int8, np.uint8, np.int64):
        for axis, length in enumerate((2, 0, 5)):
            trial.equal(trial.call(x, kind(axis)), length)
    trial.equal([trial.call(x, axis=np.int32(-1)), trial.call(x, np.int64(-3))], [5, 2])


def zero_axes_alike(trial: Trial) -> None:
    """jax.numpy.isscalar: an array without axes of NumPy and one of the device have the same answer, of each dtype; the
    answer is a plain bool. (The versions of JAX differ in which answer.)"""
    for dtype in ("float32", "int32", "bool", "complex64", "uint8"):
        host = np.ones((), dtype)
        answers = [trial.call(host), trial.call(trial.tensor(host))]
        trial.equal([type(answer) for answer in answers], [bool, bool])
        trial.equal(answers[0], answers[1])
        for value, scalar in ((host[()], True), (host.item(), True), (host.reshape(1), False), ([host], False)):
            trial.equal(trial.call(value), scalar)


def _check_filled(trial: Trial, output: Any, expected: Any, dtype: str) -> None:
    trial.check(isinstance(output, jax.Array), f"expected an array of JAX, got {type(output).__name__}")
    trial.equal(bool(output.weak_type), False)
    trial.close(output, expected, rtol=0, atol=0, dtype=dtype)

"""Functions that return no array (sizes, booleans), and functions of indices: triangles, delete, compress,
split."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.trial import Trial


def size_of_array(trial: Trial, shape: Sequence[int], axis: int | None = None, dtype: str = "float32") -> None:
    """The output is the number of elements, or of those along an axis, as a plain int."""
    tensor = trial.tensor(trial.random(*shape, dtype=dtype), dtype)
    output = trial.call(tensor) if axis is None else trial.call(tensor, axis=axis)
    trial.check(type(output) is int, f"expected an int, got {type(output).__name__}")
    trial.equal(output, int(np.prod(shape)) if axis is None else shape[axis])


def size_of_host(trial: Trial, kind: str) -> None:
    """A number has size one; a NumPy array has the size of its shape."""
    value, expected = {
        "int": (7, 1),
        "complex": (2 + 1j, 1),
        "numpy-number": (np.float32(2), 1),
        "numpy": (np.zeros((5, 3, 2)), 30),
    }[kind]
    output = trial.call(value)
    trial.check(type(output) is int, f"expected an int, got {type(output).__name__}")
    trial.equal(output, expected)


def size_compiled(trial: Trial) -> None:
    """In a compiled function the size of a traced array is known: it can be another array's length."""

    @lru_cache(maxsize=1)
    def made(size: Callable[..., Any]) -> Callable[..., Any]:
        return jax.jit(lambda x: jnp.arange(size(x)) + 10 * size(x, 0) + 100 * size(x, -1))

    output = trial.call_inside(lambda size, x: made(size)(x), trial.tensor(trial.random(3, 4)))
    trial.close(output, np.arange(12) + 430, dtype="int32")


def is_scalar(trial: Trial, kind: str) -> None:
    """Plain and NumPy numbers and texts are scalars; containers, None and arrays with axes are not."""
    values = {
        "numbers": [3, 0, False, 2.5, 1 + 2j, np.float32(1.5), np.int8(-2), np.bool_(True), np.complex64(1j)],
        "texts": ["jax", "", b"jax"],
        "other-numbers": [
            *(np.dtype(dtype).type(1.5) for dtype in (jnp.bfloat16, jnp.float8_e4m3fn, "longdouble", "complex128")),
            *(Fraction(1, 3), Decimal("1.5"), np.uint64(2**64 - 1), np.float64("nan"), 10**400),
        ],
        "of-own-classes": [
            *(_Whole(3), _Fraction(2.5), np.str_("a"), np.bytes_(b"a"), np.void(b"a")),
            *(np.datetime64("2020-01-01"), np.timedelta64(3, "s")),
        ],
        "other-objects": [
            *((), set(), frozenset((1,)), range(3), iter([1]), bytearray(b"a"), slice(3), object(), Ellipsis),
            *(len, lambda: 1, np.dtype("float32"), np.float32, date(2020, 1, 1), jax.ShapeDtypeStruct((1,), np.int8)),
            *(np.zeros((1, 1)), np.zeros((0, 2)), np.array(["a"]), jnp.zeros((1, 1)), jnp.zeros(0), jnp.ones(1)),
        ],
        "containers": [[3], [], (2.5,), {"a": 1}, None, np.ones(1), np.ones((1, 1)), np.zeros(0), jnp, int],
    }[kind]
    for value in values:
        output = trial.call(value)
        trial.check(output is (kind not in ("containers", "other-objects")), f"got {output!r} for {value!r}")


class _Whole(int):
    pass


class _Fraction(float):
    pass


def is_scalar_array(trial: Trial, shape: Sequence[int], dtype: str, expected: bool) -> None:
    """An array is not a scalar; in the paper's version not even one without axes."""
    output = trial.call(trial.tensor(trial.random(*shape, dtype=dtype), dtype))
    trial.check(output is expected, f"expected {expected}, got {output!r}")


def is_scalar_of_number(trial: Trial) -> None:
    """A weakly typed array made from a plain number is a scalar, so is an object that stands for one. An object that
    stands for an array with axes is none. The argument can be given by name."""
    scalar, row = jnp.asarray(2.0), jnp.asarray([2.0])

    class StandsFor:
        def __init__(self, array: Any) -> None:
            self.array = array

        def __jax_array__(self) -> Any:
            return self.array

    array, values = np.zeros(3), iter([1, 2])
    trial.equal((trial.call(array), array.flags.writeable, trial.call(values), next(values)), (False, True, False, 1))
    for value, expected in ((scalar, True), (StandsFor(scalar), True), (StandsFor(row), False), (row, False)):
        for output in (trial.call(value), trial.call(element=value)):
            trial.check(output is expected, f"expected {expected}, got {output!r}")


def is_scalar_traced(trial: Trial) -> None:
    """In a compiled function a traced array with axes is not a scalar; a constant and a traced number are."""
    seen: list[Any] = []

    def body(isscalar: Callable[..., Any], x: Any) -> Any:
        def traced(x: Any, number: Any) -> Any:
            seen[:] = [isscalar(x), isscalar(2.5), isscalar(number)]
            return x * (2 if isscalar(x) else 3)

        return jax.jit(traced)(x, 2)

    host = trial.random(8, dtype="int32")
    output = trial.call_inside(body, trial.tensor(host))
    trial.close(output, 3 * host, dtype="int32")
    trial.equal(seen, [False, True, True])


def delete_slice(trial: Trial, start: int | None, stop: int | None, step: int | None, axis: int = 0) -> None:
    """All rows except those of a slice remain in their order, for slices from either end and in either direction."""
    host = trial.random(7, 6, dtype="int32", low=-99, high=99)
    gone = slice(start, stop, step)
    output = trial.call(trial.tensor(host), gone, axis=axis)
    kept = [index for index in range(host.shape[axis]) if index not in range(host.shape[axis])[gone]]
    trial.close(output, host.take(kept, axis=axis), dtype="int32")


def delete_compiled(trial: Trial, index: Any, unique: bool = False) -> None:
    """Compiled it gives the same output: with fixed places, or with computed ones that are promised to be unique."""
    host = trial.random(5, 8, 3)

    @lru_cache(maxsize=1)
    def made(delete: Callable[..., Any]) -> Callable[..., Any]:
        if unique:
            return jax.jit(lambda x, places: delete(x, places, axis=-2, assume_unique_indices=True))
        return jax.jit(lambda x, _: delete(x, np.asarray(index), axis=-2))

    gone = {place % 8 for place in np.atleast_1d(index)}
    places = trial.tensor(np.asarray(index, "int32"))
    output = trial.call_inside(lambda delete, *arrays: made(delete)(*arrays), trial.tensor(host), places)
    trial.exact(output, host[:, [i for i in range(8) if i not in gone]], "float32")


def delete_large(trial: Trial, count: int) -> None:
    """A third of a long array's elements is deleted; the others remain in their order."""
    host = trial.random(count)
    gone = np.arange(1, count, 3)
    output = trial.call(trial.tensor(host), trial.tensor(gone))
    trial.exact(output, host[np.arange(count) % 3 != 1], "float32")


def compress_large(trial: Trial, count: int) -> None:
    """The elements of a long array where a long condition holds remain; their count is the output's length."""
    host, condition = trial.random(count), trial.random(count, dtype="bool", seed=1)
    output = trial.call(trial.tensor(condition), trial.tensor(host))
    trial.exact(output, host[condition], "float32")


def triangle_picked(trial: Trial, upper: bool, offset: int) -> None:
    """Compiled, the indices select a matrix's triangle row by row, and can write it back."""
    host = trial.random(9, 9)

    @lru_cache(maxsize=1)
    def made(indices: Callable[..., Any]) -> Callable[..., Any]:
        def there_and_back(x: Any) -> Any:
            places = indices(9, offset) if upper else indices(x, offset)
            picked = x[places]
            return places, picked, jnp.zeros_like(x).at[places].set(picked)

        return jax.jit(there_and_back)

    (rows, columns), picked, back = trial.call_inside(lambda indices, x: made(indices)(x), trial.tensor(host))
    row, column = np.indices(host.shape)
    inside = column - row >= offset if upper else column - row <= offset
    trial.close(rows, row[inside], dtype="int32")
    trial.close(columns, column[inside], dtype="int32")
    trial.exact(picked, host[inside], "float32")
    trial.exact(back, np.where(inside, host, 0), "float32")


def tril_drops(trial: Trial) -> None:
    """Elements above the diagonal are replaced, not multiplied: infinities and NaN do not become NaN."""
    host = trial.random(5, 5)
    host[0, 1:], host[2, 4], host[4, 0] = np.inf, np.nan, np.nan
    row, column = np.indices(host.shape)
    output = trial.call(trial.tensor(host))
    trial.exact(output, np.where(column <= row, host, 0), "float32")


def split_compiled(trial: Trial, parts: Any, dtype: str = "float32") -> None:
    """Compiled, the parts match those of the uncompiled call, and joined they give the array."""
    moved = trial.tensor(trial.random(4, 12, dtype=dtype), dtype)

    @lru_cache(maxsize=1)
    def made(split: Callable[..., Any]) -> Callable[..., Any]:
        def both(x: Any) -> Any:
            found = split(x, parts, axis=1)
            return found, jnp.concatenate(found, axis=1)

        return jax.jit(both)

    found, joined = trial.call_inside(lambda split, x: made(split)(x), moved)
    host = trial.numpy(moved)
    trial.exact(joined, host, dtype)
    expected = np.split(host, parts, axis=1)
    trial.equal((type(found), len(found)), (list, len(expected)))
    for part, wanted in zip(found, expected):
        trial.exact(part, wanted, dtype)

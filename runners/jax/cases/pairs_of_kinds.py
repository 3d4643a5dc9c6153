"""Two arguments of each pair of types, and twice the same one: jax.numpy.add, jax.lax.ge and bitwise_and."""

from __future__ import annotations

from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.trial import Trial


def sums(trial: Trial) -> None:
    """jax.numpy.add: each two types give JAX's type for both, and a plain number on either side the array's, unless it
    is of another kind. Large plain integers before an array keep their digits."""
    dtypes = (
        "bool",
        "int8",
        "int16",
        "int32",
        "uint8",
        "uint16",
        "uint32",
        "float16",
        "bfloat16",
        "float32",
        "complex64",
    )
    arrays = {dtype: np.zeros(2, jnp.dtype(dtype)) for dtype in dtypes}
    plain = {"int32": 3, "float32": 2.5, "complex64": 1j, "bool": True}
    found: dict[Any, str] = {}

    def body(add: Callable[..., Any]) -> Any:
        def program(arrays: Any) -> None:
            for place, left in enumerate(dtypes):
                for number, right in enumerate(dtypes[place:]):
                    pair = (left, right) if number % 2 else (right, left)
                    found[(*pair, "")] = str(add(arrays[pair[0]], arrays[pair[1]]).dtype)
                for kind, value in list(plain.items())[place % 2 :: 2]:
                    found[left, kind, "right"] = str(add(arrays[left], value).dtype)
                for kind, value in list(plain.items())[1 - place % 2 :: 2]:
                    found[left, kind, "left"] = str(add(value, arrays[left]).dtype)

        jax.eval_shape(program, arrays)
        return found

    trial.call_inside(body)
    for (left, right, number), dtype in found.items():
        if number and right != "bool" and _rank(left) >= _rank(right):
            trial.equal((left, right, number, dtype), (left, right, number, left))
        elif (number and right == "complex64") or not number or right == "bool" or left in ("bool",) or _rank(left) < 2:
            trial.equal((left, right, number, dtype), (left, right, number, _joined(left, right)))
    trial.repeatable = False  # each call is one of a row
    host = np.array([1, -2, 2**24], "int32")
    for number in (2**24 + 1, -(2**30) - 1):
        trial.exact(trial.call(number, trial.tensor(host)), host.astype("int64") + number, "int32")


def _rank(dtype: str) -> int:
    """Return 0 for bool, 1 for integers, 2 for numbers with fractions and 3 for complex ones."""
    return next(number for number, word in enumerate(("bool", "int", "float", "complex")) if word in dtype)


def _joined(left: str, right: str) -> str:
    """Return the type of two arrays together, where 32 bits are the most."""
    first, second = sorted((left, right), key=_rank)
    if _rank(first) < _rank(second) or first == second:
        return second
    if _rank(second) == 2:
        return "float32"
    sizes = {dtype: int(dtype.rpartition("int")[2]) for dtype in (first, second)}
    if first[0] == second[0]:
        return max(sizes, key=lambda dtype: sizes[dtype])
    signed, unsigned = sorted((first, second))
    return f"int{min(32, max(sizes[signed], 2 * sizes[unsigned]))}"


def beside_itself(trial: Trial, of: str, dtype: str) -> None:
    """Twice the same array, of the device or of NumPy, are two arguments of one value, as in NumPy's function."""
    exact = {"add": np.add, "ge": np.greater_equal, "bitwise_and": np.bitwise_and}[of]
    numbers = [3, -2, 0, 5] if dtype.startswith("int") else [1.5, -0.0, np.nan, -np.inf]
    host = np.array(numbers, dtype)
    trial.repeatable = False  # each call is one of a row
    for given in (trial.tensor(host), host):
        output = trial.call(given, given)
        trial.exact(output, exact(host, host), exact(host, host).dtype.name)


def beside_numbers(trial: Trial, of: str) -> None:
    """jax.lax.ge and bitwise_and: a plain number on either side of an array of its type keeps its value, one after the
    other; numbers of another type are refused, also where an equal one has been taken. Two plain numbers have a weak
    type together."""
    exact = {"ge": np.greater_equal, "bitwise_and": np.bitwise_and}[of]
    integers = np.array([1, 2, -3, 2**24 + 1], "int32")
    flags = np.array([True, False])
    fractions = np.array([1.001, 1.006, -2, np.nan], "float32")
    given: list[Any] = [(integers, (1, 2, -3, 2**24 + 1, 2**24), (True, 1.0)), (flags, (True, False), (1, 0))]
    if of == "ge":
        given.append((fractions, (1.25, 1.75, 1.001, 1.006, -2.5, np.inf), (1, True)))
    trial.repeatable = False  # each call is one of a row
    for host, numbers, others in given:
        moved = trial.tensor(host)
        for number in numbers:
            alike = np.array(number, host.dtype)
            for args, wanted in (((moved, number), exact(host, alike)), ((number, moved), exact(alike, host))):
                trial.exact(trial.call(*args), wanted, wanted.dtype.name)
        for number in others:
            trial.raises(["TypeError"], "dtype", moved, number)
            trial.raises(["TypeError"], "dtype", number, moved)

    def body(function: Callable[..., Any]) -> Any:
        found: list[Any] = []

        def program() -> None:
            for pair in ((6, 3), (True, False)):
                output = function(*pair)
                found.append((output.shape, str(output.dtype), bool(output.aval.weak_type)))

        jax.eval_shape(program)
        return found

    weak = ((), "bool" if of == "ge" else "int32", True)
    trial.equal(trial.call_inside(body), [weak, ((), "bool", False)])

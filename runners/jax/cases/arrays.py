"""jax.numpy functions under transformations (compiled, mapped, with 64-bit types), and how arrays are created."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.trial import Trial
from runners.jax.cases.given import Given
from runners.jax.double import x64

Data = Any
"""An argument as in a manifest's ``call``."""


def compiled(
    trial: Trial,
    args: Sequence[Data],
    expect: Mapping[str, Any],
    kwargs: Mapping[str, Data] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
) -> None:
    """Compiled with traced arrays and all other arguments fixed, the function matches the reference."""
    given = Given(trial, args, kwargs)

    @lru_cache(maxsize=1)
    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        return jax.jit(lambda tensors: function(*given.with_tensors(tensors), **given.kwargs))

    output = trial.call_inside(lambda function, tensors: made(function)(tensors), given.tensors)
    _check(trial, output, given.expected(expect, given.host), expect.get("dtype", "float32"), rtol, atol)


def one_array(
    trial: Trial, args: Sequence[Data], expect: Mapping[str, Any], kwargs: Mapping[str, Data] | None = None
) -> None:
    """The function joins its inputs into one array with the reference's values; the output is not a list of arrays."""
    given = Given(trial, args, kwargs)
    output = trial.call(*given.with_tensors(given.tensors), **given.kwargs)
    _check(trial, output, given.expected(expect, given.host), expect["dtype"], None, None)


def mapped(
    trial: Trial,
    args: Sequence[Data],
    expect: Mapping[str, Any],
    kwargs: Mapping[str, Data] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
) -> None:
    """Mapped over the first axis of all arrays, the function matches the reference for each row."""
    given = Given(trial, args, kwargs)

    def body(function: Callable[..., Any], tensors: Any) -> Any:
        return jax.vmap(lambda rows: function(*given.with_tensors(rows), **given.kwargs))(tensors)

    output = trial.call_inside(body, given.tensors)
    rows = [given.expected(expect, given.host_row(index)) for index in range(len(given.tensors[0]))]
    several = isinstance(rows[0], (tuple, list))
    expected = [np.stack(parts) for parts in zip(*rows)] if several else np.stack(rows)
    _check(trial, output, expected, expect.get("dtype", "float32"), rtol, atol)


def double(
    trial: Trial,
    args: Sequence[Data],
    expect: Mapping[str, Any],
    kwargs: Mapping[str, Data] | None = None,
    rtol: float = 1e-12,
    atol: float = 1e-12,
) -> None:
    """With 64-bit types enabled, outputs are 64 bits wide and accurate to twelve digits."""
    with x64():
        given = Given(trial, args, kwargs)

    def body(function: Callable[..., Any], tensors: Any) -> Any:
        with x64():
            return function(*given.with_tensors(tensors), **given.kwargs)

    output = trial.call_inside(body, given.tensors)
    for step in expect.get("output", []):
        output = output[step]
    dtype = expect.get("dtype", "float64")
    exact = dtype in ("int64", "uint64", "bool")
    expected = given.expected(expect, given.host)
    _check(trial, output, expected, dtype, 0 if exact else rtol, 0 if exact else atol)


def of_host(trial: Trial, args: Sequence[Data], expect: Mapping[str, Any], kwargs: Any = None) -> None:
    """NumPy arrays that could be written to give the reference's output, and the call does not change them."""
    given = Given(trial, args, kwargs)
    hosts = [np.array(tensor) for tensor in given.tensors]
    output = trial.call(*given.with_tensors(hosts), **given.kwargs)
    _check(trial, output, given.expected(expect, given.host), expect.get("dtype", "float32"), None, None)
    trial.equal(hosts, list(map(trial.numpy, given.tensors)))


def special(
    trial: Trial, args: Sequence[Sequence[str]], expected: Sequence[str], dtype: str = "float32", rtol: float = 1e-2
) -> None:
    """Zeros of both signs, infinities and NaN, given as text, give the expected values with the expected signs.

    The tolerance is for the finite values among them; these cases do not test accuracy.
    """
    output = trial.call(*[trial.tensor(np.array(values, "float64"), dtype) for values in args])
    wanted = np.array(expected, "float64")
    trial.close(output, wanted, rtol=rtol, atol=0, dtype=dtype)
    found, number = trial.numpy(output), ~np.isnan(wanted)
    trial.equal(np.signbit(found[number]), np.signbit(wanted[number]))


def array_outlives(trial: Trial, dtype: str) -> None:
    """A copy stays readable after the original array is deleted."""
    original = trial.tensor(trial.random(64, dtype=dtype), dtype)
    expected = trial.numpy(original).copy()
    trial.repeatable = False  # a second call would copy a deleted array
    output = trial.call(original, copy=True)
    original.delete()
    trial.exact(output, expected, dtype)


def array_of_host(trial: Trial, source: str) -> None:
    """Python and NumPy objects become arrays, of int64 with 32 bits: strided views, ranges, bytes, array protocols."""
    base = trial.random(6, 8, dtype="int32", low=-50, high=50)

    class Own:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return base[0] if dtype is None else base[0].astype(dtype)

    class OwnJax:
        def __jax_array__(self) -> Any:
            return trial.tensor(base[1])

    sources = {
        "reversed": base.astype("int64")[::-1, ::2],
        "transposed": base.T,
        "broadcast": np.broadcast_to(base[0], (4, 8)),
        "range": range(3, 30, 4),
        "bytes": memoryview(b"portable"),
        "rows": [base[0], list(range(8)), base[2]],
        "array-protocol": Own(),
        "jax-protocol": OwnJax(),
    }
    hosts = {"bytes": np.frombuffer(b"portable", "uint8"), "array-protocol": base[0], "jax-protocol": base[1]}
    expected = np.asarray(hosts.get(source, sources[source]))
    dtype = "uint8" if source == "bytes" else "int32"
    trial.close(trial.call(sources[source]), expected, dtype=dtype)


def array_is_kept(trial: Trial, dtype: str) -> None:
    """Without a copy, an array of the device that needs no conversion is the same memory; with one it is another. New
    axes are the first ones."""
    host = trial.random(3, 3, dtype=dtype)
    original = trial.tensor(host, dtype)
    place = original.unsafe_buffer_pointer()
    for options, same in (
        ({"copy": False}, True),
        ({"copy": False, "dtype": trial.dtype(dtype)}, True),
        ({"copy": True}, False),
        ({}, False),
    ):
        output = trial.call(original, **options)
        trial.exact(output, trial.numpy(original), dtype)
        trial.equal(output.unsafe_buffer_pointer() == place, same)
    for axes in (3, 5):
        output = trial.call(original, copy=False, ndmin=axes)
        trial.exact(output, trial.numpy(original).reshape((1,) * (axes - 2) + (3, 3)), dtype)


def array_of_numbers(trial: Trial) -> None:
    """A list of Python numbers has no weak type: joined with half precision it stays what it is. The parts of complex
    numbers are kept, also if one is infinite or NaN."""
    for numbers, dtype, joined in (
        ([1.5, 2], "float32", "float32"),
        ([3, -4], "int32", "float16"),
        ([], "float32", ""),
    ):
        output = trial.call(numbers)
        trial.exact(output, np.array(numbers, dtype), dtype)
        trial.equal(bool(output.weak_type), False)
        if joined:
            trial.equal(trial.dtype_name(output + trial.tensor(np.ones(2), "float16")), joined)
    inf, nan = float("inf"), float("nan")
    values = [complex(1.5, inf), complex(-inf, 2), complex(nan, -3), complex(-0.0, nan), complex(inf, -0.0)]
    for given in (values, np.array(values), np.array(values, "complex64"), values[0]):
        output = trial.call(given)
        trial.equal(trial.dtype_name(output), "complex64")
        for part in ("real", "imag"):
            trial.exact(getattr(trial.numpy(output), part), getattr(np.asarray(given, "complex64"), part))


def filled_like(trial: Trial, value: float, shape: Sequence[int], dtype: str) -> None:
    """In a compiled function the shape and dtype can come from a traced array; the output is filled with the value.

    A length alone is a shape, float32 is the default dtype, and a Python type is a dtype.
    """

    @lru_cache(maxsize=1)
    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        def filled(x: Any) -> Any:
            plain = function(x.shape[-1]), function(dtype=bool, shape=(3, x.shape[0]))
            return (function(x.shape, x.dtype), x + function(x.shape[-1:], x.dtype), *plain)

        return jax.jit(filled)

    moved = trial.tensor(trial.random(*shape, dtype=dtype, seed=1), dtype)
    alone, added, single, flags = trial.call_inside(lambda function, x: made(function)(x), moved)
    trial.exact(alone, np.full(shape, value), dtype)
    trial.exact(single, np.full(shape[-1], value), "float32")
    trial.exact(flags, np.full((3, shape[0]), bool(value)), "bool")
    trial.close(added, trial.numpy(moved).astype("float64") + value, dtype=dtype)


def arange_steps(trial: Trial, dtype: str = "float32") -> None:
    """The rounding of many small steps does not add up: each element is accurate to its last digit."""
    output = trial.call(0.0, 100.0, 0.001, dtype=trial.dtype(dtype))
    trial.close(output, np.arange(100000) * 0.001, rtol=3e-7, atol=1e-9, dtype=dtype)


def arange_loop(trial: Trial, count: int) -> None:
    """In a compiled function it numbers the elements of a traced array, and a loop can run over the numbers."""

    @lru_cache(maxsize=1)
    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        def weighted(x: Any) -> Any:
            numbers = function(x.shape[0])
            return numbers, jax.lax.scan(lambda total, i: (total + i * x[i], None), jnp.zeros_like(x[0]), numbers)[0]

        return jax.jit(weighted)

    host = trial.random(count, dtype="int32")
    numbers, total = trial.call_inside(lambda function, x: made(function)(x), trial.tensor(host))
    trial.close(numbers, np.arange(count), dtype="int32")
    trial.close(total, np.arange(count) @ host, dtype="int32")


def _check(trial: Trial, output: Any, expected: Any, dtype: str, rtol: float | None, atol: float | None) -> None:
    if isinstance(expected, (tuple, list)):
        several = isinstance(output, (tuple, list)) and len(output) == len(expected)
        trial.check(several, f"expected {len(expected)} arrays, got {type(output).__name__}")
        for part, wanted in zip(output, expected):
            _check(trial, part, wanted, dtype, rtol, atol)
        return
    trial.close(output, expected, rtol, atol, dtype=dtype)

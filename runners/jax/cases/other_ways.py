"""A function that moves or compares elements, called in other ways: with compiling off, of NumPy arrays of 64 bits, and
mapped twice."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import jax
import numpy as np

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.cases.given import Given


def other_ways(
    trial: Trial,
    args: Sequence[Any],
    expect: Mapping[str, Any],
    kwargs: Mapping[str, Any] | None = None,
    mapped: Sequence[str] = ("float16", "complex64"),
    wide: bool = True,
    kept: bool = True,
) -> None:
    """While ``jax.disable_jit`` is in force the output is the same. NumPy arrays of one shape that differ in signs,
    order or a NaN have their own outputs. With ``wide`` int64 arrays of NumPy, which are made int32, keep all digits,
    and float64 ones those of float32. Mapped by two axes, arrays of the types in ``mapped`` have the outputs of each
    row: all in one program.

    The arguments and ``expect`` are those of a manifest's ``call``. With ``kept`` the output has the arrays' type.
    """
    given = Given(trial, args, kwargs)
    hosts = [trial.numpy(tensor) for tensor in given.tensors]
    trial.repeatable = False  # each call is one of a row
    trial.has_random_inputs = False  # other values would compile the same program again

    def check(output: Any, arrays: Sequence[Any], dtype: str) -> None:
        typed = {**expect, "dtype": dtype} if kept else expect
        given.check(trial, output, given.with_tensors([widened(each) for each in arrays]), typed, rtol=0, atol=0)

    def uncompiled(function: Callable[..., Any], *tensors: Any) -> Any:
        with jax.disable_jit():
            return function(*given.with_tensors(tensors), **given.kwargs)

    check(trial.call_inside(uncompiled, *given.tensors), hosts, str(hosts[0].dtype))
    for change in (
        (np.negative, np.abs, np.flip, _sorted, _with_nan, _with_zero) if hosts[0].dtype.kind == "f" else (np.negative,)
    ):
        changed = [change(host) for host in hosts]
        check(trial.call(*given.with_tensors(changed), **given.kwargs), changed, str(hosts[0].dtype))
    if wide:
        large = _beside_each_other([_large(host) for host in hosts])
        check(trial.call(*given.with_tensors(large), **given.kwargs), large, "int32")
        if hosts[0].dtype.kind == "f":
            near = _beside_each_other(hosts)
            check(trial.call(*given.with_tensors([widened(host) for host in near]), **given.kwargs), near, "float32")
    if not mapped:
        return

    stacks = [[trial.tensor(_stacked(host, dtype), dtype) for host in hosts] for dtype in mapped]

    def program(function: Callable[..., Any], stacks: Any) -> Any:
        def one(*arrays: Any) -> Any:
            return function(*given.with_tensors(arrays), **given.kwargs)

        return jax.jit(lambda stacks: [jax.vmap(jax.vmap(one))(*stack) for stack in stacks])(stacks)

    for dtype, stack, outputs in zip(mapped, stacks, trial.call_inside(program, stacks)):
        rows = [trial.numpy(each) for each in stack]
        found = jax.tree_util.tree_map(np.asarray, outputs)
        for place in ((0, 0), (1, 0), (1, 1)):
            wanted = given.expected(expect, given.with_tensors([widened(each[place]) for each in rows]))
            output = jax.tree_util.tree_map(lambda leaf, place=place: leaf[place], found)
            for step in expect.get("output", []):
                output = output[step]
            several = isinstance(wanted, (list, tuple))
            for part, value in zip(output, wanted) if several else [(output, wanted)]:
                trial.equal(part.dtype.name, dtype if kept else expect["dtype"])
                trial.equal(part.astype(np.asarray(value).dtype), np.asarray(value))


def _sorted(host: Any) -> Any:
    return np.sort(host, axis=None).reshape(host.shape)


def _with_nan(host: Any) -> Any:
    """Return the array with NaN in the place of its smallest element."""
    return np.where(host == np.min(host), np.nan, host).astype(host.dtype)


def _with_zero(host: Any) -> Any:
    """Return the array with zero in the place of its smallest element."""
    return np.where(host == np.min(host), 0, host).astype(host.dtype)


def _large(host: Any) -> Any:
    """Return integers in the order of the numbers of an array, each of which float32 would round."""
    ranks = np.argsort(np.argsort(host, axis=None, kind="stable"), kind="stable").reshape(host.shape)
    return (2 * ranks + 2**24 + 1).astype("int64")


def _beside_each_other(hosts: Sequence[Any]) -> list[Any]:
    """Return arrays whose elements are those of the first one, and in the later ones some just above or below."""
    sides = np.resize([-1, 0, 1], hosts[0].shape).astype(hosts[0].dtype)
    step = 1 if hosts[0].dtype.kind == "i" else np.float32(2.0**-20)
    return [hosts[0], *(hosts[0] + sides * step for _ in hosts[1:])]


def _stacked(host: Any, dtype: str) -> Any:
    """Return two times two arrays: the given one, and others with its elements."""
    stack = np.stack([np.stack([host, np.flip(host)]), np.stack([-host, np.flip(host) * 2])])
    return stack + 0.5j * np.flip(stack) if dtype.startswith("complex") else stack


_CHANGES: tuple[Callable[[Any], Any], ...] = (np.negative, np.abs, np.flip, _sorted, _with_nan, _with_zero)

"""jax.vmap of one function in other ways than by the first axis of all arrays, and its whole Jacobian matrix."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.cases.floating import Floating
from runners.jax.cases.given import Given
from runners.jax.cases.slopes import along


def mapped_axes(
    trial: Trial,
    args: Sequence[Any],
    expect: Mapping[str, Any],
    kwargs: Mapping[str, Any] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
) -> None:
    """By the last axis, to the last axis of the output, by two axes of different sizes, and of one array while the
    others stay: each row has the output of its own arrays.

    The arguments and ``expect`` are those of a manifest's ``call``; keyword arguments are constants.
    """
    given = Given(trial, args, kwargs)
    hosts = [trial.numpy(tensor) for tensor in given.tensors]
    count = len(hosts)

    def part(output: Any, *index: Any) -> Any:
        return jax.tree_util.tree_map(lambda leaf: leaf[index], output)

    @lru_cache(maxsize=1)
    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        def under_test(*arrays: Any) -> Any:
            return function(*given.with_tensors(arrays), **given.kwargs)

        def program(arrays: Any) -> Any:
            last = [jnp.stack([array, jnp.flip(array)], axis=-1) for array in arrays]
            three = [jnp.stack([both, both, jnp.flip(both, -1)]) for both in last]
            single = []
            # Of one array alone the mapping is that of all, within the other one.
            for place in range(count if count > 1 else 0):
                mixed = [*arrays[:place], last[place], *arrays[place + 1 :]]
                axes = [-1 if number == place else None for number in range(count)]
                single.append(jax.vmap(under_test, in_axes=axes, out_axes=-1)(*mixed))
            nested = jax.vmap(jax.vmap(under_test, in_axes=-1, out_axes=-1))(*three)
            # The parts are taken here: outside, each place is one more program.
            return [
                ([part(nested, outer, ..., row) for outer in range(3)], [part(output, ..., row) for output in single])
                for row in range(2)
            ]

        return jax.jit(program)

    trial.has_random_inputs = False  # other values would compile the same program again
    rows = trial.call_inside(lambda function, arrays: made(function)(arrays), given.tensors)
    flipped = [np.flip(host) for host in hosts]

    def check(output: Any, arrays: Sequence[Any]) -> None:
        host = given.with_tensors([widened(array) for array in arrays])
        given.check(trial, output, host, expect, rtol, atol)

    for row, (nested, single) in enumerate(rows):
        arrays, others = (hosts, flipped) if row == 0 else (flipped, hosts)
        for outer, output in enumerate(nested):
            check(output, arrays if outer < 2 else others)
        for place, output in enumerate(single):
            check(output, [*hosts[:place], arrays[place], *hosts[place + 1 :]])


def jacobians(
    trial: Trial,
    args: Sequence[Any],
    expect: Mapping[str, Any],
    kwargs: Mapping[str, Any] | None = None,
    rtol: float = 1e-4,
    atol: float = 1e-4,
) -> None:
    """jax.jacfwd and jax.jacrev give the same matrix as differences of the reference's values, and jax.linearize the
    values and the same derivative, for all floating arrays together."""
    floating = Floating(trial, Given(trial, args, kwargs), expect)
    hosts, exact = floating.hosts, floating.exact
    directions = [np.asarray(trial.random(*np.shape(host), seed=900 + n)) for n, host in enumerate(hosts)]

    @lru_cache(maxsize=1)
    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        def derived(arrays: Any, directions: Any) -> Any:
            under_test = floating.of(function)
            values, pushed = jax.linearize(under_test, arrays)
            return values, pushed(directions), jax.jacfwd(under_test)(arrays), jax.jacrev(under_test)(arrays)

        return jax.jit(derived)

    trial.has_random_inputs = False  # other values would compile the same program again
    moved = [[trial.tensor(np.asarray(each).astype("float32")) for each in arrays] for arrays in (hosts, directions)]
    values, changes, *matrices = trial.call_inside(lambda function, *inputs: made(function)(*inputs), *moved)
    wide = [widened(each) for each in directions]
    for found, wanted in ((values, exact(hosts)), (changes, along(exact, hosts, wide))):
        trial.equal(len(found), len(wanted))
        for one, exactly in zip(found, wanted):
            trial.close(one, exactly, rtol=rtol, atol=atol, dtype="float32")
    for number, host in enumerate(hosts):
        columns = []
        for place in np.ndindex(*np.shape(host)):
            direction = [np.zeros(np.shape(each)) for each in hosts]
            direction[number][place] = 1
            columns.append(along(exact, hosts, direction))
        for output in range(len(values)):
            column = np.stack([each[output] for each in columns], axis=-1)
            wanted = column.reshape(*column.shape[:-1], *np.shape(host))
            for matrix in matrices:
                trial.close(matrix[output][number], wanted, rtol=rtol, atol=atol, dtype="float32")

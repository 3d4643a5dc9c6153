"""One function at all places of a compiled program: of traced arrays, of constants, mapped, in a loop and a branch."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.cases.given import Given

_PLACES = ("traced", "constant", "recomputed", "branch", "mapped", "looped")


def everywhere(
    trial: Trial,
    args: Sequence[Any],
    expect: Mapping[str, Any],
    kwargs: Mapping[str, Any] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    places: Sequence[str] = _PLACES,
) -> None:
    """In one compiled program the function gives the reference's output at each place: of traced arrays, of constants,
    under jax.checkpoint, in the branch that is taken, and for the arrays and their reversals under jax.vmap and in a
    loop.

    The arguments and ``expect`` are those of a manifest's ``call``; keyword arguments are constants.
    """
    given = Given(trial, args, kwargs)
    hosts = [trial.numpy(tensor) for tensor in given.tensors]
    constants = [np.asarray(tensor) for tensor in given.tensors]

    @lru_cache(maxsize=1)
    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        def under_test(arrays: Any) -> Any:
            return function(*given.with_tensors(arrays), **given.kwargs)

        def program(taken: Any, arrays: Any) -> Any:
            def rows(outputs: Any) -> Any:
                return [jax.tree_util.tree_map(lambda part, row=row: part[row], outputs) for row in (0, 1)]

            both = [jnp.stack([array, jnp.flip(array)]) for array in arrays]
            found = {
                "traced": lambda: under_test(arrays),
                "constant": lambda: under_test(constants),
                "recomputed": lambda: jax.checkpoint(under_test)(arrays),
                "branch": lambda: jax.lax.cond(
                    taken, under_test, lambda arrays: under_test([jnp.flip(array) for array in arrays]), arrays
                ),
                "mapped": lambda: rows(jax.vmap(under_test)(both)),
                "looped": lambda: rows(jax.lax.map(under_test, both)),
            }
            return {place: found[place]() for place in places}

        return jax.jit(program)

    trial.has_random_inputs = False  # other values would compile the same program again
    taken = trial.tensor(np.array(True))
    found = trial.call_inside(lambda function, *inputs: made(function)(*inputs), taken, given.tensors)

    def check(output: Any, arrays: Sequence[Any]) -> None:
        host = given.with_tensors([widened(array) for array in arrays])
        given.check(trial, output, host, expect, rtol, atol)

    for place in places:
        if place not in ("mapped", "looped"):
            check(found[place], hosts)
            continue
        for output, arrays in zip(found[place], (hosts, [np.flip(host) for host in hosts])):
            check(output, arrays)

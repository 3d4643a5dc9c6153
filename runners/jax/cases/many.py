"""More arguments, trees, leaves and members of an axis than a fixed buffer of 64 would hold: the last one counts."""

from __future__ import annotations

from typing import Any, Callable

import jax
import numpy as np

from runners.core.testing.trial import Trial

_MANY = 70


def pulled_back(trial: Trial) -> None:
    """jax.vjp: of 70 arguments, and of a list of 70 arrays as one argument, each has its own cotangent."""
    hosts = [trial.random(2, seed=seed) for seed in range(_MANY)]
    arrays = list(map(trial.tensor, hosts))
    cotangents = trial.random(_MANY, 2, seed=100)
    factors = [np.float32(number - 34.5) for number in range(_MANY)]

    def scaled(*arrays: Any) -> Any:
        return [array * factor for array, factor in zip(arrays, factors)]

    given = list(map(trial.tensor, cotangents))
    outputs, pull_back = trial.call(scaled, *arrays)
    of_list, pull_list = trial.call(lambda arrays: scaled(*arrays), arrays)
    for found, pulled in ((outputs, pull_back(given)), (of_list, pull_list(given)[0])):
        trial.equal((len(found), len(pulled)), (_MANY, _MANY))
        trial.exact(np.stack(trial.numpy(list(found))), np.stack([h * f for h, f in zip(hosts, factors)]))
        trial.exact(np.stack(trial.numpy(list(pulled))), np.stack([c * f for c, f in zip(cotangents, factors)]))
    trial.equal({trial.dtype_name(part) for part in (*outputs, *of_list)}, {"float32"})


def mapped(trial: Trial) -> None:
    """jax.tree_util.tree_map: of 70 trees the function gets the leaves at one place in their order."""
    hosts = trial.random(_MANY, 2, 3)
    trees = [{"b": [trial.tensor(first)], "a": (trial.tensor(second), None)} for first, second in hosts]
    lengths = []

    def picked(*leaves: Any) -> Any:
        lengths.append(len(leaves))
        return [leaves[0], leaves[33], leaves[68], leaves[69]]

    output = trial.call(picked, *trees)
    trial.equal((lengths, sorted(output), output["a"][1]), ([_MANY, _MANY], ["a", "b"], None))
    for side, found in enumerate((output["b"][0], output["a"][0])):
        trial.equal([trial.dtype_name(leaf) for leaf in found], ["float32"] * 4)
        for leaf, place in zip(found, (0, 33, 68, 69)):
            trial.exact(leaf, hosts[place, side], "float32")


def bound(trial: Trial) -> None:
    """jax.tree_util.Partial: 70 arguments and 70 named ones are bound in their order, are leaves, and reach the
    function, also within a compiled one."""
    hosts, more = trial.random(_MANY, 2), trial.random(_MANY, 2, seed=1)
    named = {f"x{number}": trial.tensor(row) for number, row in enumerate(more)}
    seen: list[Any] = []

    def last(*args: Any, **kwargs: Any) -> Any:
        seen[:] = [len(args), list(kwargs)]
        return args[69] - 2 * kwargs["x69"], args[64], kwargs["x64"]

    made = trial.call(last, *map(trial.tensor, hosts), **named)
    leaves = jax.tree_util.tree_leaves(made)
    # The leaves by name are in the order of the sorted names.
    order = sorted(range(_MANY), key=lambda number: f"x{number}")
    trial.equal(np.stack(trial.numpy(leaves)), np.concatenate([hosts, more[order]]))
    for output in (made(), jax.jit(lambda partial: partial())(made)):
        trial.equal((seen[0], sorted(seen[1])), (_MANY, sorted(named)))
        for found, wanted in zip(output, (hosts[69] - 2 * more[69], hosts[64], more[64])):
            trial.close(found, wanted, dtype="float32")


def members(trial: Trial) -> None:
    """Over an axis of 70 members, integers that a float32 cannot represent are kept to the last digit, of square blocks
    at their places, whichever member has the largest."""
    for dtype, first in (("int32", 2**24 - 300), ("uint32", 2**32 - 700), ("int32", -(2**31))):
        order = np.argsort(trial.random(_MANY * 9, seed=3), kind="stable")
        host = (first + order.reshape(_MANY, 3, 3)).astype(dtype)

        def body(function: Callable[..., Any], x: Any) -> Any:
            return jax.vmap(lambda row: function(row, "rows"), axis_name="rows")(x)

        output = trial.call_inside(body, trial.tensor(host))
        gathered = output.ndim > host.ndim
        expected = host if gathered else host.max(axis=0)
        trial.exact(output, np.broadcast_to(expected, (_MANY, *expected.shape)), dtype)


def jaxpr_inputs(trial: Trial) -> None:
    """jax.make_jaxpr: 70 inputs and outputs keep their places."""
    host = trial.random(_MANY, 2)
    arrays = list(map(trial.tensor, host))
    closed = trial.call_inside(lambda make, *x: make(lambda *x: [x[-1] - x[0], *reversed(x)])(*x), *arrays)
    trial.equal((len(closed.in_avals), len(closed.out_avals)), (_MANY, _MANY + 1))
    outputs = jax.core.eval_jaxpr(closed.jaxpr, closed.consts, *arrays)
    trial.equal(np.stack(trial.numpy(list(outputs))), np.concatenate([host[-1:] - host[:1], host[::-1]]))

"""Collectives over groups of an axis, over numbered axes, and of plain numbers."""

from __future__ import annotations

from typing import Any, Callable

import jax
import numpy as np

from runners.core.testing.trial import Trial


def gather_grouped(trial: Trial) -> None:
    """jax.lax.all_gather: groups of indices are kept in the traced program, in their order, and the output has the size
    of a group; without groups it has that of the axis. An axis that is traced needs no devices."""
    x = trial.tensor(trial.random(3, 2))

    def body(all_gather: Callable[..., Any], groups: Any, axis: int, tiled: bool) -> Any:
        def gathered(x: Any) -> Any:
            return all_gather(x, "rows", axis_index_groups=groups, axis=axis, tiled=tiled)

        return jax.make_jaxpr(gathered, axis_env=[("rows", 4)])(x)

    for groups, count in (([[0, 1], [2, 3]], 2), ([[3, 0], [1, 2]], 2), ([[2], [1], [0], [3]], 1), (None, 4)):
        for axis, tiled, shape in ((0, False, (count, 3, 2)), (1, False, (3, count, 2)), (1, True, (3, 2 * count))):
            program = trial.call_inside(body, groups, axis, tiled)
            (equation,) = program.eqns
            found = equation.params["axis_index_groups"]
            trial.equal(found and [list(group) for group in found], groups)
            trial.equal([aval.shape for aval in program.out_avals], [shape])


def gather_numbers(trial: Trial) -> None:
    """jax.lax.all_gather: of numbers each row gets them all, and a value that no axis maps is repeated; a number cannot
    be joined along an axis of its own."""
    host = trial.random(5)

    def body(all_gather: Callable[..., Any], x: Any, tiled: bool = False) -> Any:
        gathered = jax.vmap(lambda x: (all_gather(x, "rows", tiled=tiled), all_gather(2.5, "rows")), axis_name="rows")
        return gathered(x)

    rows, same = trial.call_inside(body, trial.tensor(host))
    trial.exact(rows, np.broadcast_to(host, (5, 5)), "float32")
    trial.exact(same, np.full((5, 5), 2.5), "float32")
    trial.raises_inside(["ValueError"], "out of bounds", body, trial.tensor(host), True)


def pmax_numbered(trial: Trial) -> None:
    """jax.lax.pmax: an axis of the array can be given by its number together with a name; each leaf of a tree has its
    own maximum, and its containers are kept."""
    host = trial.random(3, 2)

    def body(pmax: Callable[..., Any], x: Any) -> Any:
        def each(row: Any) -> Any:
            tree = pmax({"a": [row, None], "b": (-row, 7)}, "rows")
            return pmax(row, (0, "rows")), pmax(row, ("rows", 0)), tree

        return jax.vmap(each, axis_name="rows")(x)

    one, other, tree = trial.call_inside(body, trial.tensor(host))
    for output in (one, other):
        trial.exact(output, np.full(3, host.max()), "float32")
    trial.equal((list(tree), type(tree["a"]), tree["a"][1], type(tree["b"])), (["a", "b"], list, None, tuple))
    trial.exact(tree["a"][0], np.broadcast_to(host.max(axis=0), (3, 2)), "float32")
    trial.exact(tree["b"][0], np.broadcast_to((-host).max(axis=0), (3, 2)), "float32")
    trial.equal(trial.numpy(tree["b"][1]).tolist(), [7, 7, 7])

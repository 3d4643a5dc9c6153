"""jax.lax.pmax of trees, of every type, with names in every form."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable

import jax
import numpy as np

from runners.core.testing.trial import Trial
from runners.jax.containers import Pair

_TYPES = ("float32", "float16", "bfloat16", "int8", "int16", "int32", "uint8", "uint16", "uint32", "bool")


def largest_of_trees(trial: Trial) -> None:
    """Each leaf of a tree has its own maximum over the rows, of its own type, wherever the largest row is: the first,
    the last or one between. Containers, None and plain numbers stay. Unsigned numbers above the half of their range
    are the largest ones, negative numbers alone and minus infinity are kept. The axis is given by position or name."""
    hosts = {}
    for number, name in enumerate(_TYPES):
        dtype = "float32" if name == "bfloat16" else name
        host = np.array(trial.random(5, 3, seed=number, low=-9, high=-1)).astype("float32")
        if name.startswith("uint"):
            host = -host
        host[number % 5] = 0.5 if "float" in name else 1
        hosts[name] = (host > 0).astype("bool") if name == "bool" else host.astype(dtype)
    for name in ("uint8", "uint16", "uint32"):
        hosts[name][3, 1] = np.iinfo(name).max
    for name in ("int8", "int16", "int32"):
        hosts[name][:, 2] = [-7, -5, np.iinfo(name).min, -6, -9]
    hosts["float32"][:, 2] = -np.inf
    hosts["int32"][:, 0] = [2**24, 2**24 + 1, -(2**24), 3, 2**24 - 1]
    hosts["float32"][:, 0] = [1, 1 + 2.0**-23, 1 - 2.0**-24, -3, 0]
    arrays = {name: trial.tensor(host, name) for name, host in hosts.items()}

    @lru_cache(maxsize=1)
    def made(pmax: Callable[..., Any]) -> Callable[..., Any]:
        def by_position(rows: Any) -> Any:
            return pmax(rows, "rows")

        def by_name(rows: Any) -> Any:
            tree = [Pair(rows["int32"], {"u": rows["uint8"], "n": None}), (2.5, -3), ()]
            return pmax(x=tree, axis_name="rows"), pmax(rows["float32"], ("rows",)), pmax(rows["bool"], ["rows"][0])

        compiled = jax.jit(lambda arrays: [jax.vmap(of, axis_name="rows")(arrays) for of in (by_position, by_name)])
        return lambda arrays, few: (compiled(arrays), jax.vmap(by_position, axis_name="rows")(few))

    trial.has_random_inputs = False  # other values would compile the same program again
    few = {name: arrays[name] for name in ("bfloat16", "int32", "uint8")}
    (compiled, (tree, listed, truths)), plain = trial.call_inside(lambda pmax, *each: made(pmax)(*each), arrays, few)

    def check(output: Any, name: str) -> None:
        wanted = np.broadcast_to(hosts[name].max(axis=0), (5, 3))
        trial.equal(trial.dtype_name(output), name)
        trial.equal(
            trial.numpy(output).astype("float64").tolist(),
            trial.numpy(trial.tensor(wanted, name)).astype("float64").tolist(),
        )

    for name in _TYPES:
        check(compiled[name], name)
    for name in few:
        check(plain[name], name)
    trial.equal([type(tree), type(tree[0]), type(tree[1]), tree[2], tree[0].second["n"]], [list, Pair, tuple, (), None])
    check(tree[0].first, "int32")
    check(tree[0].second["u"], "uint8")
    check(listed, "float32")
    check(truths, "bool")
    trial.exact(tree[1][0], np.full(5, 2.5), "float32")
    trial.exact(tree[1][1], np.full(5, -3.0), "int32")


def not_numbers(trial: Trial, dtype: str) -> None:
    """One NaN makes the maximum of its column NaN and no other, in whichever row it is, beside infinities too; a
    column of minus infinity has it as its maximum."""
    for row in range(4):
        host = np.array(trial.random(4, 5, seed=row))
        host[row, 0] = np.nan
        host[:, 1] = -np.inf
        host[(row + 1) % 4, 2] = np.inf
        host[row, 2] = np.nan
        host[row, 3] = -np.inf
        moved = trial.tensor(host, dtype)

        def body(pmax: Callable[..., Any], x: Any) -> Any:
            return jax.vmap(lambda each: pmax(each, "rows"), axis_name="rows")(x)

        output = trial.call_inside(body, moved)
        wide = trial.numpy(moved).astype("float64")
        trial.close(output, np.broadcast_to(wide.max(axis=0), wide.shape), rtol=0, atol=0, dtype=dtype)


def of_places(trial: Trial) -> None:
    """An axis that is given by its number alone is reduced, outside of jax.vmap too. An array that no axis maps is its
    own maximum, whether it is a constant or an argument of a compiled function."""
    host = trial.random(4, 3)

    def body(pmax: Callable[..., Any], x: Any) -> Any:
        def unmapped(row: Any, whole: Any) -> Any:
            return pmax(whole, "rows"), pmax(x, "rows"), pmax(row, "rows")

        mapped = jax.vmap(unmapped, in_axes=(0, None), out_axes=(None, None, 0), axis_name="rows")
        return [pmax(x, 0), pmax(x, axis_name=1), pmax(x, (0, 1))], mapped(x, x), jax.jit(mapped)(x, x)

    numbered, plain, compiled = trial.call_inside(body, trial.tensor(host))
    for output, axis in zip(numbered, (0, 1, (0, 1))):
        trial.exact(output, host.max(axis=axis), "float32")
    for whole, constant, row in (plain, compiled):
        trial.exact(whole, host, "float32")
        trial.exact(constant, host, "float32")
        trial.exact(row, np.broadcast_to(host.max(axis=0), host.shape), "float32")

"""jax.tree_util.Partial: a function with bound arguments that is a tree."""

from __future__ import annotations

import functools
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial


def partial_called(trial: Trial, dtype: str) -> None:
    """It calls the function with the bound arguments first, then the call's; keywords of the call take precedence."""
    one, two, three = (trial.random(6, dtype=dtype, seed=seed) for seed in range(3))
    a, b, c = (trial.tensor(host, dtype) for host in (one, two, three))

    def body(partial: Callable[..., Any], a: Any, b: Any, c: Any) -> Any:
        def ordered(*args: Any, **named: Any) -> Any:
            return jnp.stack(args), jnp.stack([named[key] for key in sorted(named)])

        return partial(ordered, a, y=b, x=c)(b, c, x=a)

    stacked, named = trial.call_inside(body, a, b, c)
    one, two, three = (trial.numpy(moved) for moved in (a, b, c))
    trial.exact(stacked, np.stack([one, two, three]), dtype)
    trial.exact(named, np.stack([one, two]), dtype)


def partial_as_tree(trial: Trial) -> None:
    """A functools.partial whose leaves are the bound arguments, also those by name; tree_map gives a partial of the
    same function with new arguments."""
    host, shift, scale = (trial.random(5, seed=seed) for seed in range(3))

    def shifted(one: Any, two: Any, shift: Any, unused: Any) -> Any:
        return one * two - shift

    partial = trial.call(shifted, trial.tensor(host), unused=None, shift=trial.tensor(shift))
    leaves = jax.tree_util.tree_leaves(partial)
    trial.equal(len(leaves), 2)
    for leaf, bound in zip(leaves, (host, shift)):
        trial.exact(leaf, bound, "float32")
    trial.equal((partial.func is shifted, len(partial.args), sorted(partial.keywords)), (True, 1, ["shift", "unused"]))
    trial.check(isinstance(partial, functools.partial), f"a {type(partial).__name__} is no functools.partial")
    doubled = jax.tree_util.tree_map(lambda leaf: 2 * leaf, partial)
    trial.close(doubled(trial.tensor(scale)), 2 * (widened(host) * scale - shift), dtype="float32")
    trial.check(type(doubled) is type(partial), f"mapped over it is a {type(doubled).__name__}")


def partial_in_jit(trial: Trial) -> None:
    """As an argument of a compiled function it is traced again for another function but not for other values."""
    first, second, x = (trial.random(4, 4, seed=seed) for seed in range(3))
    traces: list[int] = []

    def body(partial: Callable[..., Any], first: Any, second: Any, x: Any) -> Any:
        traces.clear()

        @jax.jit
        def applied(function: Any, x: Any) -> Any:
            traces.append(1)
            return function(x) + 1

        pairs = [(lax.add, first), (lax.add, second), (lax.mul, first)]
        return [applied(partial(function, bound), x) for function, bound in pairs]

    outputs = trial.call_inside(body, *map(trial.tensor, (first, second, x)))
    trial.equal(len(traces), 2)
    for output, expected in zip(outputs, (widened(first) + x, widened(second) + x, widened(first) * x)):
        trial.close(output, expected + 1, dtype="float32")


def partial_gradient(trial: Trial) -> None:
    """The gradient for a partial is a partial that holds the gradients for its bound arguments."""
    weight, x = trial.random(3, 4), trial.random(4, seed=1)

    def body(partial: Callable[..., Any], weight: Any, x: Any) -> Any:
        layer = partial(lambda weight, x, scale: scale * (weight @ x), weight, scale=jnp.float32(3))
        return layer(x), jax.grad(lambda layer: jnp.sum(layer(x)))(layer)

    output, gradient = trial.call_inside(body, trial.tensor(weight), trial.tensor(x))
    # Sums of four products in float32.
    allowed = {"rtol": 1e-5, "atol": 1e-5, "dtype": "float32"}
    trial.close(output, 3 * widened(weight) @ x, **allowed)
    trial.close(gradient.args[0], np.repeat(3 * widened(x)[None], 3, axis=0), **allowed)
    trial.close(gradient.keywords["scale"], (widened(weight) @ x).sum(), **allowed)


def partial_mapped(trial: Trial) -> None:
    """jax.vmap pairs each row of the bound argument with its row; a scan uses one row after the other."""
    bound, x = trial.random(7, 3), trial.random(7, 3, seed=1)

    def body(partial: Callable[..., Any], bound: Any, x: Any) -> Any:
        subtract = partial(lax.sub, bound)
        rows = jax.vmap(lambda function, row: function(row))(subtract, x)
        return rows, lax.scan(lambda total, function: (function(total), None), jnp.zeros(3), subtract)[0]

    rows, folded = trial.call_inside(body, trial.tensor(bound), trial.tensor(x))
    expected = np.zeros(3)
    for row in widened(bound):
        expected = row - expected
    trial.close(rows, widened(bound) - x, dtype="float32")
    trial.close(folded, expected, dtype="float32")


def partial_nested(trial: Trial) -> None:
    """A partial of a partial calls with the inner one's arguments first, but only its own arguments are leaves."""
    one, two, three = (trial.random(4, seed=seed) for seed in range(3))
    inner = trial.call(lambda a, b, c: jnp.stack([a, b, c]), trial.tensor(one))
    outer = trial.call(inner, trial.tensor(two))
    trial.exact(outer(trial.tensor(three)), np.stack([one, two, three]), "float32")
    leaves = jax.tree_util.tree_leaves(outer)
    trial.equal(len(leaves), 1)
    trial.exact(leaves[0], two, "float32")

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


def partials_in_turn(trial: Trial) -> None:
    """Calls leave a partial as it is: arguments and keywords of one call are not there at the next one, nor in another
    partial of the same function, and a changed leaf is a new partial."""
    one, two, three = (trial.random(4, seed=seed) for seed in range(3))
    a, b, c = map(trial.tensor, (one, two, three))
    named = {"y": b}

    def body(partial: Callable[..., Any]) -> Any:
        def given(*args: Any, **kwargs: Any) -> Any:
            return [*args, *sorted(kwargs)], [kwargs[key] for key in sorted(kwargs)]

        first, second = partial(given, a, **named), partial(given, b)
        named["z"] = c
        outputs = [first(c), first(), first(b, x=a), second(), first(y=c), second(c, y=a), first()]
        doubled = jax.tree_util.tree_map(lambda leaf: 2 * leaf, first)
        return outputs, [doubled(), first(), doubled()], [len(first.args), len(second.args), sorted(first.keywords)]

    outputs, after, kept = trial.call_inside(body)
    expected: list[Any] = [
        ([one, three], {"y": two}),
        ([one], {"y": two}),
        ([one, two], {"x": one, "y": two}),
        ([two], {}),
        ([one], {"y": three}),
        ([two, three], {"y": one}),
        ([one], {"y": two}),
        ([2 * one], {"y": 2 * two}),
        ([one], {"y": two}),
        ([2 * one], {"y": 2 * two}),
    ]
    for (found, values), (wanted, keywords) in zip((*outputs, *after), expected):
        trial.equal(
            [item if isinstance(item, str) else trial.numpy(item) for item in found], [*wanted, *sorted(keywords)]
        )
        trial.equal(list(map(trial.numpy, values)), [keywords[key] for key in sorted(keywords)])
    trial.equal(kept, [1, 1, ["y"]])


def partials_compiled_in_turn(trial: Trial) -> None:
    """A compiled function takes partials of several functions and structures in turn, each with its own values; a
    partial can be its output, a loop's state and a branch's argument."""
    host, x = trial.random(4), trial.random(4, seed=1)
    trial.has_random_inputs = False  # other values would compile the same programs again

    def body(partial: Callable[..., Any], bound: Any, x: Any) -> Any:
        @jax.jit
        def applied(function: Callable[..., Any], x: Any, taken: Any) -> Any:
            chosen = lax.cond(taken, lambda f, x: f(x), lambda f, x: x, function, x)
            return function(x), function, chosen

        outputs = []
        for made in (partial(lax.sub, bound), partial(lax.mul, bound), partial(jnp.sin), partial(lax.sub, x)):
            value, same, chosen = applied(made, x, True)
            outputs += [value, same(x), chosen]
        grown = lax.fori_loop(
            0, 3, lambda _, f: jax.tree_util.tree_map(lambda leaf: 2 * leaf, f), partial(lax.sub, bound)
        )
        return outputs, grown(x)

    outputs, grown = trial.call_inside(body, trial.tensor(host), trial.tensor(x))
    expected = (widened(host) - x, widened(host) * x, np.sin(widened(x)), 0 * widened(x))
    for number, output in enumerate(outputs):
        trial.close(output, expected[number // 3], dtype="float32")
    trial.close(grown, 8 * widened(host) - x, dtype="float32")

"""Functions that trace others, several times in one process: other functions, types and values, in turn and nested."""

from __future__ import annotations

import functools
from typing import Any, Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.cases.partial_evaluation import wrapped

# jax.make_jaxpr


def jaxprs_in_turn(trial: Trial) -> None:
    """One function that traces gives each call its own jaxpr: for its shapes, dtypes, weak types and nesting, also
    again after another call; and of two functions with the same code each has its own values."""
    host, wide = trial.random(3), trial.random(2, 3, seed=1)
    runs: list[int] = []

    def times(factor: float) -> Callable[..., Any]:
        def multiplied(tree: Any) -> Any:
            runs.append(1)
            return [lax.mul(leaf, jnp.asarray(factor, leaf.dtype)) for leaf in jax.tree_util.tree_leaves(tree)]

        return multiplied

    x, y, n = trial.tensor(host), trial.tensor(wide), trial.tensor(np.arange(3, dtype="int32"))
    made = [trial.call(times(factor)) for factor in (2, -3)]
    for tree in (x, y, n, (x, y), {"a": y}, x):
        for factor, make in zip((2, -3), made):
            jaxpr = make(tree)
            leaves = jax.tree_util.tree_leaves(tree)
            types = [(leaf.shape, str(leaf.dtype)) for leaf in leaves]
            trial.equal([(aval.shape, str(aval.dtype)) for aval in jaxpr.in_avals], types)
            trial.equal([(aval.shape, str(aval.dtype)) for aval in jaxpr.out_avals], types)
            outputs = jax.core.eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *leaves)
            for output, leaf in zip(outputs, leaves):
                trial.close(output, factor * widened(trial.numpy(leaf)), dtype=str(leaf.dtype))
    trial.check(runs, "the function was not traced")
    weak = [bool(trial.call(lax.neg)(value).in_avals[0].weak_type) for value in (1.5, x[0], 1.5)]
    trial.equal(weak, [True, False, True])


def jaxprs_nested(trial: Trial) -> None:
    """Within a trace another function can be traced: its jaxpr has only its own equations, and so has the outer one.
    Compiled and mapped functions within are one equation and mapped equations."""
    host = trial.random(4)
    seen: list[Any] = []

    def body(make_jaxpr: Callable[..., Any], x: Any) -> Any:
        def inner(x: Any) -> Any:
            return lax.sin(lax.cos(x))

        def outer(x: Any) -> Any:
            seen[:] = [make_jaxpr(inner)(x)]
            return lax.exp(lax.neg(x)), lax.exp(x)

        return make_jaxpr(outer)(x), make_jaxpr(jax.jit(lambda x: lax.tanh(x)))(x), make_jaxpr(jax.vmap(inner))(x)

    outer, compiled, mapped = trial.call_inside(body, trial.tensor(host))
    trial.equal(_primitives(seen[0]), ["cos", "sin"])
    trial.equal(_primitives(outer), ["neg", "exp", "exp"])
    trial.equal(_primitives(mapped), ["cos", "sin"])
    trial.equal((len(compiled.eqns), compiled.eqns[0].params["name"]), (1, "<lambda>"))
    trial.equal(_primitives(compiled.eqns[0].params["jaxpr"]), ["tanh"])
    for jaxpr, expected in (
        (outer, [np.exp(-widened(host)), np.exp(widened(host))]),
        (seen[0], [np.sin(np.cos(widened(host)))]),
        (compiled, [np.tanh(widened(host))]),
    ):
        outputs = jax.core.eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, trial.tensor(host))
        for output, wanted in zip(outputs, expected):
            trial.close(output, wanted, dtype="float32")


def jaxpr_statics(trial: Trial) -> None:
    """Static arguments of several kinds and places each give their own trace, also again after another value."""
    host = trial.random(3)
    x = trial.tensor(host)

    def powers(x: Any, turns: int, name: str, scale: float) -> Any:
        for _ in range(turns):
            x = lax.mul(x, x)
        return {name: lax.mul(x, jnp.full_like(x, scale))}

    make = trial.call(powers, static_argnums=(1, 2, 3), return_shape=True)
    for turns, name, scale in (
        (1, "a", 2.0),
        (3, "a", 2.0),
        (1, "b", 2.0),
        (1, "a", -3.0),
        (0, "a", 2.0),
        (1, "a", 2.0),
    ):
        jaxpr, shapes = make(x, turns, name, scale)
        trial.equal((list(shapes), shapes[name].shape, len(jaxpr.in_avals)), ([name], (3,), 1))
        trial.equal(_primitives(jaxpr).count("mul"), turns + 1)
        (output,) = jax.core.eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, x)
        trial.close(output, scale * widened(host) ** 2**turns, rtol=3e-6, dtype="float32")


# jax.vjp


def pullbacks_in_turn(trial: Trial) -> None:
    """Pullbacks of one function at points of other shapes, dtypes and numbers of arguments are independent, also used
    in the reverse order and twice."""
    made = []

    def product(*factors: Any) -> Any:
        return functools.reduce(lambda left, right: left * right, factors)

    for shapes, dtype in (
        ([(3,)], "float32"),
        ([(3,), (3,)], "float32"),
        ([(2, 2)], "float16"),
        ([(3,), (2, 3)], "float32"),
    ):
        hosts = [trial.random(*shape, dtype=dtype, seed=seed, low=0.5, high=1.5) for seed, shape in enumerate(shapes)]
        output, pull_back = trial.call(product, *[trial.tensor(host, dtype) for host in hosts])
        expected = functools.reduce(lambda left, right: left * right, map(widened, hosts))
        trial.close(output, expected, rtol=2e-3 if dtype == "float16" else 1e-6, dtype=dtype)
        made.append((pull_back, hosts, expected, dtype))
    for turn in range(2):
        for pull_back, hosts, expected, dtype in reversed(made):
            cotangent = trial.random(*expected.shape, dtype=dtype, seed=9 + turn)
            pulled = pull_back(trial.tensor(cotangent, dtype))
            trial.equal((type(pulled), len(pulled)), (tuple, len(hosts)))
            for found, host in zip(pulled, hosts):
                slope = widened(cotangent) * expected / widened(host)
                summed = slope.sum(axis=0) if slope.ndim > host.ndim else slope
                # A product, a quotient, and a sum of two.
                allowed = 3e-3 if dtype == "float16" else 3e-6
                trial.close(found, summed, rtol=allowed, atol=allowed, dtype=dtype)


def pullback_with_aux(trial: Trial) -> None:
    """The second output of has_aux is not differentiated: it may be of any kind, is the same at each call for its own
    point, and the function runs once for each call of vjp."""
    hosts = [trial.random(4, seed=seed) for seed in range(2)]
    runs: list[int] = []

    def wave(x: Any) -> Any:
        runs.append(1)
        return jnp.sin(x).sum(), {"x": x, "count": jnp.int32(len(runs)), "none": None}

    made = [(host, *trial.call(wave, trial.tensor(host), has_aux=True)) for host in (*hosts, hosts[0])]
    trial.equal(len(runs), 3)
    for number, (host, output, pull_back, extra) in enumerate(made):
        trial.close(output, np.sin(widened(host)).sum(), atol=1e-6, dtype="float32")
        trial.equal((sorted(extra), extra["none"]), (["count", "none", "x"], None))
        trial.exact(extra["x"], host, "float32")
        trial.exact(extra["count"], number + 1, "int32")
        (pulled,) = pull_back(jnp.float32(-2))
        trial.close(pulled, -2 * np.cos(widened(host)), dtype="float32")
    trial.equal(len(runs), 3)


# jax.lax.stop_gradient


def stopped_in_turn(trial: Trial) -> None:
    """It stops derivatives at each call, not only at the first, and only of what it is given: in turn with calls
    outside of a derivative, of plain numbers and of another array."""
    host, other = trial.random(5), trial.random(5, seed=1)
    x, y = trial.tensor(host), trial.tensor(other)

    def body(stop_gradient: Callable[..., Any], x: Any, y: Any) -> Any:
        def product(x: Any, y: Any) -> Any:
            return jnp.sum(stop_gradient(x) * x * y + stop_gradient(y) * y)

        slopes = [jax.grad(product, argnums=(0, 1))(x, y)]
        plain = stop_gradient(x), stop_gradient(2.5)
        slopes.append(jax.grad(product, argnums=(0, 1))(x, y))
        return slopes, plain, jax.grad(lambda x: jnp.sum(stop_gradient(x)))(x), jax.jvp(stop_gradient, (x,), (y,))

    slopes, (same, number), none, (value, tangent) = trial.call_inside(body, x, y)
    for to_x, to_y in slopes:
        trial.close(to_x, widened(host) * other, dtype="float32")
        trial.close(to_y, widened(host) ** 2 + other, dtype="float32")
    trial.exact(same, host, "float32")
    trial.equal(float(number), 2.5)
    trial.exact(none, np.zeros(5), "float32")
    trial.exact(value, host, "float32")
    trial.close(tangent, np.zeros(5), dtype="float32")


# trace_to_jaxpr_dynamic


def traces_in_turn(trial: Trial) -> None:
    """Traces of other functions and types, and one within another, have their own equations, inputs and outputs."""
    hosts = [trial.random(3, seed=seed) for seed in range(2)]
    trial.repeatable = False  # a wrapped function can be traced only once

    def traced(function: Callable[..., Any], *types: tuple[Sequence[int], str]) -> Any:
        avals = [jax.core.ShapedArray(tuple(shape), trial.dtype(dtype)) for shape, dtype in types]
        return trial.call(wrapped(function, len(avals)), avals)

    three, pair, count = ((3,), "float32"), ((2, 3), "float32"), ((3,), "int32")
    for types, names, function in (
        ((three, three), ["sub"], lambda a, b: [lax.sub(a, b)]),
        ((pair,), ["neg", "neg"], lambda a: [lax.neg(lax.neg(a))]),
        ((count, count), ["sub"], lambda a, b: [lax.sub(a, b)]),
        ((three,), [], lambda a: [a, a]),
        ((three, three), ["sub"], lambda a, b: [lax.sub(b, a)]),
    ):
        jaxpr, avals, _ = traced(function, *types)
        trial.equal(_primitives(jaxpr), names)
        trial.equal([(var.aval.shape, str(var.aval.dtype)) for var in jaxpr.invars], list(types))
        trial.equal([(aval.shape, str(aval.dtype)) for aval in avals], [types[0]] * len(jaxpr.outvars))
    outputs = jax.core.eval_jaxpr(jaxpr, [], *map(trial.tensor, hosts))
    trial.close(outputs[0], widened(hosts[1]) - hosts[0], dtype="float32")
    inner: list[Any] = []

    def nested(trace: Callable[..., Any]) -> Any:
        def outer(a: Any) -> Any:
            inner[:] = [trace(wrapped(lambda b: [lax.cos(b)], 1), avals)[0]]
            return [lax.sin(a)]

        return trace(wrapped(outer, 1), avals)[0]

    trial.equal((_primitives(trial.call_inside(nested)), _primitives(inner[0])), (["sin"], ["cos"]))


def _primitives(jaxpr: Any) -> list[str]:
    return [equation.primitive.name for equation in jaxpr.eqns]

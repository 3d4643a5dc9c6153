"""JAX's core: the types of values, evaluation in the midst of a trace, and trees taken apart and put together."""

from __future__ import annotations

from collections import OrderedDict
from functools import lru_cache
from typing import Any, Callable, NamedTuple, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.double import x64

_PYTHON = {"bool": True, "int32": 7, "float32": 2.5, "complex64": 1 + 2j}


class _Pair(NamedTuple):
    first: Any
    second: Any


# The abstract value


def aval_of_array(trial: Trial, shape: Sequence[int], dtype: str = "float32") -> None:
    """The abstract value of an array has its shape, its dtype and no weak type."""
    aval = trial.call(trial.tensor(trial.random(*shape, dtype=dtype), dtype))
    _check_aval(trial, aval, tuple(shape), dtype, False)


def aval_of_number(trial: Trial, kind: str) -> None:
    """A Python number is a scalar of a weak type, which gives way to that of an array; a truth's is not weak."""
    _check_aval(trial, trial.call(_PYTHON[kind]), (), kind, kind != "bool")


def aval_of_host_array(trial: Trial, types: Sequence[str]) -> None:
    """An array of the host counts as what it becomes on the device: of 64 bits 32 are left.

    ``types``: the dtype on the host and that which is told.
    """
    dtype, expected = types
    _check_aval(trial, trial.call(trial.random(3, 2, dtype=dtype)), (3, 2), expected, False)


def aval_double(trial: Trial, dtype: str) -> None:
    """With 64-bit types switched on, those arrays keep their types."""

    def body(get_aval: Callable[..., Any], x: Any) -> Any:
        with x64():
            return get_aval(x)

    with x64():
        moved = trial.tensor(trial.random(4, dtype=dtype))
    _check_aval(trial, trial.call_inside(body, moved), (4,), dtype, False)


def aval_in_trace(trial: Trial, transformation: str) -> None:
    """Inside a transformed function it tells what is known there: under vmap a row's shape, under jit no values."""
    host = trial.random(6, 5)
    seen: list[Any] = []

    def body(get_aval: Callable[..., Any], x: Any) -> Any:
        seen.clear()

        def doubled(x: Any) -> Any:
            seen.append(get_aval(x))
            return 2 * x

        if transformation == "jit":
            return jax.jit(doubled)(x)
        if transformation == "vmap":
            return jax.vmap(doubled)(x)
        return jax.jvp(doubled, (x,), (x,))[1]

    output = trial.call_inside(body, trial.tensor(host))
    trial.close(output, 2 * widened(host), dtype="float32")
    trial.equal(len(seen), 1)
    _check_aval(trial, seen[0], (5,) if transformation == "vmap" else (6, 5), "float32", False)


def aval_as_type(trial: Trial) -> None:
    """Values of one type have equal abstract ones once raised to a shape, and it can stand in for one in a trace."""
    host = trial.random(3, 4)
    aval = trial.call(trial.tensor(host))
    traced = jax.eval_shape(lambda x: x.T @ x, jax.ShapeDtypeStruct(aval.shape, aval.dtype))
    trial.equal((traced.shape, str(traced.dtype)), ((4, 4), "float32"))
    _check_aval(trial, aval, (3, 4), "float32", False)
    trial.equal((aval.ndim, aval.size), (2, 12))


def _check_aval(trial: Trial, aval: Any, shape: tuple[int, ...], dtype: str, weak: bool) -> None:
    trial.check(isinstance(aval, jax.core.ShapedArray), f"{type(aval).__name__} is no abstract value with a shape")
    trial.equal((aval.shape, str(aval.dtype), bool(aval.weak_type)), (shape, dtype, weak))


# Evaluation at once


def evaluated_in_jit(trial: Trial, factor: float) -> None:
    """In a compiled function, what is computed inside of the context has a value at once; after it there is none."""
    host = trial.random(32)
    seen: list[Any] = []

    def body(eval_context: Callable[..., Any], x: Any) -> Any:
        seen.clear()

        @jax.jit
        def scaled(x: Any) -> Any:
            with eval_context():
                inside = jnp.sin(jnp.float32(factor))
                sign = 1 if inside > 0 else -1
            after = jnp.sin(jnp.float32(factor))
            seen.append((_traced(inside), _traced(after), sign))
            return sign * x + after

        return scaled(x)

    output = trial.call_inside(body, trial.tensor(host))
    trial.equal(seen, [(False, True, 1 if np.sin(factor) > 0 else -1)])
    trial.close(output, np.sign(np.sin(factor)) * widened(host) + np.sin(factor), dtype="float32")


def evaluated_leaves_no_trace(trial: Trial) -> None:
    """What was computed inside of the context is a constant of the jaxpr: its equations do not stand there."""
    host, table = trial.random(16), trial.random(16, seed=1)
    moved = trial.tensor(table)

    def body(eval_context: Callable[..., Any], x: Any) -> Any:
        def shifted(x: Any, eager: bool) -> Any:
            if not eager:
                return lax.add(x, lax.sin(lax.cos(moved)))
            with eval_context():
                constant = lax.sin(lax.cos(moved))
            return lax.add(x, constant)

        return jax.make_jaxpr(shifted, static_argnums=1)(x, True), jax.make_jaxpr(shifted, static_argnums=1)(x, False)

    eager, traced = trial.call_inside(body, trial.tensor(host))
    trial.equal([equation.primitive.name for equation in eager.eqns], ["add"])
    trial.equal([equation.primitive.name for equation in traced.eqns], ["cos", "sin", "add"])
    expected = widened(host) + np.sin(np.cos(widened(table)))
    for jaxpr in (eager, traced):
        (output,) = jax.core.eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, trial.tensor(host))
        trial.close(output, expected, dtype="float32")


def evaluated_shape(trial: Trial) -> None:
    """Inside of it a shape may depend on values, even in a compiled function."""
    host, mask = trial.random(10, 4), trial.random(10, dtype="bool", seed=1)
    moved = trial.tensor(mask)

    def body(eval_context: Callable[..., Any], x: Any) -> Any:
        @jax.jit
        def chosen(x: Any) -> Any:
            with eval_context():
                (places,) = jnp.nonzero(moved)
            return x[places] * 2

        return chosen(x)

    output = trial.call_inside(body, trial.tensor(host))
    trial.close(output, 2 * widened(host)[mask], dtype="float32")


def evaluated_in_gradient(trial: Trial) -> None:
    """Inside a function that is differentiated and mapped, a constant is computed and takes no part in the slope."""
    host = trial.random(20)
    seen: list[bool] = []

    def body(eval_context: Callable[..., Any], x: Any) -> Any:
        seen.clear()

        def loss(x: Any) -> Any:
            with eval_context():
                constant = jnp.exp(jnp.float32(0.5))
            seen.append(_traced(constant))
            return constant * jnp.sin(x)

        return jax.vmap(jax.grad(loss))(x)

    output = trial.call_inside(body, trial.tensor(host))
    trial.equal(seen, [False])
    trial.close(output, np.exp(0.5) * np.cos(widened(host)), dtype="float32")


def evaluated_in_scan(trial: Trial, dtype: str) -> None:
    """In the body of a scan, which is traced once, the constant is computed once and added in every turn."""
    host = trial.random(9, dtype=dtype, seed=2)
    seen: list[Any] = []

    def body(eval_context: Callable[..., Any], start: Any, xs: Any) -> Any:
        seen.clear()

        def step(total: Any, x: Any) -> Any:
            with eval_context():
                constant = jnp.sum(jnp.arange(4, dtype=x.dtype))
            seen.append(None if _traced(constant) else constant)
            return total + x + constant, total

        return lax.scan(step, start, xs)

    total, before = trial.call_inside(body, trial.tensor(np.zeros((), dtype)), trial.tensor(host))
    sums = np.cumsum(widened(host) + 6)
    trial.equal({value is None for value in seen}, {False})
    trial.equal(float(seen[0]), 6.0)
    # Nine sums in a row.
    allowed = 5e-6 if dtype == "float32" else 0.0
    trial.close(total, sums[-1], rtol=allowed, dtype=dtype)
    trial.close(before, np.concatenate([[0], sums[:-1]]), rtol=allowed, dtype=dtype)


def evaluated_after_error(trial: Trial) -> None:
    """An exception leaves the context as an end does: the trace goes on, and the next function compiles."""
    host = trial.random(8)
    seen: list[bool] = []

    def body(eval_context: Callable[..., Any], x: Any) -> Any:
        seen.clear()

        @jax.jit
        def survived(x: Any) -> Any:
            try:
                with eval_context():
                    seen.append(_traced(jnp.ones(3) + 1))
                    raise KeyError("inside")
            except KeyError:
                seen.append(_traced(jnp.ones(3) + 1))
            return x + 1

        return survived(x)

    output = trial.call_inside(body, trial.tensor(host))
    trial.equal(seen, [False, True])
    trial.close(output, widened(host) + 1, dtype="float32")


def evaluated_outside(trial: Trial) -> None:
    """Outside of any trace it changes nothing, and compiled functions run inside of it, nested too."""
    host = trial.random(50)

    def body(eval_context: Callable[..., Any], x: Any) -> Any:
        with eval_context():
            first = jnp.cos(x)
            with eval_context():
                second = jax.jit(jnp.sin)(first)
            return first, second, first + second

    outputs = trial.call_inside(body, trial.tensor(host))
    first = np.cos(widened(host))
    for output, expected in zip(outputs, (first, np.sin(first), first + np.sin(first))):
        trial.close(output, expected, dtype="float32")


# jax.tree_util.Partial


def partial_called(trial: Trial, dtype: str) -> None:
    """It calls the function with the bound arguments first, then those of the call; names of the call win."""
    one, two, three = (trial.random(6, dtype=dtype, seed=seed) for seed in range(3))
    a, b, c = (trial.tensor(host, dtype) for host in (one, two, three))

    def body(partial: Callable[..., Any], a: Any, b: Any, c: Any) -> Any:
        def ordered(*args: Any, **named: Any) -> Any:
            return jnp.stack(args), jnp.stack([named[key] for key in sorted(named)])

        return partial(ordered, a, y=b, x=c)(b, c, x=a)

    stacked, named = trial.call_inside(body, a, b, c)
    one, two, three = (trial.numpy(moved) for moved in (a, b, c))
    trial.close(stacked, np.stack([one, two, three]), rtol=0, atol=0, dtype=dtype)
    trial.close(named, np.stack([one, two]), rtol=0, atol=0, dtype=dtype)


def partial_as_tree(trial: Trial) -> None:
    """Its leaves are the bound arguments; mapped over, it is a partial of the same function with the new ones."""
    host, scale = trial.random(5), trial.random(5, seed=1)
    partial = trial.call(lax.mul, trial.tensor(host))
    leaves = jax.tree_util.tree_leaves(partial)
    trial.equal(len(leaves), 1)
    trial.close(leaves[0], host, rtol=0, atol=0, dtype="float32")
    trial.equal((partial.func is lax.mul, len(partial.args), partial.keywords), (True, 1, {}))
    doubled = jax.tree_util.tree_map(lambda leaf: 2 * leaf, partial)
    trial.close(doubled(trial.tensor(scale)), 2 * widened(host) * scale, dtype="float32")
    trial.check(type(doubled) is type(partial), f"mapped over it is a {type(doubled).__name__}")


def partial_in_jit(trial: Trial) -> None:
    """It is an argument of a compiled function, which is traced again for another function but not for other values."""
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
    """The gradient by a partial is a partial that holds the gradients by its bound arguments."""
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
    """Mapped over with jax.vmap, each row of the bound argument meets its row; scanned over, one after the other."""
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
    """A partial of a partial keeps the inner one's arguments first, but only its own are leaves."""
    one, two, three = (trial.random(4, seed=seed) for seed in range(3))
    inner = trial.call(lambda a, b, c: jnp.stack([a, b, c]), trial.tensor(one))
    outer = trial.call(inner, trial.tensor(two))
    trial.close(outer(trial.tensor(three)), np.stack([one, two, three]), rtol=0, atol=0, dtype="float32")
    leaves = jax.tree_util.tree_leaves(outer)
    trial.equal(len(leaves), 1)
    trial.close(leaves[0], two, rtol=0, atol=0, dtype="float32")


# jax.tree_util.tree_unflatten


def unflattened(trial: Trial, dtype: str) -> None:
    """New leaves take the places of the old ones: a dict's by sorted keys, a named tuple's by its fields."""
    hosts = [np.asarray(trial.random(2, 3, dtype=dtype, seed=seed)) for seed in range(5)]
    leaves = [trial.tensor(host, dtype) for host in hosts]
    structure = jax.tree_util.tree_structure({"b": [0, (0,)], "a": _Pair(0, {"z": 0, "y": 0}), "none": None})
    output = trial.call(structure, leaves)
    trial.equal((sorted(output), output["none"]), (["a", "b", "none"], None))
    trial.equal([type(output["a"]) is _Pair, type(output["b"]) is list, type(output["b"][1]) is tuple], [True] * 3)
    trial.equal((sorted(output["a"].second), len(output["b"]), len(output["b"][1])), (["y", "z"], 2, 1))
    pair, (first, (second,)) = output["a"], output["b"]
    for found, moved in zip((pair.first, pair.second["y"], pair.second["z"], first, second), leaves):
        trial.close(found, trial.numpy(moved), rtol=0, atol=0, dtype=dtype)


def unflattened_round(trial: Trial, kind: str) -> None:
    """Flattened and put together, a tree is what it was: same containers, same order, same leaves."""
    trees: dict[str, Any] = {
        "ordered": OrderedDict([("z", 1), ("a", (2, 3))]),
        "empty": {"more": [(), {}], "nothing": None},
        "leaf": 42,
        "deep": [[[[[5]]]], {"x": {"y": (6, [7, None])}}],
        "named": _Pair([1, 2], _Pair(3, "four")),
    }
    leaves, structure = jax.tree_util.tree_flatten(trees[kind])
    output = trial.call(structure, leaves)
    trial.equal(repr(output), repr(trees[kind]))
    trial.equal(jax.tree_util.tree_structure(output) == structure, True)


def unflattened_iterator(trial: Trial) -> None:
    """The leaves may come from a generator, of any kind, and are not looked into."""
    structure = jax.tree_util.tree_structure((0, [0, 0]))
    trial.repeatable = False  # a generator is used up by one call
    output = trial.call(structure, (leaf for leaf in ({"a": 1}, "text", trial.tensor(np.float32(3)))))
    trial.equal((output[0], output[1][0]), ({"a": 1}, "text"))
    trial.close(output[1][1], np.float32(3), dtype="float32")


def unflattened_many(trial: Trial, leaves: int) -> None:
    """Each of many leaves stands in its place."""
    host = trial.random(leaves)
    structure = jax.tree_util.tree_structure({f"{index:05}": [0] for index in range(leaves)})
    output = trial.call(structure, [trial.tensor(value) for value in host])
    trial.equal(list(output), [f"{index:05}" for index in range(leaves)])
    trial.equal(np.array(trial.numpy([leaf for (leaf,) in output.values()])), host)
    trial.equal({trial.dtype_name(leaf) for (leaf,) in output.values()}, {"float32"})


def unflattened_in_trace(trial: Trial) -> None:
    """Inside a compiled and differentiated function it puts traced leaves together."""
    weight, bias, x = trial.random(3, 2), trial.random(2, seed=1), trial.random(3, seed=2)
    structure = jax.tree_util.tree_structure({"bias": 0, "weight": 0})

    def body(tree_unflatten: Callable[..., Any], leaves: Any, x: Any) -> Any:
        return _layer_and_gradient(tree_unflatten, structure)(leaves, x)

    leaves = [trial.tensor(bias), trial.tensor(weight)]
    output, (to_bias, to_weight) = trial.call_inside(body, leaves, trial.tensor(x))
    # Sums of three products.
    trial.close(output, widened(x) @ weight + bias, rtol=1e-5, dtype="float32")
    trial.close(to_bias, np.ones(2), dtype="float32")
    trial.close(to_weight, np.repeat(widened(x)[:, None], 2, axis=1), dtype="float32")


@lru_cache(maxsize=1)
def _layer_and_gradient(tree_unflatten: Callable[..., Any], structure: Any) -> Callable[..., Any]:
    """Compiled once for each function, so that calling again does not compile again."""

    def layer(leaves: Any, x: Any) -> Any:
        parameters = tree_unflatten(structure, leaves)
        return x @ parameters["weight"] + parameters["bias"]

    return jax.jit(lambda leaves, x: (layer(leaves, x), jax.grad(lambda leaves: jnp.sum(layer(leaves, x)))(leaves)))


def _traced(value: Any) -> bool:
    return isinstance(value, jax.core.Tracer)

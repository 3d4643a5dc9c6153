"""Functions that trace others, within other transformations and with several options together."""

from __future__ import annotations

import functools
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.cases.partial_evaluation import wrapped

# jax.vjp


def vjp_within(trial: Trial) -> None:
    """Called within a mapped, scanned and compiled function, it gives each row its own value and cotangents, for three
    outputs in a dict and three arguments."""
    hosts = [trial.random(4, 3, seed=seed) for seed in range(3)]

    def body(vjp: Callable[..., Any], *rows: Any) -> Any:
        def each(a: Any, b: Any, c: Any) -> Any:
            output, pull_back = vjp(lambda a, b, c: {"x": a * b, "y": jnp.sin(c), "z": a - c}, a, b, c)
            return output["x"], pull_back({"x": c, "y": a, "z": b})

        def step(total: Any, row: Any) -> Any:
            return total + 1, each(*row)

        return jax.jit(lambda *rows: (jax.vmap(each)(*rows), lax.scan(step, 0, rows)[1]))(*rows)

    a, b, c = map(widened, hosts)
    trial.has_random_inputs = False  # other values would compile the same program again
    for output, pulled in trial.call_inside(body, *map(trial.tensor, hosts)):
        trial.close(output, a * b, dtype="float32")
        for found, expected in zip(pulled, (c * b + b, c * a, a * np.cos(c) - b)):
            trial.close(found, expected, rtol=2e-6, atol=1e-6, dtype="float32")


def vjp_dtypes(trial: Trial) -> None:
    """Each cotangent has the dtype and shape of its own argument, also among others: half precision, a scalar, a plain
    number and arrays that have no influence."""
    dtypes = ("bfloat16", "float16", "float32", "complex64")
    hosts = [trial.random(3, dtype=dtype, seed=seed, low=0.5, high=1.5) for seed, dtype in enumerate(dtypes)]
    arrays = [trial.tensor(host, dtype) for host, dtype in zip(hosts, dtypes)]

    def separate(a: Any, b: Any, c: Any, d: Any, unused: Any) -> Any:
        return 2 * a, (b + b, -c), d * 2

    output, pull_back = trial.call(separate, *arrays, arrays[1][:2])
    flat = [output[0], *output[1], output[2]]
    trial.equal([trial.dtype_name(leaf) for leaf in flat], list(dtypes))
    pulled = pull_back((arrays[0], (arrays[1], arrays[2]), arrays[3]))
    for found, array, dtype, factor in zip(pulled, arrays, dtypes, (2, 2, -1, 2)):
        trial.close(found, factor * widened(trial.numpy(array)), dtype=dtype)
    trial.exact(pulled[4], np.zeros(2), "float16")


def vjp_of_control_flow(trial: Trial) -> None:
    """Only the chosen branch has cotangents, a loop multiplies them, an element that is read twice has both, and a
    function that is computed again or has its own forward rule has the same ones."""
    host = trial.random(4, low=0.5, high=1.5)

    @jax.custom_jvp
    def doubled(x: Any) -> Any:
        return x * x

    doubled.defjvp(lambda primals, tangents: (primals[0] ** 2, 3 * tangents[0]))
    functions = (
        (lambda x: lax.cond(x[0] > 0, jnp.sin, jnp.cos, x), np.sin, np.cos),
        (lambda x: lax.fori_loop(0, 3, lambda _, x: 2 * x, x), lambda x: 8 * x, lambda x: 8 + 0 * x),
        (lambda x: x[np.array([0, 0, 3, 1])], lambda x: x[[0, 0, 3, 1]], lambda x: np.array([2, 1, 0, 1])),
        (jax.checkpoint(jnp.sin), np.sin, np.cos),
        (doubled, np.square, lambda x: 3 + 0 * x),
    )
    trial.has_random_inputs = False  # other values would compile the same programs again
    for function, value, slope in functions:
        output, pull_back = trial.call(function, trial.tensor(host))
        trial.close(output, value(widened(host)), dtype="float32")
        (pulled,) = pull_back(trial.tensor(np.ones(4)))
        trial.close(pulled, slope(widened(host)), dtype="float32")


# jax.make_jaxpr


def jaxpr_is_complete(trial: Trial) -> None:
    """Equations and inputs without influence stay in the jaxpr; captured arrays keep their order; outputs may be an
    input, twice the same value, or a plain number; keyword arguments are inputs in the order of their names."""
    host, table = trial.random(3), trial.random(2, 3, seed=1)
    x, (one, two) = trial.tensor(host), map(trial.tensor, table)

    def function(x: Any, unused: Any, *, z: Any, b: Any) -> Any:
        lax.exp(x)
        y = lax.sub(lax.mul(x, one), two)
        return y, x, y, 2.5, (b, z)

    def body(make_jaxpr: Callable[..., Any], x: Any) -> Any:
        return make_jaxpr(function)(x, np.zeros((2, 2), "int8"), z=np.float16(3), b=np.int32(4))

    jaxpr = trial.call_inside(body, x)
    trial.equal([equation.primitive.name for equation in jaxpr.eqns], ["exp", "mul", "sub"])
    types = [(aval.shape, str(aval.dtype)) for aval in jaxpr.in_avals]
    trial.equal(types, [((3,), "float32"), ((2, 2), "int8"), ((), "int32"), ((), "float16")])
    trial.equal([str(aval.dtype) for aval in jaxpr.out_avals], ["float32"] * 4 + ["int32", "float16"])
    outputs = jax.core.eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, x, np.zeros((2, 2), "int8"), np.int32(4), np.float16(3))
    expected = widened(host) * table[0] - table[1]
    for output, wanted in zip(outputs, (expected, host, expected, 2.5, 4, 3)):
        trial.close(jnp.asarray(output), wanted)


def jaxpr_options(trial: Trial) -> None:
    """A static argument, two named axes and the shapes of outputs of several dtypes, all together; and
    within a compiled, mapped and differentiated function, of its traced values."""
    host = trial.random(4, 3)
    seen: list[Any] = []

    def function(x: Any, factor: int) -> Any:
        total = lax.psum(1, "rows") + 10 * lax.psum(1, "columns")
        return {"half": x.astype("float16"), "more": [x > 0, x.astype("int8"), x[None] * factor * total]}

    def body(make_jaxpr: Callable[..., Any], x: Any) -> Any:
        seen.clear()
        axes = [("rows", 4), ("columns", 7)]
        options = {"static_argnums": 1, "axis_env": axes, "return_shape": True}
        make = make_jaxpr(function, **options)

        def traced(row: Any) -> Any:
            seen.append(make_jaxpr(lambda row: lax.sin(row))(row))
            return jnp.sum(row * row)

        return make(x, 3), jax.jit(jax.vmap(jax.grad(traced)))(x)

    x = trial.tensor(host)
    (jaxpr, shapes), slope = trial.call_inside(body, x)
    leaves = jax.tree_util.tree_leaves(shapes)
    types = [((4, 3), "float16"), ((4, 3), "bool"), ((4, 3), "int8"), ((1, 4, 3), "float32")]
    trial.equal((sorted(shapes), len(jaxpr.in_avals)), (["half", "more"], 1))
    trial.equal([(leaf.shape, str(leaf.dtype)) for leaf in leaves], types)
    *_, last = jax.core.eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, x)
    trial.close(last, 3 * 74 * widened(host)[None], dtype="float32")
    trial.close(slope, 2 * widened(host), dtype="float32")
    trial.equal([(each.in_avals[0].shape, len(each.eqns)) for each in seen], [((3,), 1)])


# trace_to_jaxpr_dynamic


def trace_is_complete(trial: Trial) -> None:
    """Equations and inputs without influence stay; an output can be an input, the same value twice or a number; what a
    compiled or mapped function within computes is in the jaxpr."""
    host = trial.random(2, 3)
    avals = [jax.core.ShapedArray((2, 3), trial.dtype("float32")), jax.core.ShapedArray((), trial.dtype("int8"))]

    def function(x: Any, unused: Any) -> Any:
        lax.exp(x)
        y = jax.vmap(lambda row: lax.neg(row))(x)
        return [y, x, y, 2.5, jax.jit(lambda x: lax.sin(lax.cos(x)))(x)]

    trial.repeatable = False  # a wrapped function can be traced only once
    jaxpr, types, constants = trial.call(wrapped(function, 2), avals)
    names = [equation.primitive.name for equation in jaxpr.eqns]
    trial.equal((names[:2], len(names), len(jaxpr.invars), len(constants)), (["exp", "neg"], 3, 2, 0))
    trial.equal(
        [(aval.shape, str(aval.dtype)) for aval in types],
        [((2, 3), "float32")] * 3 + [((), "float32")] + [((2, 3), "float32")],
    )
    outputs = jax.core.eval_jaxpr(jaxpr, [], trial.tensor(host), np.int8(0))
    x = widened(host)
    for output, expected in zip(outputs, (-x, x, -x, 2.5, np.sin(np.cos(x)))):
        trial.close(jnp.asarray(output), expected)


# jax.named_call


def named_within(trial: Trial) -> None:
    """The name is there within loops, branches, mapped and compiled functions, and is not there after them; the new
    function has the name and text of the old one."""
    host = trial.random(3, 4)

    def described(x: Any) -> Any:
        """Return the sine."""
        return jnp.sin(x)

    def body(named_call: Callable[..., Any], x: Any) -> Any:
        wave, other = named_call(described, name="wave"), named_call(jnp.cos, name="other")

        def mixed(x: Any) -> Any:
            looped = lax.fori_loop(0, 2, lambda _, x: jnp.tanh(wave(x)), x)
            chosen = lax.cond(x[0, 0] > 9, other, lambda x: x + 1, x)
            rows = jax.vmap(jax.jit(lambda row: jnp.exp(wave(row))))(x)
            return looped, chosen, rows

        compiled = jax.jit(mixed).lower(x).compile()
        return _names(compiled), compiled(x), (wave.__name__, wave.__doc__, named_call(described).__name__)

    names, (looped, chosen, rows), texts = trial.call_inside(body, trial.tensor(host))
    trial.equal(texts, ("described", "Return the sine.", "described"))
    for last, name in (("sin", "wave"), ("cos", "other")):
        found = [path for path in names if path.endswith("/" + last)]
        trial.check(found and all(f"{name}" in path.split("/")[-2] for path in found), f"{last}: {found}")
    for last in ("tanh", "exp", "add"):
        found = [path for path in names if path.endswith("/" + last)]
        trial.check(not any("wave" in path or "other" in path for path in found), f"{last}: {found}")
    x = widened(host)
    trial.close(looped, np.tanh(np.sin(np.tanh(np.sin(x)))), dtype="float32")
    trial.close(chosen, x + 1, dtype="float32")
    trial.close(rows, np.exp(np.sin(x)), dtype="float32")


def _names(compiled: Any) -> list[str]:
    """Return the names of the operations of a compiled program."""
    text = compiled.as_text()
    return [part.split('"')[0] for part in text.split('op_name="')[1:]]


# jax.tree_util.Partial


def partial_of_partials(trial: Trial) -> None:
    """Arguments that a functools.partial within has bound come first, and are no leaves; a function with its own
    arguments by name gets those of all, the last ones first."""
    one, two, three = (trial.random(4, seed=seed) for seed in range(3))

    def given(*args: Any, **kwargs: Any) -> Any:
        return [*args, *(kwargs[key] for key in sorted(kwargs))]

    a, b, c = map(trial.tensor, (one, two, three))
    partial = trial.call(functools.partial(given, a, y=a), b, x=c)
    leaves, structure = jax.tree_util.tree_flatten(partial)
    for found, host in zip((*leaves, *partial(c)), (two, three, one, two, three, three, one)):
        trial.exact(found, host, "float32")
    trial.equal((len(leaves), len(partial(c)), len(partial(c, y=b))), (2, 5, 5))
    trial.exact(partial(c, y=b)[4], two, "float32")
    again = jax.tree_util.tree_unflatten(structure, [c, a])
    for found, host in zip(again(), (one, three, one, one)):
        trial.exact(found, host, "float32")

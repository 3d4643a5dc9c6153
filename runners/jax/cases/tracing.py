"""jax.make_jaxpr: a function's trace. Every body creates a new function, because JAX caches traces."""

from __future__ import annotations

from typing import Any, Callable

import jax
import numpy as np
from jax import lax

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial

_NUMPY: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "add_any": np.add,
    "cos": np.cos,
    "exp": np.exp,
    "mul": np.multiply,
    "neg": np.negative,
    "sin": np.sin,
    "sub": np.subtract,
}


def jaxpr_evaluated(trial: Trial, dtype: str) -> None:
    """The equations of the jaxpr, evaluated by NumPy one after the other, give the function's output."""
    left, right = (trial.random(6, 4, dtype=dtype, seed=seed) for seed in (0, 1))

    def body(make_jaxpr: Callable[..., Any], left: Any, right: Any) -> Any:
        return make_jaxpr(lambda a, b: (lax.sub(lax.mul(a, b), b), lax.neg(a)))(left, right)

    jaxpr = trial.call_inside(body, trial.tensor(left), trial.tensor(right))
    trial.equal([str(aval.dtype) for aval in (*jaxpr.in_avals, *jaxpr.out_avals)], [dtype] * 4)
    trial.equal([aval.shape for aval in (*jaxpr.in_avals, *jaxpr.out_avals)], [(6, 4)] * 4)
    a, b = widened(left), widened(right)
    difference, negative = _evaluated(jaxpr, a, b)
    trial.close(difference, a * b - b)
    trial.close(negative, -a)


def jaxpr_of_gradient(trial: Trial) -> None:
    """The trace of a gradient has the equations of the derivative and no sine of the value."""
    host = trial.random(10)

    def body(make_jaxpr: Callable[..., Any], x: Any) -> Any:
        return make_jaxpr(jax.vmap(jax.grad(lambda x: lax.mul(lax.sin(x), x))))(x)

    jaxpr = trial.call_inside(body, trial.tensor(host))
    x = widened(host)
    (gradient,) = _evaluated(jaxpr, x)
    trial.close(np.broadcast_to(gradient, x.shape), np.cos(x) * x + np.sin(x))


def jaxpr_of_constant(trial: Trial) -> None:
    """An array that the function captures is part of the jaxpr, with its values."""
    constant, host = trial.random(8), trial.random(8, seed=1)
    captured = trial.tensor(constant)
    jaxpr = trial.call_inside(lambda make, x: make(lambda x: lax.add(x, captured))(x), trial.tensor(host))
    trial.equal(len(jaxpr.in_avals), 1)
    (total,) = _evaluated(jaxpr, widened(host), constants=[widened(value) for value in trial.numpy(jaxpr.consts)])
    trial.close(total, widened(host) + constant)


def jaxpr_of_loops(trial: Trial, count: int) -> None:
    """A Python loop gives one equation for each iteration, a scan one equation with the number of iterations."""

    def unrolled(x: Any) -> Any:
        for _ in range(count):
            x = lax.sin(x)
        return x

    def scanned(x: Any) -> Any:
        return lax.scan(lambda carry, _: (lax.sin(carry), None), x, None, length=count)[0]

    def body(make_jaxpr: Callable[..., Any], x: Any) -> Any:
        return make_jaxpr(lambda x: unrolled(x))(x), make_jaxpr(lambda x: scanned(x))(x)

    host = trial.random(4)
    loop, scan = trial.call_inside(body, trial.tensor(host))
    trial.equal(_primitives(loop), ["sin"] * count)
    trial.equal(_primitives(scan), ["scan"])
    trial.equal(scan.eqns[0].params["length"], count)
    trial.equal(_primitives(scan.eqns[0].params["jaxpr"]), ["sin"])
    x = widened(host)
    (output,) = _evaluated(loop, x)
    for _ in range(count):
        x = np.sin(x)
    trial.close(output, x)


def jaxpr_of_branches(trial: Trial) -> None:
    """A cond keeps both branches in the jaxpr, for any value of the predicate."""

    def body(make_jaxpr: Callable[..., Any], x: Any) -> Any:
        return make_jaxpr(lambda x: lax.cond(x > 0, lambda x: lax.sin(x), lambda x: lax.exp(x), x))(x)

    jaxpr = trial.call_inside(body, trial.tensor(np.float32(1)))
    trial.equal(_primitives(jaxpr)[-1], "cond")
    trial.equal([_primitives(branch) for branch in jaxpr.eqns[-1].params["branches"]], [["exp"], ["sin"]])


def jaxpr_abstract(trial: Trial, dtype: str) -> None:
    """Only shapes are computed: an input too large for any memory can be traced, and the output's shape is known."""

    def body(make_jaxpr: Callable[..., Any], x: Any) -> Any:
        def summed_and_flat(x: Any) -> Any:
            return {"sum": lax.reduce(x, np.zeros((), x.dtype), lax.add, (0,)), "flat": lax.reshape(x, (side * side,))}

        return make_jaxpr(summed_and_flat, return_shape=True)(x)

    side = 10**6
    jaxpr, shapes = trial.call_inside(body, jax.ShapeDtypeStruct((side, side), trial.dtype(dtype)))
    trial.equal((shapes["sum"].shape, shapes["flat"].shape), ((side,), (side * side,)))
    trial.equal([str(shapes[name].dtype) for name in ("sum", "flat")], [dtype] * 2)
    trial.equal([aval.shape for aval in jaxpr.in_avals], [(side, side)])
    trial.equal(sorted(_primitives(jaxpr)), ["reduce_sum", "reshape"])
    # Outputs are in the order of a dict's sorted keys.
    trial.equal([aval.shape[0] for aval in jaxpr.out_avals], [side * side, side])


def jaxpr_static(trial: Trial, turns: int) -> None:
    """A static argument is not an input of the jaxpr: Python gets its value during the trace, and traces once."""
    seen: list[Any] = []

    def body(make_jaxpr: Callable[..., Any], x: Any) -> Any:
        def repeated(x: Any, turns: int) -> Any:
            seen.append((isinstance(x, jax.core.Tracer), turns))
            for _ in range(turns):
                x = lax.mul(x, x)
            return x

        return make_jaxpr(repeated, static_argnums=1)(x, turns)

    host = trial.random(5)
    jaxpr = trial.call_inside(body, trial.tensor(host))
    trial.equal(seen, [(True, turns)])
    trial.equal(len(jaxpr.in_avals), 1)
    trial.equal(_primitives(jaxpr), ["mul"] * turns)
    trial.close(_evaluated(jaxpr, widened(host))[0], widened(host) ** 2**turns)


def jaxpr_of_axis(trial: Trial) -> None:
    """With the size of a named axis, collectives over it can be traced. Here also the first and the last argument are
    static, inputs and outputs are nested, a plain number is given by keyword, and the outputs' shapes are wanted."""
    host = trial.random(6, 5)

    def body(make_jaxpr: Callable[..., Any], x: Any) -> Any:
        def combined(turns: int, tree: Any, name: str, scale: Any) -> Any:
            total = lax.psum(tree["x"][0], "rows")
            for _ in range(turns):
                total = lax.sin(total)
            return {name: total, "a": (tree["x"][0] * lax.psum(1, "rows"), scale)}

        make = make_jaxpr(combined, static_argnums=(0, 2), axis_env=[("rows", 6)], return_shape=True)
        return make(2, {"x": [x]}, "b", scale=1.5)

    jaxpr, shapes = trial.call_inside(body, trial.tensor(host[0]))
    trial.equal((shapes["b"].shape, shapes["a"][0].shape, shapes["a"][1].shape), ((5,), (5,), ()))
    trial.equal([(aval.shape, bool(aval.weak_type)) for aval in jaxpr.in_avals], [((5,), False), ((), True)])
    trial.equal(sorted(_primitives(jaxpr)), ["mul", "psum", "sin", "sin"])
    rows = jax.vmap(
        lambda x, scale: jax.core.eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, x, scale), (0, None), axis_name="rows"
    )
    times_six, scaled, sines = rows(trial.tensor(host), 1.5)
    trial.close(times_six, 6 * widened(host), dtype="float32")
    trial.close(scaled, np.full(6, 1.5), dtype="float32")
    trial.close(sines, np.stack([np.sin(np.sin(widened(host).sum(axis=0)))] * 6), dtype="float32")


def _primitives(jaxpr: Any) -> list[str]:
    return [equation.primitive.name for equation in jaxpr.eqns]


def _evaluated(jaxpr: Any, *inputs: Any, constants: Any = ()) -> list[Any]:
    """Evaluate a closed jaxpr's equations in NumPy. Raises KeyError for a primitive that _NUMPY lacks."""
    values = dict(zip([*jaxpr.jaxpr.constvars, *jaxpr.jaxpr.invars], [*constants, *inputs]))

    def value(atom: Any) -> Any:
        return atom.val if hasattr(atom, "val") else values[atom]

    for equation in jaxpr.eqns:
        (target,) = equation.outvars
        values[target] = _NUMPY[equation.primitive.name](*map(value, equation.invars))
    return [value(atom) for atom in jaxpr.jaxpr.outvars]

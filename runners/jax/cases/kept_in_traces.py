"""What a trace keeps beside equations and values: derivatives' own rules, names of scopes, effects, and containers.

``through`` is the function under test: jax.make_jaxpr or trace_to_jaxpr_dynamic.
"""

from __future__ import annotations

from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.cases.partial_evaluation import wrapped
from runners.jax.containers import Pair


def own_rules(trial: Trial, through: str) -> None:
    """A function with its own derivative has this derivative in the jaxpr too, in forward and reverse mode."""
    host = trial.random(4)

    @jax.custom_jvp
    def forward(x: Any) -> Any:
        return lax.sin(x)

    forward.defjvp(lambda primals, tangents: (lax.sin(primals[0]), 3 * tangents[0]))

    @jax.custom_vjp
    def reverse(x: Any) -> Any:
        return lax.cos(x)

    reverse.defvjp(lambda x: (lax.cos(x), None), lambda _, cotangent: (-5 * cotangent,))
    for function, value, factor in ((forward, np.sin, 3), (reverse, np.cos, -5)):
        jaxpr = _jaxpr(trial, through, lambda x, function=function: [function(x)], host)

        def evaluated(x: Any, jaxpr: Any = jaxpr) -> Any:
            return jnp.sum(jax.core.eval_jaxpr(jaxpr, [], x)[0])

        total, slope = jax.value_and_grad(evaluated)(trial.tensor(host))
        trial.close(total, value(widened(host)).sum(), rtol=1e-6, atol=1e-6, dtype="float32")
        trial.exact(slope, np.full(4, factor), "float32")


def scopes_and_effects(trial: Trial, through: str) -> None:
    """Each equation has the name of the scope that it was made in; callbacks are effects of the jaxpr, which has none
    without them; a compiled function within keeps its name."""
    host = trial.random(4)

    @jax.jit
    def turned(x: Any) -> Any:
        return lax.neg(x)

    def function(x: Any) -> Any:
        with jax.named_scope("layer"):
            y = lax.sin(x)
        jax.debug.callback(lambda y: None, y)
        return [turned(lax.cos(y))]

    jaxpr = _jaxpr(trial, through, function, host)
    scopes = {equation.primitive.name: str(equation.source_info.name_stack) for equation in jaxpr.eqns}
    trial.check("layer" in scopes["sin"] and "layer" not in scopes["cos"], f"the scopes are {scopes}")
    trial.equal(len(jaxpr.effects), 1)
    trial.equal(jaxpr.eqns[-1].params["name"], "turned")
    trial.equal(len(_jaxpr(trial, through, lambda x: [lax.sin(x)], host).effects), 0)


def returned_shapes(trial: Trial) -> None:
    """jax.make_jaxpr with return_shape: the shapes are in the function's containers, and are no arrays. A function
    without arguments has a jaxpr without inputs."""
    host = trial.random(2, 3)

    def body(make_jaxpr: Callable[..., Any], x: Any) -> Any:
        def function(x: Any) -> Any:
            return Pair((x[0], None), {"b": [x.astype("int8")], "a": lax.sin(x)})

        def constant() -> Any:
            return lax.cos(lax.sin(x)), 2

        shapes = make_jaxpr(function, return_shape=True)(x)[1]
        return shapes, make_jaxpr(constant)(), make_jaxpr(constant, return_shape=True)()

    shapes, alone, (again, (first, second)) = trial.call_inside(body, trial.tensor(host))
    trial.equal((type(shapes) is Pair, type(shapes.first), shapes.first[1]), (True, tuple, None))
    leaves = [shapes.first[0], shapes.second["a"], *shapes.second["b"], first, second]
    trial.equal([type(leaf) is jax.ShapeDtypeStruct for leaf in leaves], [True] * 5)
    types = [(leaf.shape, str(leaf.dtype)) for leaf in leaves]
    whole = ((2, 3), "float32")
    trial.equal(types, [((3,), "float32"), whole, ((2, 3), "int8"), whole, ((), "int32")])
    for jaxpr in (alone, again):
        trial.equal(([equation.primitive.name for equation in jaxpr.eqns], len(jaxpr.in_avals)), (["sin", "cos"], 0))
        output, number = jax.core.eval_jaxpr(jaxpr.jaxpr, jaxpr.consts)
        trial.close(output, np.cos(np.sin(widened(host))), dtype="float32")
        trial.equal(int(number), 2)


def list_of_types(trial: Trial) -> None:
    """trace_to_jaxpr_dynamic: the caller's list of types is as before; without inputs the jaxpr has none."""
    avals = [jax.core.ShapedArray((3,), np.dtype("float32"))]
    trial.repeatable = False  # a wrapped function can be traced only once
    jaxpr, types, _ = trial.call(wrapped(lambda x: [lax.neg(x)], 1), avals)
    trial.equal((len(avals), len(jaxpr.invars), types[0].shape), (1, 1, (3,)))
    jaxpr, types, constants = trial.call(wrapped(lambda: [jnp.full(2, 1.5) * 2], 0), [])
    trial.equal((len(jaxpr.invars), types[0].shape, len(constants)), (0, (2,), 0))
    trial.exact(jax.core.eval_jaxpr(jaxpr, [])[0], [3, 3], "float32")


def _jaxpr(trial: Trial, through: str, function: Callable[..., Any], host: Any) -> Any:
    """Return the jaxpr of a function that returns a list."""
    if through == "make_jaxpr":
        return trial.call_inside(lambda make_jaxpr, x: make_jaxpr(function)(x), trial.tensor(host)).jaxpr
    trial.repeatable = False  # a wrapped function can be traced only once
    return trial.call(wrapped(function, 1), [jax.core.ShapedArray(host.shape, host.dtype)])[0]

"""What functions that trace, differentiate or rebuild others refuse. After an error the same function works."""

from __future__ import annotations

from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.cases.partial_evaluation import wrapped

_TYPE = ["TypeError"]
_TRACED = ["ConcretizationTypeError", "TracerBoolConversionError"]


def vjp_refuses(trial: Trial) -> None:
    """Texts and objects as arguments or outputs, has_aux without a pair, missing arguments, another number of
    cotangents, loops of unknown length and what has no derivative are errors; those of the function pass through."""
    host = trial.random(2, 3)
    x = trial.tensor(host)
    for value in ("text", object(), {"x": x, "y": "text"}):
        trial.raises(_TYPE, "valid JAX type", lambda tree: x, value)
    trial.raises(_TYPE, "valid JAX type", lambda x: "text", x)
    trial.raises(_TYPE, "callable", None, x)
    trial.raises(_TYPE, "missing", lambda a, b: a, x)
    trial.raises(_TYPE, "argument", lambda a: a, x, x)
    trial.raises(["ZeroDivisionError"], "zero", lambda x: x / (1 // 0), x)
    for function in (jnp.sin, lambda x: (x, x, x), lambda x: {"a": x, "b": x}):
        trial.raises(_TYPE, "two-element tuple", function, x, has_aux=True)
    trial.raises(["ConcretizationTypeError"], "concrete", lambda x: float(x[0, 0]) * x, x)

    def pulled(vjp: Callable[..., Any], function: Callable[..., Any], *cotangents: Any) -> Any:
        return vjp(function, x)[1](*cotangents)

    for cotangents in ((), (x, x), ("text",)):
        trial.raises_inside(_TYPE, "", pulled, jnp.sin, *cotangents)

    def growing(x: Any) -> Any:
        return lax.while_loop(lambda x: x[0, 0] < 3, lambda x: x + 1, x)

    trial.raises_inside(["ValueError"], "while_loop", pulled, growing, x)
    largest = jax.vmap(lambda row: lax.pmax(row, "rows"), axis_name="rows")
    trial.raises_inside(["NotImplementedError"], "pmax", pulled, largest, x)
    trial.raises_inside(["AttributeError"], "No VJP", pulled, jax.custom_vjp(lambda x: x), x)
    trial.close(trial.call_inside(pulled, jnp.sin, x)[0], np.cos(widened(host)) * host, dtype="float32")


def vjp_keeps_tracers_in(trial: Trial) -> None:
    """A value of the trace that is kept beyond it is an error where it is used; the pullback still works."""
    host = trial.random(4)
    kept: list[Any] = []

    def keeping(x: Any) -> Any:
        kept.append(x)
        return jnp.sin(x)

    def used(vjp: Callable[..., Any]) -> Any:
        jax.jit(lambda x: vjp(keeping, x)[0])(trial.tensor(host))
        return kept[-1] + 1

    trial.raises_inside(["UnexpectedTracerError"], "tracer", used)
    output, pull_back = trial.call(keeping, trial.tensor(host))
    trial.close(output, np.sin(widened(host)), dtype="float32")
    trial.close(pull_back(jnp.ones(4))[0], np.cos(widened(host)), dtype="float32")


def make_jaxpr_refuses(trial: Trial) -> None:
    """Texts and objects as inputs or outputs, Python's decisions about traced values, shapes that depend on values,
    unknown axes and static arguments that cannot be hashed are errors; those of the function pass through."""
    host = np.array([[0.5, -1, 2], [3, 0.25, -2]], "float32")
    x = trial.tensor(host)

    def traced(make_jaxpr: Callable[..., Any], function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        return make_jaxpr(function, **options)(*args)

    for value in ("text", object(), {"x": x, "y": "text"}):
        trial.raises_inside(_TYPE, "", traced, lambda tree: x, value)
        trial.raises_inside(_TYPE, "", traced, lambda x, value=value: value, x)
    trial.raises_inside(_TRACED, "", traced, lambda x: x if x[0, 0] > 0 else -x, x)
    trial.raises_inside(["ConcretizationTypeError"], "concrete", traced, lambda x: float(x[0, 0]), x)
    trial.raises_inside(["ConcretizationTypeError"], "concrete", traced, jnp.nonzero, x)
    trial.raises_inside(["NonConcreteBooleanIndexError"], "concrete", traced, lambda x: x[x > 0], x)
    trial.raises_inside(["TracerArrayConversionError"], "array", traced, np.asarray, x)
    for function in (range, [1, 2].__getitem__):
        trial.raises_inside(["TracerIntegerConversionError"], "traced", traced, lambda n, f=function: len(f(n)), 1)
    trial.raises_inside(["NameError"], "unbound axis", traced, lambda x: lax.psum(x, "rows"), x)
    trial.raises_inside(["ValueError"], "Non-hashable", traced, lambda x, turns: x, x, [1], static_argnums=1)
    trial.raises_inside(_TYPE, "missing", traced, lambda a, b: a, x)
    trial.raises_inside(_TYPE, "argument", traced, lambda a: a, x, x)
    trial.raises_inside(_TYPE, "shape", traced, lambda x: x @ x, x)
    trial.raises_inside(["ZeroDivisionError"], "zero", traced, lambda x: x / (1 // 0), x)
    trial.raises(_TYPE, "keyword", jnp.sin, static=1)
    trial.raises(_TYPE, "callable", None)
    jaxpr = trial.call_inside(traced, lambda x: lax.sin(x), x)
    (output,) = jax.core.eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, x)
    trial.close(output, np.sin(widened(host)), dtype="float32")


def make_jaxpr_keeps_tracers_in(trial: Trial) -> None:
    """A value of the trace that is kept beyond it is an error where it is used."""
    x = trial.tensor(trial.random(4))
    kept: list[Any] = []

    def keeping(x: Any) -> Any:
        kept.append(x)
        return x

    def used(make_jaxpr: Callable[..., Any]) -> Any:
        make_jaxpr(keeping)(x)
        return kept[-1] + 1

    trial.raises_inside(["UnexpectedTracerError"], "tracer", used)
    trial.equal(len(trial.call_inside(lambda make_jaxpr: make_jaxpr(lambda x: lax.sin(x))(x)).eqns), 1)


def trace_refuses(trial: Trial) -> None:
    """What is no abstract value, another number of inputs, of flags or of outputs, a text as an output and Python's
    decisions about traced values are errors; those of the function pass through."""
    aval = jax.core.ShapedArray((3,), trial.dtype("float32"))

    def traced(trace: Callable[..., Any], function: Callable[..., Any], avals: Any, **options: Any) -> Any:
        return trace(wrapped(function, 1), avals, **options)

    for avals in ([3], [np.zeros(3, "float32")], None, [None]):
        trial.raises_inside(["TypeError", "AssertionError", "AttributeError"], "", traced, lambda x: [x], avals)
    trial.raises_inside(_TYPE, "missing", traced, lambda a, b: [a], [aval])
    trial.raises_inside(_TYPE, "argument", traced, lambda a: [a], [aval, aval])
    for output in (["text"], None, [None], [object()]):
        trial.raises_inside(_TYPE, "", traced, lambda x, output=output: output, [aval])
    trial.raises_inside(["ValueError"], "argument", traced, lambda x: [x], [aval], keep_inputs=[True, True])
    trial.raises_inside(_TRACED, "", traced, lambda x: [1 if x.sum() > 0 else 2], [aval])
    trial.raises_inside(_TYPE, "shapes", traced, lambda x: [lax.add(x, np.ones(4, "float32"))], [aval])
    trial.raises_inside(["ZeroDivisionError"], "zero", traced, lambda x: [1 // 0], [aval])
    jaxpr, avals, _ = trial.call_inside(traced, lambda x: [lax.sin(x)], [aval])
    trial.equal(([equation.primitive.name for equation in jaxpr.eqns], avals[0].shape), (["sin"], (3,)))


def named_call_refuses(trial: Trial) -> None:
    """What is no function, a name that is no text, and arguments that the function does not take are errors; those of
    the function pass through, and leave no name behind."""
    host = trial.random(3)
    x = trial.tensor(host)

    def called(named_call: Callable[..., Any], function: Any, *args: Any, name: Any = "wave", **kwargs: Any) -> Any:
        return jax.jit(lambda *args: named_call(function, name=name)(*args, **kwargs))(*args)

    for function in (3, "text", None, x):
        trial.raises(["AttributeError", "TypeError"], "", function)
        trial.raises_inside(_TYPE, "callable", called, function, x)
    trial.raises(_TYPE, "positional", jnp.sin, "wave")
    trial.raises(_TYPE, "keyword", jnp.sin, label="wave")
    trial.raises_inside(_TYPE, "str", called, jnp.sin, x, name=3)
    trial.raises_inside(_TYPE, "missing", called, lambda a, b: a, x)
    trial.raises_inside(_TYPE, "keyword", called, lambda a: a, x, scale=2)
    trial.raises_inside(["ZeroDivisionError"], "zero", called, lambda a: a / (1 // 0), x)
    trial.close(trial.call_inside(called, jnp.sin, x), np.sin(widened(host)), dtype="float32")


def partial_refuses(trial: Trial) -> None:
    """What cannot be called is an error when it is bound; a missing, another or a second argument is one at the call.
    Partials of other functions or other names of arguments are other structures, which cannot be mapped together."""
    host = trial.random(3)
    x = trial.tensor(host)
    for function in ("text", None, x, [jnp.sin]):
        trial.raises(_TYPE, "callable", function, x)
    trial.raises(_TYPE, "argument")

    def called(partial: Callable[..., Any], function: Any, bound: Any, *args: Any, **kwargs: Any) -> Any:
        return partial(function, *bound)(*args, **kwargs)

    trial.raises_inside(_TYPE, "missing", called, lambda a, b: a, (x,))
    trial.raises_inside(_TYPE, "positional", called, lambda a: a, (x,), x)
    trial.raises_inside(_TYPE, "multiple values", called, lambda a: a, (x,), a=x)
    trial.raises_inside(_TYPE, "unexpected", called, lambda a: a, (x,), b=x)
    trial.raises_inside(["ZeroDivisionError"], "zero", called, lambda a: a / (1 // 0), (x,))

    def mapped(partial: Callable[..., Any], one: Any, other: Any) -> Any:
        first, second = (partial(function, *args, **kwargs) for function, args, kwargs in (one, other))
        return jax.tree_util.tree_map(lambda left, right: left + right, first, second)

    of_sine = (jnp.sin, (x,), {})
    for other in ((jnp.cos, (x,), {}), (jnp.sin, (x, x), {}), (jnp.sin, (), {"x": x}), (jnp.sin, (x,), {"y": x})):
        trial.raises_inside(["ValueError"], "", mapped, of_sine, other)
    trial.close(trial.call_inside(mapped, of_sine, of_sine)(), np.sin(2 * widened(host)), dtype="float32")


def partial_value_refuses(trial: Trial) -> None:
    """A partial value is made from one pair, without enable_checks too; a text has no abstract value."""
    x = trial.tensor(trial.random(3))
    for pair in ((None, x, x), (None,), (), 3, None):
        trial.raises(["ValueError", "TypeError"], "", pair)
    trial.raises(_TYPE, "argument", None, x)
    trial.raises(_TYPE, "argument")
    made = trial.make((None, x))
    trial.method_raises(type(made).known("text"), "get_aval", _TYPE, "type")
    for name in ("get_aval", "is_known"):
        trial.method_raises(made, name, _TYPE, "argument", x)
    trial.equal((trial.call_method(made, "is_known"), made.get_known() is x), (True, True))

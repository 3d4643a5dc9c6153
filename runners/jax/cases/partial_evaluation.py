"""JAX's partial evaluation: known and unknown values, and the part of a function that remains."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Sequence

import jax
import jax._src.api_util as api_util
import jax._src.linear_util as linear_util
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax._src.interpreters import partial_eval

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial

# PartialVal


def known_value(trial: Trial, shape: Sequence[int], dtype: str = "float32") -> None:
    """Created from (None, value) it has the known value, and its shape and dtype."""
    host = np.asarray(trial.random(*shape, dtype=dtype))
    moved = trial.tensor(host, dtype)
    made = trial.call((None, moved))
    trial.check(type(made) is trial.function, f"expected a partial value, got {type(made).__name__}")
    trial.equal((len(made), made[0], made.is_known()), (2, None, True))
    trial.exact(made.get_known(), trial.numpy(moved), dtype)
    aval = made.get_aval()
    trial.equal((aval.shape, str(aval.dtype)), (tuple(shape), dtype))


def unknown_value(trial: Trial, shape: Sequence[int], dtype: str = "float32") -> None:
    """Created from (abstract value, None) it has no known value, only the abstract one."""
    aval = jax.core.ShapedArray(tuple(shape), trial.dtype(dtype))
    made = trial.call((aval, None))
    trial.check(type(made) is trial.function, f"expected a partial value, got {type(made).__name__}")
    trial.equal((made.is_known(), made.get_known(), made[1]), (False, None, None))
    trial.equal((made.get_aval() == aval, made.get_aval().shape, str(made.get_aval().dtype)), (True, aval.shape, dtype))


def is_known(trial: Trial, known: bool) -> None:
    """is_known distinguishes a known value from an unknown one."""
    trial.equal(trial.call_method(_made(trial, known)[0], "is_known"), known)


def known_part(trial: Trial, known: bool) -> None:
    """get_known returns a known value, and None for an unknown one."""
    made, host = _made(trial, known)
    found = trial.call_method(made, "get_known")
    if known:
        trial.exact(found, host, "float32")
    else:
        trial.equal(found, None)


def abstract_part(trial: Trial, known: bool) -> None:
    """get_aval returns the shape and dtype of a known or unknown value."""
    made, host = _made(trial, known)
    aval = trial.call_method(made, "get_aval")
    trial.equal((aval.shape, str(aval.dtype)), (host.shape, "float32"))
    trial.check(isinstance(aval, jax.core.ShapedArray), f"expected a ShapedArray, got {type(aval).__name__}")


def short_forms(trial: Trial) -> None:
    """PartialVal.known and PartialVal.unknown create the same objects as the pairs."""
    made, host = _made(trial, True)
    moved = trial.tensor(host)
    known = trial.call_method(made, "known", moved)
    trial.equal((type(known) is trial.function, known.is_known(), known[0]), (True, True, None))
    trial.exact(known[1], host, "float32")
    unknown = trial.call_method(made, "unknown", jax.core.ShapedArray((7,), trial.dtype("int32")))
    trial.equal((type(unknown) is trial.function, unknown.is_known()), (True, False))
    trial.equal((unknown.get_aval().shape, str(unknown.get_aval().dtype)), ((7,), "int32"))


def known_in_trace(trial: Trial) -> None:
    """In a compiled function a tracer is a known value with its type, and a plain number one with a weak type."""
    host = trial.random(3, 4)
    seen: list[Any] = []

    def body(partial_val: Callable[..., Any], x: Any) -> Any:
        def scaled(x: Any) -> Any:
            pair = partial_val((None, x)), partial_val((None, 2.5))
            avals = [each.get_aval() for each in pair]
            seen[:] = [(each.shape, str(each.dtype), bool(each.weak_type)) for each in avals]
            (nothing, known), number = pair
            return known * number.get_known() if nothing is None and number.is_known() else x

        return jax.jit(scaled)(x)

    output = trial.call_inside(body, trial.tensor(host))
    trial.equal(seen, [((3, 4), "float32", False), ((), "float32", True)])
    trial.close(output, 2.5 * widened(host), dtype="float32")


def partially_evaluated(trial: Trial) -> None:
    """For sin(a) b + cos(a) and 2 a with only a known, sine, cosine and 2 a are computed and the rest remains."""
    a, b = trial.random(30), trial.random(30, seed=1)

    def body(partial_val: Callable[..., Any], a: Any) -> Any:
        def combined(a: Any, b: Any) -> Any:
            return [lax.add(lax.mul(lax.sin(a), b), lax.cos(a)), lax.mul(a, jnp.full_like(a, 2))]

        unknown = jax.core.ShapedArray(a.shape, a.dtype)
        pair = [partial_val((None, a)), partial_val((unknown, None))]
        return partial_eval.trace_to_jaxpr_nounits(wrapped(combined, 2), pair)

    jaxpr, outputs, residuals = trial.call_inside(body, trial.tensor(a))
    trial.equal([equation.primitive.name for equation in jaxpr.eqns], ["mul", "add"])
    trial.equal([output.is_known() for output in outputs], [False, True])
    trial.close(outputs[1].get_known(), 2 * widened(a), dtype="float32")
    trial.equal((outputs[0].get_aval().shape, str(outputs[0].get_aval().dtype)), ((30,), "float32"))
    (value, *_) = jax.core.eval_jaxpr(jaxpr, residuals, trial.tensor(b))
    trial.close(value, np.sin(widened(a)) * b + np.cos(widened(a)), dtype="float32")


# trace_to_jaxpr_dynamic


def traced(trial: Trial, shape: Sequence[int], dtype: str = "float32") -> None:
    """The jaxpr has the inputs' types, the function's equations and the outputs' types; evaluated, it gives the
    values."""
    left, right = (trial.random(*shape, dtype=dtype, seed=seed) for seed in (0, 1))
    avals = [jax.core.ShapedArray(tuple(shape), trial.dtype(dtype))] * 2
    operands = [trial.tensor(left, dtype), trial.tensor(right, dtype)]
    function = wrapped(lambda a, b: [lax.sub(lax.mul(a, b), b), lax.max(a, b), lax.eq(a, b)], 2)
    trial.repeatable = False  # a wrapped function can be traced only once
    jaxpr, outputs, constants = trial.call(function, avals)
    trial.equal([equation.primitive.name for equation in jaxpr.eqns], ["mul", "sub", "max", "eq"])
    trial.equal([(var.aval.shape, str(var.aval.dtype)) for var in jaxpr.invars], [(tuple(shape), dtype)] * 2)
    trial.equal([aval.shape for aval in outputs], [tuple(shape)] * 3)
    trial.equal([str(aval.dtype) for aval in outputs], [dtype, dtype, "bool"])
    trial.equal(len(constants), 0)
    a, b = (widened(trial.numpy(operand)) for operand in operands)
    difference, larger, equal = jax.core.eval_jaxpr(jaxpr, constants, *operands)
    # Two operations; in half precision each is rounded.
    allowed = {"float16": 3e-3, "bfloat16": 3e-2}.get(dtype)
    trial.close(difference, a * b - b, rtol=allowed, atol=allowed, dtype=dtype)
    trial.exact(larger, np.maximum(a, b), dtype)
    trial.close(equal, a == b, dtype="bool")


def traced_constant(trial: Trial) -> None:
    """A captured array becomes a constant, whose value is returned too; a returned input is an output of the jaxpr."""
    captured, host = trial.random(8), trial.random(8, seed=1)
    moved = trial.tensor(captured)
    trial.repeatable = False
    jaxpr, avals, constants = trial.call(wrapped(lambda x: [x, lax.mul(x, moved)], 1), [_aval(trial, 8)])
    trial.equal((len(constants), len(jaxpr.constvars), len(jaxpr.invars), len(avals)), (1, 1, 1, 2))
    trial.equal(jaxpr.outvars[0] is jaxpr.invars[0], True)
    trial.exact(constants[0], captured, "float32")
    (_, output) = jax.core.eval_jaxpr(jaxpr, constants, trial.tensor(host))
    trial.close(output, widened(host) * captured, dtype="float32")


def traced_kept(trial: Trial, keep: Sequence[bool]) -> None:
    """With keep_inputs the function gets only those inputs, while the jaxpr still takes all."""
    hosts = [trial.random(5, seed=seed) for seed in range(len(keep))]
    seen: list[int] = []

    def combined(*kept: Any) -> Any:
        seen.append(len(kept))
        total = kept[0]
        for more in kept[1:]:
            total = lax.sub(total, more)
        return [total]

    trial.repeatable = False
    avals = [_aval(trial, 5)] * len(keep)
    jaxpr, _, constants = trial.call(wrapped(combined, sum(keep)), avals, keep_inputs=list(keep))
    trial.equal(seen, [sum(keep)])
    trial.equal(len(jaxpr.invars), len(keep))
    (output,) = jax.core.eval_jaxpr(jaxpr, constants, *map(trial.tensor, hosts))
    kept = [widened(host) for host, stays in zip(hosts, keep) if stays]
    trial.close(output, kept[0] - sum(kept[1:]), dtype="float32")


def traced_gradient(trial: Trial) -> None:
    """The trace of a gradient has the derivative's equations; evaluated, it gives the derivative."""
    host = trial.random(12)

    def gradient(x: Any) -> Any:
        return [jax.grad(lambda x: jnp.sum(lax.mul(lax.sin(x), x)))(x)]

    trial.repeatable = False
    jaxpr, avals, constants = trial.call(wrapped(gradient, 1), [_aval(trial, 12)])
    trial.equal([(aval.shape, str(aval.dtype)) for aval in avals], [((12,), "float32")])
    names = {equation.primitive.name for equation in jaxpr.eqns}
    trial.check({"sin", "cos", "mul"} <= names, f"the derivative's equations are missing: {sorted(names)}")
    (output,) = jax.core.eval_jaxpr(jaxpr, constants, trial.tensor(host))
    x = widened(host)
    trial.close(output, np.cos(x) * x + np.sin(x), dtype="float32")


def traced_loop(trial: Trial, turns: int) -> None:
    """A Python loop is unrolled, a lax loop is one equation; the function runs once, on tracers."""
    host = trial.random(6)
    seen: list[bool] = []

    def looped(x: Any) -> Any:
        seen.append(isinstance(x, jax.core.Tracer))
        for _ in range(turns):
            x = lax.sin(x)
        return [x, lax.fori_loop(0, turns, lambda _, x: lax.cos(x), x)]

    trial.repeatable = False
    jaxpr, avals, constants = trial.call(wrapped(looped, 1), [_aval(trial, 6)])
    trial.equal(seen, [True])
    names = [equation.primitive.name for equation in jaxpr.eqns]
    trial.equal((names[:turns], len(names), len(avals)), (["sin"] * turns, turns + 1, 2))
    sines, cosines = jax.core.eval_jaxpr(jaxpr, constants, trial.tensor(host))
    x = widened(host)
    for _ in range(turns):
        x = np.sin(x)
    trial.close(sines, x, dtype="float32")
    for _ in range(turns):
        x = np.cos(x)
    trial.close(cosines, x, dtype="float32")


def traced_abstract(trial: Trial) -> None:
    """Only types are computed: a matrix product too large for any memory can be traced."""
    side = 10**6
    avals = [jax.core.ShapedArray((side, 3), trial.dtype("float32")), _aval(trial, 3, side)]
    trial.repeatable = False
    jaxpr, outputs, constants = trial.call(wrapped(lambda a, b: [lax.dot(a, b), lax.dot(b, a)], 2), avals)
    trial.equal([aval.shape for aval in outputs], [(side, side), (3, 3)])
    trial.equal([equation.primitive.name for equation in jaxpr.eqns], ["dot_general"] * 2)
    trial.equal(len(constants), 0)


def _made(trial: Trial, known: bool) -> tuple[Any, Any]:
    host = trial.random(4, 3)
    if known:
        return trial.make((None, trial.tensor(host))), host
    return trial.make((_aval(trial, 4, 3), None)), host


def _aval(trial: Trial, *shape: int) -> Any:
    return jax.core.ShapedArray(shape, trial.dtype("float32"))


def wrapped(function: Callable[..., Any], inputs: int) -> Any:
    """Wrap the function for JAX's tracers, with a description in versions that need one."""
    described = {}
    if "debug_info" in inspect.signature(linear_util.wrap_init).parameters:
        described["debug_info"] = api_util.debug_info("portbench", function, (0,) * inputs, {})
    return linear_util.wrap_init(function, **described)

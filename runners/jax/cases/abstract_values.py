"""Types and values that JAX's abstract values, partial values and traces keep: weak types, and each value its own."""

from __future__ import annotations

from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.cases.partial_evaluation import wrapped
from runners.jax.settings import setting

# jax.core.get_aval


def aval_of_each(trial: Trial) -> None:
    """Values of one type have abstract values with this type. In versions where they hold the value (0.4), each holds
    its own."""
    hosts = [trial.random(2, 3, seed=seed) for seed in range(2)]
    numbers = [trial.random(seed=seed).item() for seed in range(2)]
    values = [*map(trial.tensor, hosts), *hosts, *numbers, 7, -7, True, False, *(host[1, 1] for host in hosts)]
    avals = [trial.call(value) for value in values]
    for value, aval in zip(values, avals):
        trial.check(isinstance(aval, jax.core.ShapedArray), f"expected a ShapedArray, got {type(aval).__name__}")
        trial.equal((aval.shape, bool(aval.weak_type)), (getattr(value, "shape", ()), type(value) in (int, float)))
        trial.equal(hasattr(aval, "val"), hasattr(avals[0], "val"))
        if hasattr(aval, "val"):
            trial.equal(aval.val, value)


def aval_of_zeros_and_keys(trial: Trial) -> None:
    """A typed key has its own shape and dtype, not those of its words. In versions where abstract values hold the
    value (0.4), that of -0.0 is -0.0."""
    for zero in (-0.0, np.float32(-0.0), np.array([0.0, -0.0], "float32"), trial.tensor(np.float32(-0.0))):
        aval = trial.call(zero)
        if hasattr(aval, "val"):
            trial.equal(np.signbit(aval.val).tolist(), np.signbit(zero).tolist())
    if hasattr(jax.random, "key"):
        key = jax.random.key(3)
        keys = jax.random.split(key, 3)
    else:
        with setting("jax_enable_custom_prng", True):
            key = jax.random.PRNGKey(3)
            keys = jax.random.split(key, 3)
    for given, shape in ((key, ()), (keys, (3,)), (keys[1], ())):
        aval = trial.call(given)
        trial.equal((aval.shape, aval.dtype == given.dtype, "key" in str(aval.dtype)), (shape, True, True))


def aval_of_own_class(trial: Trial) -> None:
    """An object with the method __jax_array__ has the abstract value of the array that this gives, or in newer versions
    an error that says so: get_aval takes it where jax.jit does."""
    host = trial.random(2, 3)
    array = trial.tensor(host)

    class Wrapped:
        def __jax_array__(self) -> Any:
            return array

    try:
        jax.jit(jnp.sin)(Wrapped())
    except (TypeError, ValueError):
        trial.raises(["TypeError", "ValueError"], "__jax_array__", Wrapped())
        return
    aval = trial.call(Wrapped())
    trial.equal((aval.shape, str(aval.dtype), bool(aval.weak_type)), ((2, 3), "float32", False))
    if hasattr(aval, "val"):
        trial.exact(aval.val, host)


def aval_in_derivatives(trial: Trial) -> None:
    """Under jax.grad and jax.jvp, also within another one, an array and a number have their own shape, dtype and weak
    type. Where abstract values hold the value (0.4), it is known there, but not in jax.jit."""
    host = trial.random(3)

    def body(get_aval: Callable[..., Any], x: Any) -> list[Any]:
        found: list[Any] = []

        def loss(x: Any) -> Any:
            found.append(get_aval(x))
            return jnp.sum(x) if jnp.ndim(x) else x

        for given in (x, 3.5):
            found.append(get_aval(given))
            jax.grad(loss)(given)
            jax.jvp(loss, (given,), (given,))
            jax.jvp(jax.grad(loss), (given,), (given,))
            jax.jit(loss)(given)
        return found

    found = trial.call_inside(body, trial.tensor(host))
    trial.equal(len(found), 10)
    for avals, value, weak in ((found[:5], host, False), (found[5:], 3.5, True)):
        for aval in avals:
            trial.equal((aval.shape, str(aval.dtype)), (np.shape(value), "float32"))
            trial.equal(bool(aval.weak_type), weak)
        outside, *differentiated, compiled = (hasattr(aval, "val") for aval in avals)
        trial.equal(differentiated, [outside] * 3)
        trial.equal(compiled, False)


# PartialVal


def weak_types(trial: Trial) -> None:
    """A known or unknown value keeps its abstract value, also its weak type."""
    for weak in (True, False):
        for dtype in ("float32", "int32"):
            aval = jax.core.ShapedArray((), trial.dtype(dtype), weak_type=weak)
            made = trial.make((aval, None))
            short = trial.call_method(made, "unknown", aval)
            for found in (made, short):
                trial.equal(found.get_aval() == aval and found[0] == aval, True)
                trial.equal((str(found.get_aval().dtype), bool(found.get_aval().weak_type)), (dtype, weak))
    for known, weak in ((2.5, True), (trial.tensor(trial.random()), False)):
        for found in (trial.make((None, known)), trial.call_method(made, "known", known)):
            trial.equal((found.get_known() is known, found.is_known()), (True, True))
            trial.equal((found.get_aval().shape, bool(found.get_aval().weak_type)), ((), weak))


def refuses_pairs(trial: Trial) -> None:
    """With jax.enable_checks, a pair is either an abstract value and None or None and a value that JAX takes; every
    other one is an error."""
    aval, x = jax.core.ShapedArray((), trial.dtype("float32")), trial.tensor(trial.random())
    with jax.enable_checks(True):
        trial.equal((trial.make((aval, None)).is_known(), trial.make((None, x)).is_known()), (False, True))
        for pair in ((aval, x), (aval, 2.5), (None, None), (x, None), (None, "text"), ("text", None)):
            trial.raises(["AssertionError"], "", pair)


def partial_values_in_turn(trial: Trial) -> None:
    """Known and unknown values side by side each have their own value and type, whichever is asked first and how
    often."""
    hosts = [trial.random(2, 3), trial.random(4, dtype="int32", seed=1), trial.random(2, 3, seed=2)]
    arrays = list(map(trial.tensor, hosts))
    avals = [jax.core.ShapedArray(host.shape, host.dtype) for host in hosts]
    known = [trial.make((None, array)) for array in arrays]
    unknown = [trial.make((aval, None)) for aval in avals]
    for number in (0, 1, 2, 1, 0):
        host, one, other = hosts[number], known[number], unknown[number]
        trial.equal((trial.call_method(one, "is_known"), trial.call_method(other, "is_known")), (True, False))
        trial.equal((trial.call_method(other, "get_known"), tuple(other)), (None, (avals[number], None)))
        trial.exact(trial.call_method(one, "get_known"), host, str(host.dtype))
        for found in (one, other):
            aval = trial.call_method(found, "get_aval")
            trial.equal((aval.shape, str(aval.dtype)), (host.shape, str(host.dtype)))
    trial.equal(known[0] == (None, arrays[0]), True)


# trace_to_jaxpr_dynamic


def traced_constants(trial: Trial) -> None:
    """Each captured array keeps its own value, also among others of the same shape and dtype, and wherever it is
    used."""
    captured, host = [trial.random(8, seed=seed) for seed in range(3)], trial.random(8, seed=3)
    count = trial.random(8, dtype="int32", seed=4)
    (a, b, c), moved = map(trial.tensor, captured), trial.tensor(count)

    def combined(x: Any) -> Any:
        return [lax.sub(lax.mul(x, a), b), lax.sub(b, c), c, moved, lax.mul(x, a)]

    trial.repeatable = False  # a wrapped function can be traced only once
    traced = trial.call(wrapped(combined, 1), [jax.core.ShapedArray((8,), trial.dtype("float32"))])
    outputs = evaluated(*traced, trial.tensor(host))
    x, (a, b, c) = widened(host), map(widened, captured)
    for output, expected in zip(outputs, (x * a - b, b - c, c, count, x * a)):
        trial.close(output, expected, dtype="int32" if expected is count else "float32")
    trial.equal([(aval.shape, str(aval.dtype)) for aval in traced[1]][2:4], [((8,), "float32"), ((8,), "int32")])


def traced_weak_types(trial: Trial) -> None:
    """The types of the outputs, those returned and those in the jaxpr, are weak where only weakly typed inputs and
    plain numbers took part."""
    host = trial.random(2)
    avals = [jax.core.ShapedArray((), trial.dtype("float32"), weak_type=weak) for weak in (True, False)]

    def combined(x: Any, y: Any) -> Any:
        return [lax.mul(x, x), lax.sin(y), lax.mul(x, y), x, y, 2.5]

    trial.repeatable = False
    jaxpr, outputs, constants = trial.call(wrapped(combined, 2), avals)
    expected = [True, False, False, True, False, True]
    trial.equal([bool(aval.weak_type) for aval in outputs], expected)
    trial.equal([bool(var.aval.weak_type) for var in jaxpr.outvars], expected)
    trial.equal([(aval.shape, str(aval.dtype)) for aval in outputs], [((), "float32")] * 6)
    found = evaluated(jaxpr, outputs, constants, *map(trial.tensor, host))
    trial.close(found[2], widened(host)[0] * widened(host)[1], dtype="float32")


def evaluated(jaxpr: Any, avals: Any, constants: Any, *arguments: Any) -> Any:
    """Evaluate the jaxpr. From 0.12 on, captured arrays are its first inputs."""
    if len(jaxpr.constvars) == len(constants):
        return jax.core.eval_jaxpr(jaxpr, constants, *arguments)
    return jax.core.eval_jaxpr(jaxpr, [], *constants, *arguments)

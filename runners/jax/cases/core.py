"""jax.core: the abstract values of arrays, and immediate evaluation inside a trace."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.cases.wide_types import call_with_x64

_PYTHON = {"bool": True, "int32": 7, "float32": 2.5, "complex64": 1 + 2j}


# jax.core.get_aval


def aval_of_array(trial: Trial, shape: Sequence[int], dtype: str = "float32") -> None:
    """The abstract value of an array has its shape and dtype and is not weakly typed."""
    aval = trial.call(trial.tensor(trial.random(*shape, dtype=dtype), dtype))
    _check_aval(trial, aval, tuple(shape), dtype, False)


def aval_of_number(trial: Trial, kind: str) -> None:
    """A Python number is a weakly typed scalar, which adapts to the dtype of an array; a bool is not weakly typed."""
    _check_aval(trial, trial.call(_PYTHON[kind]), (), kind, kind != "bool")


def aval_of_host_array(trial: Trial, types: Sequence[str]) -> None:
    """A host array gets the type that it would have on the device: 64 bits become 32.

    ``types``: the dtype on the host and the expected one.
    """
    dtype, expected = types
    host = trial.random(3, 2, dtype=dtype)
    _check_aval(trial, trial.call(host), (3, 2), expected, False)
    _check_aval(trial, trial.call(host[1, 1]), (), expected, False)


def aval_double(trial: Trial) -> None:
    """With 64-bit types enabled, 64-bit arrays keep their types, and Python numbers have 64 bits."""
    for dtype, number in (("float64", 2.5), ("int64", 7)):
        _check_aval(trial, call_with_x64(trial, trial.random(4, dtype=dtype)), (4,), dtype, False)
        _check_aval(trial, call_with_x64(trial, args=(number,)), (), dtype, True)


def aval_in_trace(trial: Trial, transformation: str) -> None:
    """In a transformed function it returns what is known there: a row's shape under vmap, no values under jit."""
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
    """Values of one type have equal abstract values when raised to a shape; an abstract value can replace a value in a
    trace."""
    host = trial.random(3, 4)
    aval = trial.call(trial.tensor(host))
    traced = jax.eval_shape(lambda x: x.T @ x, jax.ShapeDtypeStruct(aval.shape, aval.dtype))
    trial.equal((traced.shape, str(traced.dtype)), ((4, 4), "float32"))
    _check_aval(trial, aval, (3, 4), "float32", False)
    trial.equal((aval.ndim, aval.size), (2, 12))


def _check_aval(trial: Trial, aval: Any, shape: tuple[int, ...], dtype: str, weak: bool) -> None:
    trial.check(isinstance(aval, jax.core.ShapedArray), f"expected a ShapedArray, got {type(aval).__name__}")
    trial.equal((aval.shape, str(aval.dtype), bool(aval.weak_type)), (shape, dtype, weak))


# jax.core.eval_context


def evaluated_in_jit(trial: Trial, factor: float) -> None:
    """In a compiled function, values computed inside the context are known immediately, and after it they are not."""
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
    """What is computed inside the context is a constant of the jaxpr: it adds no equations."""
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
    """Inside the context a shape can depend on values, even in a compiled function."""
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
    """In a differentiated and mapped function, a value computed in the context is a constant without a derivative."""
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
    """In the body of a scan, which is traced once, the constant is computed once and added in every iteration."""
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
    # Sums of nine numbers.
    allowed = 5e-6 if dtype == "float32" else 0.0
    trial.close(total, sums[-1], rtol=allowed, dtype=dtype)
    trial.close(before, np.concatenate([[0], sums[:-1]]), rtol=allowed, dtype=dtype)


def evaluated_after_error(trial: Trial) -> None:
    """An exception leaves the context like a normal end: the trace continues, and the next function compiles."""
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
    """Outside of a trace it changes nothing; compiled functions and nested contexts work inside it."""
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


def _traced(value: Any) -> bool:
    return isinstance(value, jax.core.Tracer)

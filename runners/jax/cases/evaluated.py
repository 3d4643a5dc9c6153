"""jax.core.eval_context, several times in a trace and within other transformations."""

from __future__ import annotations

from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial


def evaluated_in_turn(trial: Trial) -> None:
    """In one trace, contexts one after the other and within each other each compute at once, between and after them
    the trace goes on, and a compiled function called in one of them is compiled as usual."""
    host = trial.random(4)
    seen: list[bool] = []

    def body(eval_context: Callable[..., Any], x: Any) -> Any:
        seen.clear()

        def mixed(x: Any) -> Any:
            values = []
            for _ in range(2):
                with eval_context():
                    one = jnp.cos(jnp.float32(0.5))
                    with eval_context():
                        two = jnp.sin(one)
                    three = jax.jit(jnp.exp)(two)
                four = jnp.cos(jnp.float32(0.5))
                values += [one, two, three, four]
            seen.extend(map(_traced, values))
            return x * sum(values)

        return jax.jit(mixed)(x)

    output = trial.call_inside(body, trial.tensor(host))
    trial.equal(seen, [False, False, False, True] * 2)
    one = np.cos(0.5)
    total = 2 * (2 * one + np.sin(one) + np.exp(np.sin(one)))
    trial.close(output, widened(host) * total, rtol=2e-6, dtype="float32")


def evaluated_nested(trial: Trial) -> None:
    """In the context of a mapped, differentiated and compiled function, functions can be mapped, differentiated,
    traced and compiled again; what they give is known, and a loop of Python can run over it."""
    host = trial.random(3, 4)
    seen: list[bool] = []

    def body(eval_context: Callable[..., Any], x: Any) -> Any:
        seen.clear()

        def loss(row: Any) -> Any:
            with eval_context():
                slope = jax.grad(lambda x: x**3)(jnp.float32(2))
                squares = jax.vmap(lambda x: x * x)(jnp.arange(3.0))
                turns = int(jax.jit(lambda x: x.sum())(squares))
                equations = len(jax.make_jaxpr(lambda x: lax.sin(lax.cos(x)))(slope).eqns)
            seen.extend([_traced(slope), _traced(squares), turns == 5, equations == 2])
            for _ in range(turns):
                row = row + slope
            return jnp.sum(row * row)

        return jax.jit(jax.vmap(jax.grad(loss)))(x)

    output = trial.call_inside(body, trial.tensor(host))
    trial.equal(seen, [False, False, True, True])
    trial.close(output, 2 * (widened(host) + 60), rtol=2e-6, dtype="float32")


def evaluated_refuses(trial: Trial) -> None:
    """Errors inside pass through, in a trace and outside; afterwards a trace is a trace again. It takes no argument."""
    x = trial.tensor(trial.random(2, 3))
    trial.raises(["TypeError"], "argument", True)

    def body(eval_context: Callable[..., Any], work: Callable[[], Any], compiled: bool) -> Any:
        def inside(_: Any) -> Any:
            with eval_context():
                return work()

        return (jax.jit(inside) if compiled else inside)(x)

    for compiled in (True, False):
        trial.raises_inside(["TypeError"], "shape", body, lambda: x @ x, compiled)
        trial.raises_inside(["ZeroDivisionError"], "zero", body, lambda: 1 // 0, compiled)
        trial.raises_inside(["NameError"], "axis", body, lambda: lax.psum(x, "rows"), compiled)
    decided = trial.call_inside(body, lambda: jnp.float32(1 if (x * x).sum() >= 0 else 2), True)
    trial.close(decided, 1.0, dtype="float32")
    seen: list[bool] = []
    jax.make_jaxpr(lambda x: seen.append(_traced(x + 1)))(x)
    trial.equal(seen, [True])


def _traced(value: Any) -> bool:
    return isinstance(value, jax.core.Tracer)

"""jax.core.eval_context, several times in a trace and within other transformations."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.settings import setting


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


def evaluated_under_settings(trial: Trial) -> None:
    """Settings of JAX that are in force around the context are in force inside: the generator of random numbers, how
    it splits work, 64-bit types, whether NaN or arrays of other ranks are errors. After it they are as before."""
    x, row = trial.tensor(trial.random(2, 3)), trial.tensor(trial.random(3, seed=1))
    trial.has_random_inputs = False  # other values would compile the same programs again
    seen: list[bool] = []

    def body(eval_context: Callable[..., Any], setting: Any, value: Any, work: Callable[[], Any]) -> Any:
        def inside(_: Any) -> Any:
            with eval_context():
                found = work()
            seen.append(_traced(found))
            kept.append(found)
            return found

        kept: list[Any] = []
        with setting(value):
            before = _settings()
            jax.jit(inside)(x)
            trial.equal(_settings(), before)
        return kept[0]

    seeds = {"rbg": [0, 3, 0, 3], "threefry2x32": [0, 3]}
    for generator, key in seeds.items():
        trial.exact(
            trial.call_inside(body, jax.default_prng_impl, generator, lambda: jax.random.PRNGKey(3)), key, "uint32"
        )
    drawn = []
    for flag in (True, False):
        with setting("jax_threefry_partitionable", flag):
            drawn.append(trial.numpy(_bits()))
        trial.exact(
            trial.call_inside(body, partial(setting, "jax_threefry_partitionable"), flag, _bits), drawn[-1], "uint32"
        )
    trial.check((drawn[0] != drawn[1]).any(), "both ways to split work give the same numbers")
    trial.raises_inside(["FloatingPointError"], "nan", body, jax.debug_nans, True, lambda: jnp.log(row - 9))
    trial.raises_inside(["ValueError"], "rank", body, jax.numpy_rank_promotion, "raise", lambda: x + row)
    trial.close(trial.call_inside(body, jax.numpy_rank_promotion, "allow", lambda: x + row), np.add(x, row))
    trial.equal(any(seen), False)


def evaluated_decorated(trial: Trial) -> None:
    """As a decorator the context holds for each call of the function, not only for the first one."""
    host = trial.random(4)
    seen: list[bool] = []

    def body(eval_context: Callable[..., Any], x: Any) -> Any:
        seen.clear()

        @eval_context()
        def wave(number: float) -> Any:
            return jnp.cos(jnp.float32(number))

        def mixed(x: Any) -> Any:
            values = [wave(number) for number in (0.5, 1.5, 2.5)]
            seen.extend(map(_traced, [*values, jnp.cos(jnp.float32(0.5))]))
            return x * sum(values)

        return jax.jit(mixed)(x), jax.jit(mixed)(x[:2])

    whole, part = trial.call_inside(body, trial.tensor(host))
    trial.equal(seen, [False, False, False, True] * 2)
    for output, rows in ((whole, host), (part, host[:2])):
        trial.close(output, widened(rows) * np.cos([0.5, 1.5, 2.5]).sum(), rtol=2e-6, dtype="float32")


def evaluated_refuses_traced(trial: Trial) -> None:
    """A value of the trace stays one inside: what needs its number is an error that passes through."""
    host = trial.random(3)

    def body(eval_context: Callable[..., Any], work: Callable[[Any], Any], x: Any) -> Any:
        def inside(x: Any) -> Any:
            known = x
            with eval_context():
                known = work(x)
            return x * known

        return jax.jit(inside)(x)

    for work in (float, int, bool):
        trial.raises_inside(["ConcretizationTypeError"], "traced", body, work, trial.tensor(np.float32(1.5)))
    output = trial.call_inside(body, lambda _: jnp.sin(jnp.float32(1)), trial.tensor(host))
    trial.close(output, widened(host) * np.sin(1), dtype="float32")


def _bits() -> Any:
    return jax.random.bits(jax.random.PRNGKey(7), (5,))


def _settings() -> list[Any]:
    names = ("default_prng_impl", "threefry_partitionable", "debug_nans", "numpy_rank_promotion", "enable_x64")
    return [getattr(jax.config, f"jax_{name}") for name in names]


def _traced(value: Any) -> bool:
    return isinstance(value, jax.core.Tracer)

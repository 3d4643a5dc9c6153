"""Contexts of JAX, several times and within others: jax.disable_jit and jax.core.eval_context."""

from __future__ import annotations

import contextlib
import threading
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial

# jax.disable_jit


def eager_in_turn(trial: Trial) -> None:
    """A compiled function that was called before, between and after is compiled outside and plain inside, each time,
    and gives the same values; contexts made earlier or used several times in a row do the same."""
    host = trial.random(8)
    seen: list[bool] = []

    @jax.jit
    def wave(x: Any) -> Any:
        seen.append(_traced(x))
        return jnp.sin(x) * 2

    def body(disable_jit: Callable[..., Any], x: Any) -> Any:
        seen.clear()
        outputs = [wave(x)]
        contexts = [disable_jit(), disable_jit(False), disable_jit(True)]
        for context in contexts:
            with context:
                outputs += [wave(x), wave(x)]
            outputs.append(wave(x))
        return outputs

    trial.repeatable = False  # a second call would find the function compiled
    outputs = trial.call_inside(body, trial.tensor(host))
    trial.equal(seen, [True, False, False, False, False])
    trial.equal(len(outputs), 10)
    for output in outputs:
        trial.close(output, 2 * np.sin(widened(host)), dtype="float32")


def eager_restores(trial: Trial) -> None:
    """Each context restores at its end, also by an error or a return, what was before it, not always False: within two
    equal contexts and after the inner one nothing is compiled. The setting can be read."""

    def body(disable_jit: Callable[..., Any]) -> Any:
        states = [_disabled()]
        with disable_jit(True):
            states.append(_disabled())
            with disable_jit(True):
                states.append(_disabled())
            states.append(_disabled())
            with contextlib.suppress(KeyError), disable_jit(False):
                states.append(_disabled())
                raise KeyError("inside")
            states.append(_disabled())
            with disable_jit(False), disable_jit(True), disable_jit(False):
                states.append(_disabled())
            states.append(_disabled())
        return [*states, _disabled()]

    states = trial.call_inside(body)
    trial.equal(states, [False, True, True, True, False, True, False, True, False])


def eager_only_here(trial: Trial) -> None:
    """Another thread compiles meanwhile, and its own context does not end this one."""
    states: list[bool] = []

    def body(disable_jit: Callable[..., Any]) -> Any:
        def elsewhere() -> None:
            states.append(_disabled())
            with disable_jit():
                states.append(_disabled())
            with disable_jit(False):
                states.append(_disabled())

        states.clear()
        with disable_jit():
            thread = threading.Thread(target=elsewhere)
            thread.start()
            thread.join()
            return [*states, _disabled()]

    trial.equal(trial.call_inside(body), [False, True, False, True])


def eager_arguments(trial: Trial) -> None:
    """Compiled functions take static, keyword and nested arguments as before, and return what the function returns:
    mapped, differentiated and traced too. Errors are those of the function, and a decision about a mapped value is
    still one."""
    host = trial.random(3, 4)
    seen: list[Any] = []

    def layer(tree: Any, turns: int, *, shift: Any = 0.5, name: str = "a") -> Any:
        seen.append((type(turns), name))
        return {name: tree["x"] * turns + shift}

    compiled = jax.jit(layer, static_argnums=1, static_argnames="name")

    def body(disable_jit: Callable[..., Any], x: Any) -> Any:
        seen.clear()
        with disable_jit():
            plain = compiled({"x": x}, 3, shift=1.5, name="b")
            rows = jax.vmap(lambda row: compiled({"x": row}, 2)["a"])(x)
            slope = jax.vmap(jax.grad(lambda x: jnp.sum(compiled({"x": x * x}, 2)["a"])))(x)
            jaxpr = jax.make_jaxpr(jax.jit(lambda x: lax.sin(x)))(x)
        return plain, rows, slope, [equation.primitive.name for equation in jaxpr.eqns]

    plain, rows, slope, names = trial.call_inside(body, trial.tensor(host))
    trial.equal((sorted(plain), names), (["b"], ["sin"]))
    trial.equal(seen, [(int, "b"), (int, "a"), (int, "a")])
    trial.close(plain["b"], 3 * widened(host) + 1.5, dtype="float32")
    trial.close(rows, 2 * widened(host) + 0.5, dtype="float32")
    trial.close(slope, 4 * widened(host), dtype="float32")


def eager_refuses(trial: Trial) -> None:
    """Errors of what is computed inside pass through: shapes that do not fit, in a scan too, a scan without elements,
    a decision about a mapped value. With False a decision about a traced value is an error as outside. Each time the
    setting is as before."""
    x = trial.tensor(trial.random(2, 3))

    def body(disable_jit: Callable[..., Any], work: Callable[[], Any], disable: bool = True) -> Any:
        with disable_jit(disable):
            return work()

    def chosen(x: Any) -> Any:
        return x if x.sum() > 0 else -x

    traced = ["ConcretizationTypeError", "TracerBoolConversionError"]
    for kinds, word, work, disable in (
        (["TypeError"], "shape", lambda: jax.jit(lambda x: x @ x)(x), True),
        (["ZeroDivisionError"], "zero", lambda: jax.jit(lambda x: 1 // 0)(x), True),
        (["ValueError"], "scan", lambda: lax.scan(lambda c, a: (c, a), 0.0, (x, jnp.ones(3))), True),
        (["ValueError"], "zero-length", lambda: lax.scan(lambda c, a: (c, a), 0.0, jnp.ones((0, 2))), True),
        (traced, "", lambda: jax.vmap(jax.jit(chosen))(x), True),
        (traced, "", lambda: jax.jit(chosen)(x), False),
    ):
        trial.raises_inside(kinds, word, body, work, disable)
        trial.equal(_disabled(), False)
    trial.raises(["TypeError"], "argument", True, True)
    chosen_here = trial.call_inside(body, lambda: jax.jit(lambda x: "positive" if x.min() ** 2 >= 0 else "no")(x))
    trial.equal(chosen_here, "positive")


# jax.core.eval_context


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
    traced and compiled anew; what they give is known, and a loop of Python can run over it."""
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


def _disabled() -> bool:
    """Whether a compiled function now runs as plain Python."""
    seen: list[bool] = []
    jax.jit(lambda x: seen.append(_traced(x)))(0)
    return not seen[0]


def _traced(value: Any) -> bool:
    return isinstance(value, jax.core.Tracer)

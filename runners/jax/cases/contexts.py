"""jax.disable_jit, several times, within itself and within other transformations."""

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


def eager_in_trace(trial: Trial) -> None:
    """In a function that is traced, a compiled function within the context adds its own equations to the trace, and
    after the context it is one equation again."""
    x = trial.tensor(trial.random(3))

    def body(disable_jit: Callable[..., Any]) -> Any:
        def mixed(x: Any) -> Any:
            with disable_jit():
                x = jax.jit(lambda x: lax.sin(lax.cos(x)))(x)
            return jax.jit(lambda x: lax.exp(x))(x)

        return jax.make_jaxpr(mixed)(x)

    names = [equation.primitive.name for equation in trial.call_inside(body).eqns]
    trial.equal((names[:2], len(names)), (["cos", "sin"], 3))
    trial.check(names[2] != "exp", "the function was not compiled after the context")


def eager_decorated(trial: Trial) -> None:
    """As a decorator the context holds for each call of the function, not only for the first one, and not beyond it."""
    host = trial.random(4)
    seen: list[bool] = []

    @jax.jit
    def doubled(x: Any) -> Any:
        seen.append(_traced(x))
        return x + x

    def body(disable_jit: Callable[..., Any], x: Any) -> Any:
        seen.clear()

        @disable_jit()
        def called(x: Any) -> Any:
            return doubled(x)

        outputs = [called(x), called(x), doubled(x), called(x)]
        return [*outputs, disable_jit(False)(called)(x)]

    for output in trial.call_inside(body, trial.tensor(host)):
        trial.exact(output, 2 * host, "float32")
    trial.equal(seen, [False, False, True, False, False])
    trial.equal(_disabled(), False)


def _disabled() -> bool:
    """Whether a compiled function now runs as plain Python."""
    seen: list[bool] = []
    jax.jit(lambda x: seen.append(_traced(x)))(0)
    return not seen[0]


def _traced(value: Any) -> bool:
    return isinstance(value, jax.core.Tracer)

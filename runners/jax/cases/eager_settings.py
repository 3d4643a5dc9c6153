"""jax.disable_jit beside JAX's other settings, and in functions of JAX itself."""

from __future__ import annotations

from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.double import x64
from runners.jax.settings import setting


def over_the_global_setting(trial: Trial) -> None:
    """jax.config shows the setting inside. Where it is set for the whole process, False overrules it, and the context
    leaves it as it was."""

    def body(disable_jit: Callable[..., Any]) -> list[Any]:
        states = [jax.config.jax_disable_jit]
        with disable_jit():
            states.append(jax.config.jax_disable_jit)
        with setting("jax_disable_jit", True):
            for disable in (False, True):
                with disable_jit(disable):
                    states += [jax.config.jax_disable_jit, _traced()]
                states += [jax.config.jax_disable_jit, _traced()]
        return [*states, jax.config.jax_disable_jit, _traced()]

    states = trial.call_inside(body)
    trial.equal(states, [False, True, False, True, True, False, True, False, True, False, False, True])


def other_settings(trial: Trial) -> None:
    """64-bit types, the generator of keys and a wanted error are in force inside, and after it as before."""

    def body(disable_jit: Callable[..., Any]) -> list[Any]:
        found = []
        with x64(), jax.default_prng_impl("rbg"), jax.debug_nans(True):
            for _ in range(2):
                with disable_jit():
                    found.append(_settings())
                found.append(_settings())
        return [*found, _settings()]

    *inside, after = trial.call_inside(body)
    trial.equal(inside, [("float64", 4, True)] * 4)
    trial.equal(after, ("float32", 2, False))


def functions_of_jax(trial: Trial) -> None:
    """Functions of jax.numpy and jax.nn are not compiled either: their operations are in a trace one by one. A
    function with its own derivative keeps it."""
    host = trial.random(5)

    @jax.custom_jvp
    def tripled(x: Any) -> Any:
        return jnp.where(x > 0, x, jnp.clip(x, -0.25, 0))

    tripled.defjvp(lambda primals, tangents: (tripled(primals[0]), 3 * tangents[0]))

    def body(disable_jit: Callable[..., Any], x: Any) -> Any:
        with disable_jit():
            jaxpr = jax.make_jaxpr(lambda x: jnp.where(x > 0, x, jnp.clip(x, -0.25, 0)))(x)
            slope = jax.grad(lambda x: jnp.sum(jax.jit(tripled)(x)))(x)
            return jaxpr, slope, tripled(x)

    jaxpr, slope, output = trial.call_inside(body, trial.tensor(host))
    names = {equation.primitive.name for equation in jaxpr.eqns}
    trial.check({"gt", "max", "min"} <= names and not names & {"pjit", "jit"}, f"the operations are {sorted(names)}")
    trial.exact(slope, np.full(5, 3), "float32")
    trial.close(output, np.where(host > 0, host, np.clip(widened(host), -0.25, 0)), dtype="float32")


def random_numbers(trial: Trial) -> None:
    """The same keys give the same random numbers inside as outside, whatever they are drawn from; and so they do after
    it."""

    def draws() -> list[Any]:
        # Inside, each step of a draw is a program of its own: all draw as many bits as a pair of keys has.
        key = jax.random.PRNGKey(7)
        one, two = keys = jax.random.split(key)
        return [
            keys,
            jax.vmap(lambda number: jax.random.fold_in(one, number))(np.arange(2)),
            jax.random.normal(two, (4,)),
            jax.random.permutation(key, 4),
        ]

    def body(disable_jit: Callable[..., Any]) -> list[Any]:
        found = [draws()]
        for disable in (True, False):
            with disable_jit(disable):
                found.append(draws())
            found.append(draws())
        return found

    before, *later = trial.call_inside(body)
    for drawn in later:
        for output, wanted in zip(drawn, before):
            trial.close(output, np.asarray(wanted), dtype=str(wanted.dtype))


def _settings() -> tuple[str, int, bool]:
    return jnp.ones(1).dtype.name, jax.random.PRNGKey(0).size, jax.config.jax_debug_nans


def _traced() -> bool:
    """Whether a compiled function is traced now."""
    seen: list[bool] = []
    jax.jit(lambda x: seen.append(isinstance(x, jax.core.Tracer)))(0)
    return seen[0]


def eager_switches(trial: Trial) -> None:
    """jax.disable_jit: the context gives nothing, and is on or off for bools and numbers of all kinds, also within
    another one. After an error in it, the setting is as before, though the context is still held."""
    x = trial.tensor(trial.random(3))
    held: list[Any] = []

    def is_traced() -> bool:
        seen: list[bool] = []
        jax.jit(lambda x: seen.append(isinstance(x, jax.core.Tracer)) or x)(x)
        return seen[0]

    def body(disable_jit: Callable[..., Any]) -> Any:
        found = []
        for outer in (False, True):
            for switch in (True, False, 1, 0, np.bool_(True), np.bool_(False)):
                with disable_jit(outer):
                    with disable_jit(switch) as given:
                        found.append((bool(switch), given, not is_traced()))
                    found.append((outer, None, not is_traced()))
            held.append(disable_jit(outer))
            try:
                with held[-1]:
                    raise KeyError("inside")
            except KeyError:
                found.append((False, None, not is_traced()))
        return found

    for wanted, given, is_eager in trial.call_inside(body):
        trial.equal((given, is_eager), (None, wanted))

"""At an error jax.core.eval_context ends, and jax.random.PRNGKey takes generators by name."""

from __future__ import annotations

import contextlib
import inspect
from typing import Any, Callable

import jax
import numpy as np
from jax import lax

from runners.core.testing.trial import Trial


def ends_at_error(trial: Trial) -> None:
    """An error leaves the context: what follows it in a traced function is traced again."""

    def body(eval_context: Callable[..., Any]) -> Any:
        states: list[bool] = []

        def traced(x: Any) -> Any:
            for error in (None, KeyError, ValueError):
                with contextlib.suppress(KeyError, ValueError), eval_context():
                    states.append(isinstance(lax.sin(np.float32(1)), jax.core.Tracer))
                    if error:
                        raise error("inside")
                states.append(isinstance(lax.sin(np.float32(1)), jax.core.Tracer))
            return x

        jax.jit(traced)(np.float32(2))
        return states

    trial.equal(trial.call_inside(body), [False, True] * 3)


def keys_of_names(trial: Trial) -> None:
    """The key is one of the generator that is named, whose form it has; an unknown name is an error."""
    if "impl" not in inspect.signature(jax.random.PRNGKey).parameters:
        trial.skip("this version takes no generator here")
    for seed in (5, 2**31 - 1):
        for name, times in (("threefry2x32", 1), ("rbg", 2), ("unsafe_rbg", 2), (None, 1)):
            trial.exact(trial.call(seed, impl=name), np.array([0, seed] * times), "uint32")
    for name in ("nope", "threefry", ""):
        trial.raises(["ValueError"], "PRNG implementation", 5, impl=name)

"""Types that depend on where a value comes from, or on JAX's settings: jax.core.get_aval and jax.random.PRNGKey."""

from __future__ import annotations

from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.trial import Trial


def aval_of_weak_values(trial: Trial) -> None:
    """A weakly typed array has a weakly typed abstract value, in a trace too; after it has a dtype it has not. What has
    no derivative has the type float0."""
    number = trial.tensor(np.float32(2.5))
    weak = jnp.asarray(2.5)
    seen: list[Any] = []

    def body(get_aval: Callable[..., Any], *numbers: Any) -> Any:
        def traced(*numbers: Any) -> Any:
            seen[:] = map(get_aval, numbers)
            return numbers

        jax.jit(traced)(*numbers)
        return [*map(get_aval, numbers), *seen]

    avals = trial.call_inside(body, weak, number, 2.5, weak.astype("float32"))
    trial.equal([bool(aval.weak_type) for aval in avals], [True, False, True, False] * 2)
    trial.equal([(aval.shape, str(aval.dtype)) for aval in avals], [((), "float32")] * 8)
    nothing = trial.call(np.zeros(3, jax.dtypes.float0))
    trial.equal((nothing.shape, nothing.dtype == jax.dtypes.float0), ((3,), True))


def key_with_type(trial: Trial) -> None:
    """With jax_enable_custom_prng a key has a dtype of its own and no axes, and gives the same numbers as the plain
    one. True is the seed 1."""

    def body(make: Callable[..., Any], seed: Any) -> Any:
        with jax.enable_custom_prng(True):
            return make(seed)

    for seed, number in ((7, 7), (np.int8(-1), 2**32 - 1), (True, 1)):
        plain, typed = trial.call(seed), trial.call_inside(body, seed)
        trial.exact(plain, [0, number], "uint32")
        trial.equal((typed.shape, str(typed.dtype)), ((), "key<fry>"))
        trial.equal(jax.random.bits(typed, (3,)), trial.numpy(jax.random.bits(plain, (3,))))

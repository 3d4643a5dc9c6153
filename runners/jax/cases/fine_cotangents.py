"""Cotangents and tangents of half precision that have digits up to the last one."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial


def fine_cotangents(trial: Trial, at: float, slope: float, options: Sequence[Any] = ()) -> None:
    """In both directions a derivative is the slope times a number of all digits of float16 and bfloat16, large ones and
    those of either sign, in the type of the argument. ``options`` follow the number ``at``."""
    numbers = [1 + 2.0**-8 - 2.0**-10, 3 - 2.0**-9, -1.5 - 2.0**-9, 1021.5, 0.0, -(2.0**-9)]
    dtypes = ("float16", "bfloat16")
    arrays = [(jnp.full(len(numbers), at, dtype), trial.tensor(np.array(numbers), dtype)) for dtype in dtypes]

    def body(function: Callable[..., Any], arrays: Any) -> Any:
        def derived(x: Any, along: Any) -> Any:
            def of(x: Any) -> Any:
                return function(x, *options)

            return jax.vjp(of, x)[1](along)[0], jax.jvp(of, (x,), (along,))[1]

        return jax.jit(lambda arrays: [derived(*each) for each in arrays])(arrays)

    trial.has_random_inputs = False  # other values would compile the same program again
    for outputs, (_, along), dtype in zip(trial.call_inside(body, arrays), arrays, dtypes):
        for output in outputs:
            # The slope is rounded, and its product again.
            rtol = {"float16": 1.5e-3, "bfloat16": 1.2e-2}[dtype]
            trial.close(output, slope * widened(trial.numpy(along)), rtol=rtol, atol=0, dtype=dtype)

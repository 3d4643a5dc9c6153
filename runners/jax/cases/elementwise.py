"""jax.numpy.cos, where a ``call`` test is not enough."""

from __future__ import annotations

from typing import Any, Callable

import jax
import numpy as np

from runners.core.testing.trial import Trial
from runners.jax.cases.wide_types import call_with_x64


def cos_special_values(trial: Trial, dtype: str) -> None:
    """The cosine of both zeros is one; that of NaN and of both infinities is NaN."""
    values = np.array([0.0, -0.0, np.nan, np.inf, -np.inf])
    trial.close(trial.call(trial.tensor(values, dtype)), [1.0, 1.0, np.nan, np.nan, np.nan], dtype=dtype)


def cos_double(trial: Trial, shape: list[int]) -> None:
    """With 64-bit types enabled, the output is a float64 that is accurate to twelve digits, not to float32's seven."""
    host = trial.random(*shape, dtype="float64", low=-100.0, high=100.0)
    host[0, :3] = [1e5, -1e10, 1e15]
    output = call_with_x64(trial, host)
    trial.close(output, np.cos(host), rtol=1e-12, atol=1e-12, dtype="float64")


def cos_gradient(trial: Trial, order: int) -> None:
    """Value and derivatives are cosine, minus sine, minus cosine and sine."""
    host = trial.random(2048, seed=order)

    def body(cos: Callable[..., Any], angles: Any) -> Any:
        derivatives = [cos]
        for _ in range(order):
            derivatives.append(jax.grad(derivatives[-1]))
        return [jax.vmap(derivative)(angles) for derivative in derivatives]

    outputs = trial.call_inside(body, trial.tensor(host))
    for quarter_turns, output in enumerate(outputs):
        trial.close(output, np.cos(host.astype("float64") + quarter_turns * np.pi / 2), dtype="float32")

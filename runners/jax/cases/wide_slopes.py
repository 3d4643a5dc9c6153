"""Derivatives of numbers of 64 bits, compared with differences of the reference's values."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.trial import Trial
from runners.jax.cases.floating import Floating
from runners.jax.cases.given import Given
from runners.jax.cases.slopes import gradient_of
from runners.jax.double import x64


def wide_slopes(
    trial: Trial,
    args: Sequence[Any],
    expect: Mapping[str, Any],
    kwargs: Mapping[str, Any] | None = None,
    tolerance: float = 1e-8,
) -> None:
    """In a compiled function, with 64-bit types enabled, values and gradients of all float64 arrays are float64 and
    more accurate than float32 could be.

    The arguments and ``expect`` are those of a manifest's ``call``.
    """
    with x64():
        floating = Floating(trial, Given(trial, args, kwargs), expect, np.float64)
    values = floating.exact(floating.hosts)
    cotangents = [trial.random(*np.shape(value), dtype="float64", seed=100 + n) for n, value in enumerate(values)]

    def body(function: Callable[..., Any], arrays: Any) -> Any:
        with x64():

            def derived(arrays: Any, cotangents: Any) -> Any:
                outputs, pull_back = jax.vjp(floating.of(function), arrays)
                return outputs, pull_back(cotangents)[0]

            return jax.jit(derived)(arrays, list(map(jnp.asarray, cotangents)))

    trial.has_random_inputs = False  # other values would compile the same programs again
    outputs, gradients = trial.call_inside(body, floating.tensors)
    wanted = gradient_of(floating.exact, floating.hosts, cotangents)
    for found, exactly in zip((*outputs, *gradients), (*values, *wanted)):
        trial.close(found, exactly, rtol=tolerance, atol=tolerance, dtype="float64")

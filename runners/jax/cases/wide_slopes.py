"""Derivatives of numbers of 64 bits, compared with differences of the reference's values."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.trial import Trial
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
    """With 64-bit types enabled, values and gradients of all float64 arrays are float64 and more accurate than float32
    could be.

    The arguments and ``expect`` are those of a manifest's ``call``.
    """
    with x64():
        given = Given(trial, args, kwargs)
    floating = [place for place, tensor in enumerate(given.tensors) if tensor.dtype == np.float64]
    hosts = [np.asarray(given.tensors[place]) for place in floating]

    def exact(arrays: Sequence[Any]) -> list[Any]:
        whole = [np.asarray(tensor) for tensor in given.tensors]
        for place, array in zip(floating, arrays):
            whole[place] = array
        return _listed(given.expected(expect, given.with_tensors(whole)))

    values = exact(hosts)
    cotangents = [trial.random(*np.shape(value), dtype="float64", seed=100 + n) for n, value in enumerate(values)]

    def body(function: Callable[..., Any], arrays: Any) -> Any:
        def under_test(arrays: Any) -> Any:
            whole = list(given.tensors)
            for place, array in zip(floating, arrays):
                whole[place] = array
            output = function(*given.with_tensors(whole), **given.kwargs)
            for step in expect.get("output", []):
                output = output[step]
            return _listed(output)

        with x64():
            outputs, pull_back = jax.vjp(under_test, arrays)
            return outputs, pull_back([jnp.asarray(cotangent) for cotangent in cotangents])[0]

    trial.has_random_inputs = False  # other values would compile the same programs again
    outputs, gradients = trial.call_inside(body, [given.tensors[place] for place in floating])
    wanted = gradient_of(exact, hosts, cotangents)
    for found, exactly in zip((*outputs, *gradients), (*values, *wanted)):
        trial.close(found, exactly, rtol=tolerance, atol=tolerance, dtype="float64")


def _listed(outputs: Any) -> list[Any]:
    return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]

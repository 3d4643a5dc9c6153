"""Derivatives of functions that only move elements: tangents and cotangents are moved too, whatever they are."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable, Mapping, Sequence

import jax
import numpy as np

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.cases.floating import Floating
from runners.jax.cases.given import Given

_SPECIAL = {
    "float32": [np.nan, np.inf, -np.inf, -0.0, 3.4e38, 1.2e-38],
    "float16": [np.inf, 6e-8, -np.inf, -0.0, 65504, np.nan],
    "bfloat16": [-np.inf, 1.2e-38, np.nan, -0.0, 3.3e38, np.inf],
}
_SUBNORMAL = 1e-40
"""Among the tangents of float32. A cotangent may be added to zero, and some devices flush the sum."""


def special_slopes(
    trial: Trial,
    args: Sequence[Any],
    expect: Mapping[str, Any],
    kwargs: Mapping[str, Any] | None = None,
    dtype: str = "float32",
    compiled: bool = True,
) -> None:
    """Tangents and cotangents that are NaN, infinite, the largest or tiny come out exactly, at the places of their
    elements; an element that is not in the output has a cotangent of zero.

    The arguments and ``expect`` are those of a manifest's ``call``. Without ``compiled`` each operation is called by
    itself.
    """
    floating = Floating(trial, Given(trial, args, kwargs), expect)
    hosts = floating.hosts
    tangents = [_rounded(trial, np.shape(host), dtype, 300 + n, True) for n, host in enumerate(hosts)]
    numbers, count = [], 1
    for host in hosts:
        numbers.append(np.arange(count, count + np.size(host)).reshape(np.shape(host)))
        count += np.size(host)
    places = [np.asarray(part).astype(int) for part in floating.exact(numbers)]
    cotangents = [_rounded(trial, part.shape, dtype, 400 + n, False) for n, part in enumerate(places)]

    @lru_cache(maxsize=1)
    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        def derived(arrays: Any, tangents: Any, cotangents: Any) -> Any:
            under_test = floating.of(function)
            moved = jax.jvp(under_test, (arrays,), (tangents,))[1]
            return moved, jax.vjp(under_test, arrays)[1](cotangents)[0]

        return jax.jit(derived) if compiled else derived

    trial.has_random_inputs = False  # other values would compile the same program again
    given = [[trial.tensor(array, dtype) for array in arrays] for arrays in (tangents, cotangents)]
    moved, pulled = trial.call_inside(lambda function, *x: made(function)(*x), floating.tensors, *given)
    expected = floating.exact([widened(trial.numpy(tensor)) for tensor in given[0]])
    trial.equal(len(moved), len(expected))
    for part, wanted in zip(moved, expected):
        trial.close(part, wanted, rtol=0, atol=0, dtype=dtype)
    flat = np.zeros(count)
    for tensor, place in zip(given[1], places):
        # The place zero is that of an output's element which comes from no element.
        with np.errstate(invalid="ignore"):
            np.add.at(flat, place, widened(trial.numpy(tensor)))
    for part, number in zip(pulled, numbers):
        trial.close(part, flat[number], rtol=0, atol=0, dtype=dtype)


def _rounded(trial: Trial, shape: Any, dtype: str, seed: int, subnormal: bool) -> Any:
    """Return random numbers, of which every second one is special."""
    array = np.array(trial.random(*shape, seed=seed, low=0.5, high=1.5))
    special = [*([_SUBNORMAL] if subnormal and dtype == "float32" else []), *_SPECIAL[dtype]]
    flat = array.reshape(-1)
    chosen = flat[seed % 2 :: 2]
    chosen[...] = np.resize(special, chosen.shape)
    return array

"""Derivatives in both directions, of any function with a NumPy reference, compared with differences of its values."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable, Mapping, Sequence

import jax
import numpy as np

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.cases.floating import Floating
from runners.jax.cases.given import Given

Arrays = Sequence[Any]
_SECOND = 4


def slopes(
    trial: Trial,
    args: Sequence[Any],
    expect: Mapping[str, Any],
    kwargs: Mapping[str, Any] | None = None,
    rtol: float = 1e-5,
    atol: float = 1e-5,
    second: bool = False,
) -> None:
    """The values, the gradients for two cotangents, one after the other through one graph, and the directional
    derivatives match those of the reference, for all floating arrays together. With ``second`` also the derivative of
    the gradient.

    The arguments and ``expect`` are those of a manifest's ``call``.
    """
    floating = Floating(trial, Given(trial, args, kwargs), expect)
    hosts, exact = floating.hosts, floating.exact
    values = exact(hosts)
    cotangents = [_random(trial, values, seed) for seed in (100, 200)]
    tangents = _random(trial, hosts, 300)

    @lru_cache(maxsize=1)
    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        def derived(arrays: Any, cotangents: Any, tangents: Any) -> Any:
            under_test = floating.of(function)
            outputs, pull_back = jax.vjp(under_test, arrays)
            gradients = [pull_back(each)[0] for each in cotangents]
            found = [outputs, *gradients, jax.jvp(under_test, (arrays,), (tangents,))[1]]
            if second:

                def gradient(arrays: Any) -> Any:
                    return jax.vjp(under_test, arrays)[1](cotangents[0])[0]

                found.append(jax.jvp(gradient, (arrays,), (tangents,))[1])
            return found

        return jax.jit(derived)

    trial.has_random_inputs = False  # other values would compile the same program again
    moved = [list(map(trial.tensor, each)) for each in (map(_narrow, hosts), *cotangents, tangents)]
    found = trial.call_inside(
        lambda function, *inputs: made(function)(*inputs), moved[0], [moved[1], moved[2]], moved[3]
    )
    wide = [list(map(widened, each)) for each in (*cotangents, tangents)]
    expected = [values, *(gradient_of(exact, hosts, each) for each in wide[:2]), along(exact, hosts, wide[2])]
    if second:
        expected.append(along(lambda arrays: gradient_of(exact, arrays, wide[0], 1e-3), hosts, wide[2], 1e-3))
    for number, (parts, wanted) in enumerate(zip(found, expected)):
        trial.equal(len(parts), len(wanted))
        if number == _SECOND:
            # Differences of differences have about half of the digits.
            rtol, atol = max(rtol, 1e-3), max(atol, 1e-3)
        for part, exactly in zip(parts, wanted):
            trial.close(part, exactly, rtol=rtol, atol=atol, dtype="float32")


def gradient_of(exact: Callable[[Arrays], Any], arrays: Arrays, cotangents: Arrays, step: float = 1e-5) -> list[Any]:
    """Return the gradient of the sum of the values, times the cotangents."""
    gradients = []
    for number, array in enumerate(arrays):
        gradient = np.zeros(np.shape(array))
        for place in np.ndindex(*np.shape(array)):
            moved = np.zeros(np.shape(array))
            moved[place] = 1
            direction = [moved if each == number else np.zeros(np.shape(one)) for each, one in enumerate(arrays)]
            change = along(exact, arrays, direction, step)
            gradient[place] = sum(np.sum(part * cotangent) for part, cotangent in zip(change, cotangents))
        gradients.append(gradient)
    return gradients


def along(exact: Callable[[Arrays], Any], arrays: Arrays, direction: Arrays, step: float = 1e-5) -> list[Any]:
    """Return the change of each value along a direction."""
    after, before = (
        exact([array + side * step * change for array, change in zip(arrays, direction)]) for side in (1, -1)
    )
    return [(one - other) / (2 * step) for one, other in zip(after, before)]


def _random(trial: Trial, arrays: Arrays, seed: int) -> list[Any]:
    return [
        np.asarray(trial.random(*np.shape(array), seed=seed + number, low=0.5, high=1.5))
        for number, array in enumerate(arrays)
    ]


def _narrow(array: Any) -> Any:
    return np.asarray(array).astype("float32")

"""Derivatives of long arrays, checked along random directions."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import jax
import numpy as np

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.cases.given import Given

_STEP = 1e-6


def long_slopes(trial: Trial, calls: Sequence[Mapping[str, Any]]) -> None:
    """The gradient of a weighted sum of the output, for all floating arguments, is that of the reference along each of
    three random directions, in which each element has its part. One program has the gradients of all calls.

    Each of the ``calls`` has the arguments and ``expect`` of a manifest's ``call``.
    """
    every = [Given(trial, call["args"], call.get("kwargs")) for call in calls]
    inputs = [one.tensors for one in every]
    places = [[index for index, x in enumerate(each) if x.dtype.kind == "f"] for each in inputs]
    hosts = [[widened(trial.numpy(x)) for x in each] for each in inputs]
    weights = [
        np.cos(np.arange(np.size(exact(hosts)))).reshape(np.shape(exact(hosts)))
        for exact, hosts in zip([_reference(one, call["expect"]) for one, call in zip(every, calls)], hosts)
    ]

    def body(function: Callable[..., Any], inputs: Any) -> Any:
        def gradient(one: Given, where: Sequence[int], weight: Any, tensors: Sequence[Any]) -> Any:
            def total(floats: Sequence[Any]) -> Any:
                given = list(tensors)
                for place, each in zip(where, floats):
                    given[place] = each
                return (function(*one.with_tensors(given), **one.kwargs) * weight.astype("float32")).sum()

            return jax.grad(total)([tensors[place] for place in where])

        return jax.jit(lambda inputs: list(map(gradient, every, places, weights, inputs)))(inputs)

    trial.has_random_inputs = False  # other values would compile the same program again
    found = trial.call_inside(body, inputs)
    random = np.random.RandomState(8)
    for one, call, where, weight, host, gradients in zip(every, calls, places, weights, hosts, found):
        exact = _reference(one, call["expect"])
        for place, gradient in zip(where, gradients):
            trial.equal((gradient.shape, str(gradient.dtype)), (host[place].shape, "float32"))
            slope = trial.numpy(gradient).astype("float64")
            for _ in range(3):
                along = random.uniform(0.5, 1, slope.shape) * random.choice([-1, 1], slope.shape)
                ends = [
                    [x + sign * _STEP * along if number == place else x for number, x in enumerate(host)]
                    for sign in (1, -1)
                ]
                wanted = float(np.sum(weight * (exact(ends[0]) - exact(ends[1])))) / (2 * _STEP)
                allowed = 1e-5 * float(np.abs(slope * along).sum()) + 1e-6
                trial.check(
                    abs(float((slope * along).sum()) - wanted) <= allowed,
                    f"along a direction the slope is {(slope * along).sum()}, expected {wanted}",
                )


def _reference(one: Given, expect: Mapping[str, Any]) -> Callable[[Sequence[Any]], Any]:
    return lambda hosts: np.asarray(one.expected(expect, one.with_tensors(hosts)))

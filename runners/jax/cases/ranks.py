"""Every axis, for any function with an axis: of arrays of four to six axes, and where all axes have one length."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any, Callable, Mapping, Sequence

import jax
import numpy as np

from runners.core.testing.trial import Trial
from runners.jax.cases.given import Given


def every_axis(
    trial: Trial,
    args: Sequence[Any],
    expect: Mapping[str, Any],
    kwargs: Mapping[str, Any] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    compiled: bool = True,
) -> None:
    """Along each axis, counted from the end or from the start, the output is the reference's: all of them in one
    compiled program, or each in a call of its own where an argument must be known.

    The arguments and ``expect`` are those of a manifest's ``call``.
    """
    given = Given(trial, args, kwargs)
    # The output of stack has one axis more.
    rank = max(map(np.ndim, given.host)) if expect["numpy"] != "stack" else np.ndim(given.host[0][0]) + 1
    axes = [number for axis in range(-1, -rank - 1, -1) for number in (axis, axis + rank)]

    def each(function: Callable[..., Any], tensors: Any) -> Any:
        return [function(*given.with_tensors(tensors), axis=axis, **given.kwargs) for axis in axes]

    if compiled:
        trial.has_random_inputs = False  # other values would compile the same program again
        outputs = trial.call_inside(lambda function, x: jax.jit(lambda x: each(function, x))(x), given.tensors)
    else:
        outputs = each(trial.call, given.tensors)
    for axis, output in zip(axes, outputs):
        with np.errstate(all="ignore"):
            expected = given.expected(expect, given.host, axis=axis)
        parts = zip(output, expected) if isinstance(expected, list) else [(output, expected)]
        for part, wanted in parts:
            trial.close(part, wanted, rtol, atol, dtype=expect.get("dtype", "float32"))


def one_size(
    trial: Trial,
    args: Sequence[Any],
    expect: Mapping[str, Any],
    axes: Sequence[Any],
    where: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
) -> None:
    """Where all axes have one length, each of the ``axes`` is the one that is meant, with each of the masks ``where``:
    all of them in one compiled program.

    The arguments and ``expect`` are those of a manifest's ``call``.
    """
    given, chosen, masks = (Given(trial, data, None) for data in (args, axes, where))
    options = Given(trial, [], kwargs).kwargs
    places = [(axis, {"where": number} if where else {}) for axis in chosen.host for number in range(len(where) or 1)]

    @lru_cache(maxsize=1)
    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        def program(tensors: Any, masks: Any) -> Any:
            return [
                function(
                    *given.with_tensors(tensors), axis=axis, **options, **{name: masks[n] for name, n in named.items()}
                )
                for axis, named in places
            ]

        return jax.jit(program)

    trial.has_random_inputs = False  # other values would compile the same program again
    outputs = trial.call_inside(lambda function, *x: made(function)(*x), given.tensors, masks.tensors)
    for output, (axis, named) in zip(outputs, places):
        more = {name: masks.host[number] for name, number in named.items()}
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = given.expected(expect, given.host, axis=axis, **more)
        several = isinstance(expected, (tuple, list))
        for part, wanted in zip(output, expected) if several else [(output, expected)]:
            trial.close(part, wanted, rtol, atol, dtype=expect.get("dtype", "float32"))

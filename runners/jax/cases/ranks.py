"""Arrays of four to six axes, some of length one: every axis by its negative number, for any function with an axis."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

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
) -> None:
    """Along each axis, counted from the end or from the start, the output is the reference's.

    The arguments and ``expect`` are those of a manifest's ``call``.
    """
    given = Given(trial, args, kwargs)
    # The output of stack has one axis more.
    rank = max(map(np.ndim, given.host)) if expect["numpy"] != "stack" else np.ndim(given.host[0][0]) + 1
    for axis in range(-1, -rank - 1, -1):
        with np.errstate(all="ignore"):
            expected = given.expected(expect, given.host, axis=axis)
        for number in (axis, axis + rank):
            output = trial.call(*given.with_tensors(given.tensors), axis=number, **given.kwargs)
            parts = zip(output, expected) if isinstance(expected, list) else [(output, expected)]
            for part, wanted in parts:
                if expect["numpy"] == "size":
                    trial.equal(int(part), int(wanted))
                else:
                    trial.close(part, wanted, rtol, atol, dtype=expect.get("dtype", "float32"))

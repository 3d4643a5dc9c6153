"""Arrays of four to six axes, some of length one: every axis by its negative number, for any function with an axis."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import numpy as np

from runners.core.public import names
from runners.core.testing import references
from runners.core.testing.inputs import Builder
from runners.core.testing.trial import Trial


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
    builder = Builder(trial, names.framework(trial.framework))
    built = builder.all(args)
    named = {name: item.device for name, item in builder.named(kwargs or {}).items()}
    named_there = {name: item.host for name, item in builder.named(expect.get("kwargs", {})).items()}
    host = [item.host for item in built]
    given = expect.get("args", [{"arg": place} for place in range(len(host))])
    chosen = [host[item["arg"]] if isinstance(item, dict) else item for item in given]
    # The output of stack has one axis more.
    rank = max(map(np.ndim, host)) if expect["numpy"] != "stack" else np.ndim(host[0][0]) + 1
    for axis in range(-1, -rank - 1, -1):
        with np.errstate(all="ignore"):
            expected = references.find("numpy", expect["numpy"])(*chosen, axis=axis, **named_there)
        for number in (axis, axis + rank):
            output = trial.call(*[item.device for item in built], axis=number, **named)
            parts = zip(output, expected) if isinstance(expected, list) else [(output, expected)]
            for part, wanted in parts:
                if expect["numpy"] == "size":
                    trial.equal(int(part), int(wanted))
                else:
                    trial.close(part, wanted, rtol, atol, dtype=expect.get("dtype", "float32"))

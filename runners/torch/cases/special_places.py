"""Infinities, NaN and huge numbers at places all over long axes."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import numpy as np

from runners.core.testing import references
from runners.core.testing.trial import Trial


def reduced(
    trial: Trial,
    numpy: str,
    lengths: Sequence[int],
    dtype: str,
    values: Sequence[Any],
    options: Mapping[str, Any] = {},
) -> None:
    """One special value among small numbers of a long axis counts, wherever it is, along either axis and of all
    elements. The values are numbers, or text as JSON has no NaN."""
    reference = references.find("numpy", numpy)
    for length in lengths:
        places = sorted({place % length for place in (0, 1, 63, 64, length // 2, 255, 256, 1023, 1024, -2, -1)})
        for value in values:
            host = np.tile(np.arange(length) % 7 - 3, (len(places), 1)).astype(dtype)
            host[range(len(places)), places] = float(value)
            rows, columns = trial.tensor(host), trial.tensor(np.ascontiguousarray(host.T))
            wide = host.astype("float64")
            trial.close(trial.call(rows, 1, **options), reference(wide, 1), dtype=dtype)
            trial.close(trial.call(columns, 0, **options), reference(wide, 1), dtype=dtype)
            trial.close(trial.call(rows[-1:], **options), reference(wide[-1]), dtype=dtype)

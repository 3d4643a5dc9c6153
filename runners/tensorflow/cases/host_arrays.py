"""NumPy arrays as arguments: a function reads them, and does not write into them."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import numpy as np

from runners.core.testing.trial import Trial


def kept(
    trial: Trial, arrays: Sequence[Any], dtypes: Sequence[str], calls: Sequence[Mapping[str, Any]], dtype: str
) -> None:
    """Each call with the same arrays has the value of its own options, and leaves every array as it was."""
    given = [np.asarray(each, name) for each, name in zip(arrays, dtypes)]
    for call in [*calls, calls[0]]:
        output = trial.call(*given, **call.get("kwargs", {}))
        trial.close(output, np.asarray(call["value"]), dtype=dtype)
        for array, each in zip(given, arrays):
            trial.equal(array, np.asarray(each, array.dtype))

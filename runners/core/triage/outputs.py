"""The outputs of a test's calls as host arrays, passed from one worker to another in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Sequence

import numpy as np

from runners.core.adapter import Adapter
from runners.core.testing import tree
from runners.core.testing.compare import EPSILON
from runners.core.triage.value_verdict import EXACT


class Recorder:
    """Makes calls and keeps their outputs: an observer of a Trial.

    ``arrays`` has one array for each tensor or number, in order; ``dtype`` is the coarsest floating dtype among them,
    or EXACT.
    """

    def __init__(self, adapter: Adapter) -> None:
        self.arrays: list[Any] = []
        self.dtype = EXACT
        self._adapter = adapter

    def __call__(self, call: Callable[[], Any]) -> Any:
        output = call()
        self._adapter.wait(output)
        for leaf in tree.leaves(output):
            name = self._adapter.dtype_name(leaf)
            if name is not None:
                # A copy, since the test may change its output in place.
                self.arrays.append(np.array(self._adapter.to_numpy(leaf)))
                if EPSILON.get(name, 0.0) > EPSILON.get(self.dtype, 0.0):
                    self.dtype = name
            elif isinstance(leaf, (bool, int, float, complex, np.number, np.ndarray)) and _is_numeric(leaf):
                self.arrays.append(np.array(leaf))
        return output


def store(path: str, arrays: Sequence[Any]) -> None:
    """Writes arrays to a file that holds no Python objects."""
    with Path(path).open("wb") as file:
        np.savez(file, *arrays)


def load(path: str) -> list[Any]:
    """Reads the arrays that ``store`` wrote."""
    with np.load(path, allow_pickle=False) as found:
        return [found[name] for name in found.files]


def _is_numeric(value: Any) -> bool:
    return np.asarray(value).dtype.kind in "biufc"

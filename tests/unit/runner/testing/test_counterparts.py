"""Inputs for functions that NumPy has, too."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from runners.core.testing.counterparts import Counterparts, Framework, pairs

_NUMPY = Framework(("float32", "int32"), lambda function, args, kwargs: True, lambda args, gradient: args)


def search(a: Any, v: Any) -> Any:
    """Goes through all values, as no library does."""
    return np.array([int(np.sum(a < each)) for each in np.ravel(v)])


def interpolate(x: Any, xp: Any, fp: Any) -> Any:
    return np.interp(x, xp, fp)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize(("name", "function", "place"), [("searchsorted", search, 0), ("interp", interpolate, 1)])
def test_what_is_searched_is_in_order(name: str, function: Any, place: int, dtype: str) -> None:
    source = Counterparts(_NUMPY, lambda: pairs({"np": (SimpleNamespace(**{name: function}), np)}, (), {}))
    samples = source.samples(f"np.{name}", dtype, False)
    assert samples
    for sample in samples:
        assert np.all(np.diff(sample.args[place]) > 0)
        np.testing.assert_allclose(function(*sample.args), sample.reference(), rtol=1e-6)

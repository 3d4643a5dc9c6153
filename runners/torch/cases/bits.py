"""Functions that move elements keep every bit of them: also NaN of either sign, its payload, and subnormal numbers.
Other functions take NaN of either sign, with any payload, as NaN."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
import torch

from runners.core.testing import properties, references
from runners.core.testing.trial import Trial

_PATTERNS = {
    # sign, exponent and fraction of float32 and float64
    "float32": ("uint32", [0x7FC00001, 0xFFC00000, 0x7FFFFFFF, 0xFFD55555, 0x80000000, 1, 0x807FFFFF, 0x3F800001]),
    "float64": ("uint64", [0x7FF8000000000001, 0xFFF8 << 48, 0xFFFFFFFFFFFFFFFF, 1 << 63, 1, 1 << 63 | 7, 1023 << 52]),
}


def kept(
    trial: Trial,
    shape: Sequence[int],
    dtype: str,
    numpy: str,
    args: Sequence[Any] = (),
    parts: int = 0,
    layout: str = "contiguous",
    dtype_given: bool = False,
) -> None:
    """The output has the bits that the NumPy function moves. ``parts``: how many equal tensors are given in a list.
    ``dtype_given``: the dtype and copy=True are arguments, and the output is a copy."""
    unsigned, patterns = _PATTERNS[dtype]
    numbers = np.resize(np.array(patterns, unsigned), shape)
    tensor = trial.tensor(numbers.view(dtype), dtype, layout)
    given = [tensor] * parts if parts else tensor
    options = {"dtype": trial.dtype(dtype), "copy": True} if dtype_given else {}
    output = trial.call(given, *args, **options)
    output = torch.stack(output) if isinstance(output, tuple) else output
    expected = references.find("numpy", numpy)([numbers] * parts if parts else numbers, *args)
    found = np.ascontiguousarray(trial.numpy(output))
    trial.equal([found.dtype.name, list(found.shape)], [dtype, list(np.shape(expected))])
    wrong = int((found.view(unsigned) != np.asarray(expected)).sum())
    trial.check(wrong == 0, f"{wrong} of {found.size} elements have other bits")


def sorted_nans(trial: Trial, length: int, dtype: str, descending: bool) -> None:
    """NaNs of either sign are sorted as the largest numbers."""
    values = _with_nans(trial, 3, length, dtype=dtype)
    output = trial.call(trial.tensor(values), descending=descending)
    trial.equal(trial.dtype_name(output), "int64")
    properties.find("argsort")(trial, output, [values], descending=descending)


def compared_nans(trial: Trial, length: int, dtype: str) -> None:
    """NaN of either sign is not less than a number or a NaN, and neither is less than it."""
    one, other = _with_nans(trial, 3, length, dtype=dtype), _with_nans(trial, 3, length, dtype=dtype)[:, ::-1].copy()
    trial.exact(trial.call(trial.tensor(one), trial.tensor(other)), one < other, "bool")


def _with_nans(trial: Trial, *shape: int, dtype: str) -> Any:
    """Random numbers, every seventh of which is one of four NaNs, two of them negative."""
    unsigned, patterns = _PATTERNS[dtype]
    values = trial.random(*shape, dtype=dtype, seed=1)
    nans = np.array([*patterns[:3], patterns[1] + 1], unsigned).view(dtype)
    places = values.reshape(-1)[::7]
    places[:] = np.resize(nans, places.shape)
    return values

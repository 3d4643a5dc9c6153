"""Alterations of a few values or digits of an output, like those of real devices (see runners.core.testing.mutants).

NumPy is imported where it is needed: the supervisor reads the names.
"""

from __future__ import annotations

from typing import Any

VALUES = ("float32", "bfloat16", "tile-end", "nan-swallowed", "zero-sign")
"""float32: a float64 is rounded to it. bfloat16: a float32 is rounded to it. tile-end: the last element of the first
row is that before it, if the row is no multiple of eight. nan-swallowed: NaN is zero. zero-sign: a
zero has the other sign."""

TILE = 8


def altered(array: Any, dtype: str, name: str) -> Any:
    """Another host array, or None if this alteration does not concern arrays of this dtype and shape."""
    import numpy as np

    if name == "float32" and dtype in ("float64", "complex128"):
        return array.astype("float32" if dtype == "float64" else "complex64").astype(dtype)
    if name == "bfloat16" and dtype == "float32":
        bits = np.ascontiguousarray(array).view(np.uint32).astype(np.uint64)
        rounded = (bits + 0x7FFF + ((bits >> np.uint64(16)) & np.uint64(1))) & np.uint64(0xFFFF0000)
        return np.where(np.isfinite(array), rounded.astype(np.uint32).view(np.float32), array)
    if name == "tile-end" and array.ndim and array.size and array.shape[-1] > TILE and array.shape[-1] % TILE:
        changed = array.copy()
        row = changed.reshape(-1, array.shape[-1])[0]
        row[-1] = row[-2]
        return changed
    if name == "nan-swallowed" and array.dtype.kind in "fc":
        return np.where(np.isnan(array), array.dtype.type(0), array)
    if name == "zero-sign" and array.dtype.kind == "f":
        return np.where(array == 0, -array, array)
    return None

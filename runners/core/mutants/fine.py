"""Alterations of a few values or digits of an array, like those of real devices (see schema/mutants.json).

NumPy is imported where it is needed: the worker reads the names before.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping

OUTPUTS = (
    "float32",
    "bfloat16",
    "tile-end",
    "last-element",
    "range-end",
    "nan-swallowed",
    "infinity-lost",
    "zero-sign",
    "overflow-early",
    "int32-wrapped",
)
"""The mutants that alter arrays of the output."""

DRAWS = ("spread-wrong", "tails-clipped", "period-short", "pairs-equal")
"""Those that alter the output of a function that draws random numbers."""

ARGUMENTS = ("bfloat16-inside", "negative-lost")
"""Those that alter arrays among the arguments."""

TILE = 8
FEWEST_DRAWS = 100


def altered(array: Any, dtype: str, name: str) -> Any:
    """Another host array, or None if this alteration does not concern arrays of this dtype and shape.

    ``dtype`` is the framework's: bfloat16 arrays are float32 on the host.
    """
    # A scalar text is no array on the host.
    kind = getattr(getattr(array, "dtype", None), "kind", None)
    return _ALTERATIONS[name](array, dtype) if kind in ("b", "i", "u", "f", "c") else None


def changes(array: Any, dtype: str, name: str) -> bool:
    """Whether any value is another after the alteration. NaN equals NaN, the zeros of both signs differ."""
    other = altered(array, dtype, name)
    if other is None:
        return False
    if name == "zero-sign":
        return bool((array == 0).any())
    return bool(((other != array) & ((other == other) | (array == array))).any())


def _float32(array: Any, dtype: str) -> Any:
    if dtype not in ("float64", "complex128"):
        return None
    return array.astype("float32" if dtype == "float64" else "complex64").astype(dtype)


def _bfloat16(array: Any, dtype: str) -> Any:
    import numpy as np

    if dtype != "float32":
        return None
    bits = np.ascontiguousarray(array).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> np.uint64(16)) & np.uint64(1))) & np.uint64(0xFFFF0000)
    return np.where(np.isfinite(array), rounded.astype(np.uint32).view(np.float32).reshape(array.shape), array)


def _tile_end(array: Any, dtype: str) -> Any:
    if not (array.ndim and array.size and array.shape[-1] > TILE and array.shape[-1] % TILE):
        return None
    changed = array.copy()
    row = changed.reshape(-1, array.shape[-1])[0]
    row[-1] = row[-2]
    return changed


def _last_element(array: Any, dtype: str) -> Any:
    if array.size < 2:
        return None
    flat = array.reshape(-1).copy()
    flat[-1] = flat[-2]
    return flat.reshape(array.shape)


def _range_end(array: Any, dtype: str) -> Any:
    import numpy as np

    from runners.core.testing.compare import EPSILON, LARGEST

    if array.dtype.kind in "iu":
        low, high = np.iinfo(array.dtype).min, np.iinfo(array.dtype).max
        inner = np.where(array == high, high - 1, array).astype(array.dtype)
        return inner if array.dtype.kind == "u" else np.where(array == low, low + 1, inner).astype(array.dtype)
    if array.dtype.kind != "f":
        return None
    if dtype == "float64":
        largest = float(np.finfo(np.float64).max)
        neighbor = float(np.nextafter(largest, 0))
    elif dtype in LARGEST:
        largest = LARGEST[dtype]
        neighbor = largest * (1 - EPSILON[dtype] / (2 - EPSILON[dtype]))
    else:
        return None
    return np.where(np.abs(array) == largest, np.copysign(neighbor, array), array).astype(array.dtype)


def _nan_swallowed(array: Any, dtype: str) -> Any:
    import numpy as np

    return np.where(np.isnan(array), array.dtype.type(0), array) if array.dtype.kind in "fc" else None


def _infinity_lost(array: Any, dtype: str) -> Any:
    import numpy as np

    if array.dtype.kind != "f":
        return None
    return np.where(np.isinf(array), np.copysign(_largest(array, dtype), array), array).astype(array.dtype)


def _zero_sign(array: Any, dtype: str) -> Any:
    import numpy as np

    return np.where(array == 0, -array, array) if array.dtype.kind == "f" else None


def _overflow_early(array: Any, dtype: str) -> Any:
    import numpy as np

    if array.dtype.kind == "f":
        beyond = np.isfinite(array) & (np.abs(array) > _largest(array, dtype) ** 0.5)
        return np.where(beyond, np.copysign(np.inf, array), array).astype(array.dtype)
    if array.dtype.kind in "iu" and array.dtype.itemsize >= 4:
        low, high = np.iinfo(array.dtype).min, np.iinfo(array.dtype).max
        limit = array.dtype.type(int(high**0.5))
        inner = np.where(array > limit, array.dtype.type(high), array)
        return inner if low == 0 else np.where(array < -limit, array.dtype.type(low), inner)
    return None


def _int32_wrapped(array: Any, dtype: str) -> Any:
    import numpy as np

    return array.astype(np.int32).astype(np.int64) if dtype == "int64" else None


def _negative_lost(array: Any, dtype: str) -> Any:
    import numpy as np

    return np.abs(array) if array.dtype.kind in "if" else None


def _largest(array: Any, dtype: str) -> float:
    import numpy as np

    from runners.core.testing.compare import LARGEST

    return LARGEST.get(dtype) or float(np.finfo(array.dtype).max)


def _spread_wrong(array: Any, dtype: str) -> Any:
    return _draws(array, "f", lambda flat: flat.mean() + 1.05 * (flat - flat.mean()))


def _tails_clipped(array: Any, dtype: str) -> Any:
    def clipped(flat: Any) -> Any:
        middle, spread = flat.mean(), 2 * flat.std()
        return flat.clip(middle - spread, middle + spread)

    return _draws(array, "f", clipped)


def _period_short(array: Any, dtype: str) -> Any:
    def repeated(flat: Any) -> Any:
        half = flat.size // 2
        flat[half : 2 * half] = flat[:half]
        return flat

    return _draws(array, "iuf", repeated)


def _pairs_equal(array: Any, dtype: str) -> Any:
    def equal(flat: Any) -> Any:
        pairs = flat.size // 2
        flat[1 : 2 * pairs : 2] = flat[0 : 2 * pairs : 2]
        return flat

    return _draws(array, "iuf", equal)


def _draws(array: Any, kinds: str, change: Callable[[Any], Any]) -> Any:
    """The changed draws, in the order of the array's elements. Few draws have no distribution to be seen."""
    if array.dtype.kind not in kinds or array.size < FEWEST_DRAWS:
        return None
    wide = array.astype("float64") if array.dtype.kind == "f" else array
    return change(wide.reshape(-1).copy()).reshape(array.shape).astype(array.dtype)


_ALTERATIONS: Mapping[str, Callable[[Any, str], Any]] = {
    "float32": _float32,
    "bfloat16": _bfloat16,
    "bfloat16-inside": _bfloat16,
    "tile-end": _tile_end,
    "last-element": _last_element,
    "range-end": _range_end,
    "nan-swallowed": _nan_swallowed,
    "infinity-lost": _infinity_lost,
    "zero-sign": _zero_sign,
    "overflow-early": _overflow_early,
    "int32-wrapped": _int32_wrapped,
    "negative-lost": _negative_lost,
    "spread-wrong": _spread_wrong,
    "tails-clipped": _tails_clipped,
    "period-short": _period_short,
    "pairs-equal": _pairs_equal,
}

"""Host arrays for tests: random values that never change, and the wider dtype that references compute in."""

from __future__ import annotations

import functools
import json
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from runners.core.documents import SCHEMAS
from runners.core.testing import compare

CARRIERS = {"bfloat16": "float32"}
"""NumPy lacks these dtypes. The values are made in the next wider one and rounded by the framework."""

KEY = "key<"
"""How the dtype of JAX's typed keys of random numbers begins. They are made from seeds."""


def carrier(dtype: str) -> str:
    """The dtype of the host array that the values of a dtype are made in."""
    if dtype.startswith(KEY):
        return "uint32"
    return "float32" if dtype.startswith("float8") else CARRIERS.get(dtype, dtype)


def item_bytes(dtype: str) -> int:
    """The bytes of one element of a dtype."""
    if dtype.startswith("float8"):
        return 1
    return 2 if dtype == "bfloat16" else np.dtype(carrier(dtype)).itemsize


def random(shape: Sequence[int], dtype: str, seed: int, low: float | None = None, high: float | None = None) -> Any:
    """A random host array of a shape, from numpy.random.RandomState, whose stream never changes.

    Uniform in [low, high) where both are given; else standard normal for floating and complex dtypes, 0 to 9 for
    integers, 0 or 1 with equal probability for bool. The parts of complex numbers are independent. bfloat16 is
    returned as float32.
    """
    state = np.random.RandomState(seed)
    kind = np.dtype(carrier(dtype)).kind
    if kind == "b":
        array = state.randint(0, 2, shape)
    elif kind in "iu":
        array = state.randint(0 if low is None else int(low), 10 if high is None else int(high), shape)
    else:

        def part() -> Any:
            return state.standard_normal(shape) if low is None or high is None else state.uniform(low, high, shape)

        array = part() + 1j * part() if kind == "c" else part()
    return np.asarray(array).astype(carrier(dtype))


_FLOATING = ("float16", "bfloat16", "float32", "float64")


def with_special(array: Any, dtype: str, special: str) -> Any:
    """A random array with values at which devices differ, in a dtype with a carrier of its own or not.

    ``special``: edges, only the edge values of the dtype, in turn; nonfinite, NaN, both infinities and -0 in four
    places that are far from each other; wide, also numbers ten thousand times as large and as small; offset, each value
    plus a thousand; huge, a third of the dtype's largest number times the values, which are below 3. Raises KeyError
    for another word.
    """
    return _SPECIAL[special](np.asarray(array), dtype)


def _nonfinite(array: Any, dtype: str) -> Any:
    changed = array.copy()
    for number, value in enumerate((np.nan, np.inf, -np.inf, -0.0)):
        changed.reshape(-1)[changed.size * number // 5] = value
    return changed


def _wide(array: Any, dtype: str) -> Any:
    scales = np.array([1, 1e4, 1e-4, -1, -1e3], array.dtype)
    return array * np.resize(scales, array.shape)


def _huge(array: Any, dtype: str) -> Any:
    return array.clip(-3, 3) * array.dtype.type(np.finfo(array.dtype).max / 9.5)


_SPECIAL: Mapping[str, Callable[[Any, str], Any]] = {
    "edges": lambda array, dtype: np.resize(edges(dtype, "row", dtype in _FLOATING), array.shape),
    "nonfinite": _nonfinite,
    "wide": _wide,
    "offset": lambda array, dtype: array + array.dtype.type(1000),
    "huge": _huge,
}


def edges(dtype: str, edges: str, subnormal: bool = False) -> Any:
    """The edge values of a dtype as a host array: those of schema/edge-values.json, an odd number of them.

    ``edges``: row, one axis; column, a second axis of length one; square, each row moved by one. Raises KeyError for a
    dtype without edge values.
    """
    known = _edge_values()[dtype]
    values = [*known["values"], *(known.get("subnormal", ()) if subnormal else ())]
    if dtype.startswith("complex"):
        values = [complex(*parts) for parts in values]
    elif carrier(dtype).startswith("float"):
        values = [float(value) for value in values]
    row = np.array(values, carrier(dtype))
    if edges == "square":
        return np.stack([np.roll(row, step) for step in range(len(row))])
    return row[:, None] if edges == "column" else row


@functools.lru_cache(maxsize=None)
def _edge_values() -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads((SCHEMAS / "edge-values.json").read_text("utf-8"))
    return found


def widened(array: Any) -> Any:
    """Floating arrays as float64, complex ones as complex128, so that a reference is more precise than the output that
    it checks; other arrays as they are."""
    array = np.asarray(array)
    return array.astype({"f": np.float64, "c": np.complex128}.get(array.dtype.kind, array.dtype))


def nearest(array: Any, dtype: str) -> Any:
    """The values of a floating or complex dtype that are nearest to those of an array, after one rounding. Those of
    bfloat16 are float64. Complex numbers stay what they are for a dtype that is none of complex numbers."""
    if np.iscomplexobj(array) and not dtype.startswith("complex"):
        return array
    if dtype != "bfloat16":
        with np.errstate(all="ignore"):
            return np.asarray(array).astype(dtype)
    wide = np.asarray(array, np.float64)
    # Eight binary digits; the smallest normal number is half of 2**-125.
    unit = np.ldexp(1.0, np.maximum(np.frexp(wide)[1], -125) - 8)
    near = np.round(wide / unit) * unit
    near = np.where(np.abs(near) > compare.LARGEST[dtype], np.copysign(np.inf, wide), near)
    return np.where(np.isfinite(wide), near, wide)


def with_facts(array: Any, facts: Mapping[str, Any]) -> Any:
    """A random array with what a recording says of the values besides their range (see schema/manifest.schema.json)."""
    state = np.random.RandomState(facts.get("seed", 0))
    if facts.get("integers"):
        array = np.round(array)
    if "zeros" in facts:
        array = np.where(state.random_sample(array.shape) < facts["zeros"], array.dtype.type(0), array)
    if facts.get("like"):
        array = _LIKE[facts["like"]](array, state).astype(array.dtype)
    special = facts.get("special", ())
    if special and array.size:
        flat = array.reshape(-1).copy()
        flat[state.permutation(flat.size)[: len(special)]] = [float(each) for each in special[: flat.size]]
        array = flat.reshape(array.shape)
    return array


def _one_hot(array: Any, state: Any) -> Any:
    chosen = state.randint(0, array.shape[-1], array.shape[:-1])
    return np.arange(array.shape[-1]) == chosen[..., None]


def _symmetric(array: Any, state: Any) -> Any:
    return (array + np.swapaxes(array, -1, -2)) / 2


def _positive_definite(array: Any, state: Any) -> Any:
    wide = array.astype(np.float64)
    size = array.shape[-1]
    return wide @ np.swapaxes(wide, -1, -2) / size + np.eye(size)


def _distribution(array: Any, state: Any) -> Any:
    positive = np.abs(array.astype(np.float64)) + 1e-6
    return positive / positive.sum(-1, keepdims=True)


_LIKE: Mapping[str, Callable[[Any, Any], Any]] = {
    "one_hot": _one_hot,
    "sorted": lambda array, state: np.sort(array, -1),
    "symmetric": _symmetric,
    "positive_definite": _positive_definite,
    "distribution": _distribution,
}
"""What the values of a recorded tensor were like."""

"""Compares an output with its reference. Everything here is NumPy on the host.

Per dtype, |actual - expected| <= atol + rtol * |expected|; schema/floating-dtypes.json has the numbers and says where
they are from.
"""

from __future__ import annotations

import json
import math
from typing import Any, Mapping

import numpy as np

from runners.core.documents import SCHEMAS

_DTYPES = json.loads((SCHEMAS / "floating-dtypes.json").read_text("utf-8"))["dtypes"]

TOLERANCES: Mapping[str, tuple[float, float]] = {
    name: (facts["rtol"], facts["atol"]) for name, facts in _DTYPES.items()
}
"""The default rtol and atol."""

EPSILON: Mapping[str, float] = {name: facts["epsilon"] for name, facts in _DTYPES.items()}

LARGEST: Mapping[str, float] = {name: facts["largest"] for name, facts in _DTYPES.items() if "largest" in facts}
"""Finite values. What is larger in float64 is infinite in the dtype."""


class Mismatch(AssertionError):
    """The output differs from the reference.

    The message begins with the kind of difference: ``dtype``, ``shape``, ``imprecise`` (most of the digits agree) or
    ``wrong value``. ``max_relative_error`` is the greatest difference of floating values over the greatest expected
    value, or None if that is unknown.
    """

    recorded_as = "runners.core.compare.Mismatch"
    max_relative_error: float | None = None


def check_dtype(actual: str | None, expected: str) -> None:
    """Raises Mismatch unless both names are the same."""
    if actual != expected:
        raise Mismatch(f"dtype: expected {expected}, got {actual or 'no tensor'}")


def check_values(actual: Any, expected: Any, dtype: str, rtol: float | None = None, atol: float | None = None) -> None:
    """Raises Mismatch unless two arrays have the same shape and are close; NaN equals NaN.

    ``dtype`` is that of the output and decides the tolerance. Integers and booleans must be equal.
    """
    try:
        actual, expected = np.asarray(actual), np.asarray(expected)
    except ValueError as error:
        raise Mismatch(f"shape: nested lists of unequal lengths: {actual} and {expected}") from error
    if actual.shape != expected.shape:
        raise Mismatch(f"shape: expected {list(expected.shape)}, got {list(actual.shape)}")
    expected = with_overflow(actual, expected, dtype)
    default_rtol, default_atol = TOLERANCES.get(dtype, (0.0, 0.0))
    rtol = default_rtol if rtol is None else rtol
    atol = default_atol if atol is None else atol
    if rtol == atol == 0:
        close = np.asarray((actual == expected) | ((actual != actual) & (expected != expected)))
    else:
        wider = np.complex128 if "c" in (actual.dtype.kind, expected.dtype.kind) else np.float64
        actual, expected = actual.astype(wider), expected.astype(wider)
        close = np.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=True)
    if close.all():
        return
    raise _mismatch(actual, expected, np.atleast_1d(close), dtype, rtol, atol)


def with_overflow(actual: Any, expected: Any, dtype: str) -> Any:
    """The expected values, which are in float64, with infinity where the dtype holds no such large number and the
    output is infinite too."""
    if dtype not in LARGEST:
        return expected
    overflows = np.isinf(actual) & (np.abs(expected) > LARGEST[dtype]) & (np.sign(actual) == np.sign(expected))
    return np.where(overflows, actual, expected)


def check_signs_of_zeros(actual: Any, expected: Any) -> None:
    """Raises Mismatch where both arrays, of the same shape, have a zero and the signs differ, also in complex parts."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    if actual.dtype.kind not in "fc":
        return
    for part in (np.real, np.imag) if np.iscomplexobj(expected) else (np.real,):
        found, wanted = np.atleast_1d(part(actual)), np.atleast_1d(part(expected))
        other = (found == 0) & (wanted == 0) & (np.signbit(found) != np.signbit(wanted))
        if other.any():
            place = [int(index) for index in np.argwhere(other)[0]]
            sign = "-" if np.signbit(wanted)[tuple(place)] else "+"
            raise Mismatch(
                f"wrong value: the sign of {int(other.sum())} zeros is another, first at {place}: expected {sign}0"
            )


def check_equal(actual: Any, expected: Any) -> None:
    """Raises Mismatch unless two nested values are the same: arrays by shape and values, everything else by ``==``.

    An array equals a nested list with the same values.
    """
    if isinstance(actual, (np.ndarray, np.generic)) or isinstance(expected, (np.ndarray, np.generic)):
        check_values(actual, expected, "exact")
    elif isinstance(actual, (tuple, list, dict)) and type(actual) is type(expected):
        if len(actual) != len(expected):
            raise Mismatch(f"shape: expected {len(expected)} items, got {len(actual)}")
        keyed = isinstance(actual, dict)
        if keyed and set(actual) != set(expected):
            raise Mismatch(f"shape: expected the keys {list(expected)}, got {list(actual)}")
        for key in actual if keyed else range(len(actual)):
            check_equal(actual[key], expected[key])
    elif not (actual == expected or (actual != actual and expected != expected)):
        raise Mismatch(f"wrong value: expected {expected!r}, got {actual!r}")


def _mismatch(actual: Any, expected: Any, close: Any, dtype: str, rtol: float, atol: float) -> Mismatch:
    wrong = int(close.size - close.sum())
    actual, expected = np.atleast_1d(actual), np.atleast_1d(expected)
    place = tuple(int(index) for index in np.argwhere(~close)[0])
    sample = f"first at {list(place)}: expected {expected[place]!r}, got {actual[place]!r}"
    if dtype not in TOLERANCES:
        return Mismatch(f"wrong value: {wrong} of {close.size} values differ, {sample}")
    with np.errstate(all="ignore"):
        error = float(np.max(np.abs(actual - expected)[~close]))
        scale = float(np.max(np.abs(expected), initial=0.0))
    # Half of the dtype's digits, or those of float32, agree at the scale of the whole output, or the error is at most
    # ten times the tolerance: this is rounding, not another result.
    digits = max(EPSILON[dtype] ** 0.5, 10 * EPSILON["float32"])
    near = math.isfinite(scale) and error <= max(digits * scale, 10 * (atol + rtol * scale))
    kind = "imprecise" if near else "wrong value"
    allowed = f"allowed {atol:g} + {rtol:g} of the value"
    mismatch = Mismatch(
        f"{kind}: {wrong} of {close.size} values differ, the worst by {error:.3g} ({allowed}), {sample}"
    )
    if scale and math.isfinite(error) and math.isfinite(scale):
        mismatch.max_relative_error = error / scale
    return mismatch

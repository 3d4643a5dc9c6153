"""Facts about the values of a host array: the range, and what a function may need of them. No value itself."""

from __future__ import annotations

from typing import Any, Iterable

import numpy as np

from portbench_recorder.privacy import rounded

_SAMPLE_ELEMENTS = 1_000_000


def literal(array: Any) -> Any:
    """The values as data, with "nan", "inf" and "-inf" for what JSON does not have."""

    def one(value: Any) -> Any:
        if isinstance(value, list):
            return [one(each) for each in value]
        return value if value == value and abs(value) != float("inf") else str(float(value))

    return one(array.tolist())


def facts_of(array: Any) -> dict[str, Any]:
    """Facts as a manifest's tensor has them (see schema/manifest.schema.json); empty where there are none."""
    if array.size == 0 or (array.dtype.kind not in "iuf" and array.dtype.name != "bfloat16"):
        return {}
    flat = array.reshape(-1)[:_SAMPLE_ELEMENTS]
    if array.dtype.kind in "iu":
        low, high = int(flat.min()), int(flat.max())
        found: dict[str, Any] = {"low": low, "high": high + 1}
        if array.ndim > 1 and (low, high) == (0, 1) and bool((array.sum(-1) == 1).all()):
            found["like"] = "one_hot"
        return found
    return dict(_of_floats(array, flat.astype(np.float64)))


def _of_floats(array: Any, flat: Any) -> Iterable[tuple[str, Any]]:
    finite = flat[np.isfinite(flat)]
    special = [
        name
        for name, found in (("nan", np.isnan(flat)), ("inf", flat == np.inf), ("-inf", flat == -np.inf))
        if bool(found.any())
    ]
    if special:
        yield "special", special
    if not finite.size:
        return
    low, high = rounded(float(finite.min())), rounded(float(finite.max()))
    yield "low", low
    yield "high", high
    zeros = float((finite == 0).mean())
    if zeros >= 0.05 and low != high:
        yield "zeros", round(zeros, 2)
    if finite.size > 1 and bool((finite == finite.round()).all()):
        yield "integers", True
    like = _likeness(array, low)
    if like:
        yield "like", like


def _likeness(array: Any, low: float) -> str:
    last = array.shape[-1] if array.ndim else 0
    if last > 1 and low >= 0 and bool((np.abs(array.astype(np.float64).sum(-1) - 1) < 1e-3).all()):
        return "distribution"
    if array.ndim > 1 and array.shape[-2] == last and 1 < last <= 512 and bool((array == array.swapaxes(-1, -2)).all()):
        try:
            np.linalg.cholesky(array.astype(np.float64))
        except np.linalg.LinAlgError:
            return "symmetric"
        return "positive_definite"
    if array.ndim == 1 and last > 2 and bool((np.diff(array) >= 0).all()):
        return "sorted"
    return ""

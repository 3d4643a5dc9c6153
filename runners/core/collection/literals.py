"""Recorded arguments in a form that is the same on every machine.

What a computer rounds in its own way must not get into a manifest: given values stay where they are whole or short
numbers; others become random values of the same range.
"""

from __future__ import annotations

import importlib
from typing import Any, Iterator, Mapping

import numpy as np

_FLOATS = ("float", "bfloat")
_DIGITS = 6
"""Of a number that is an argument."""
_SHORT = 3
"""Of a number in a tensor."""


def settled(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call, with rounded numbers."""
    return {
        name: _settled(value, iter(range(1, 10**6))) if name in ("args", "kwargs") else value
        for name, value in arguments.items()
    }


def _settled(value: Any, seeds: Iterator[int]) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, list):
        return [_settled(item, seeds) for item in value]
    if not isinstance(value, dict):
        return value
    if "tensor" in value:
        return {"tensor": _tensor(value["tensor"], next(seeds))}
    return {key: _settled(item, seeds) for key, item in value.items()}


def _tensor(data: Mapping[str, Any], seed: int) -> dict[str, Any]:
    if "values" not in data or not data["dtype"].startswith(_FLOATS):
        return dict(data)
    array = np.array(data["values"], np.float64)
    if all(_is_short(value) for value in array.reshape(-1).tolist()):
        return dict(data)
    recorder: Any = importlib.import_module("portbench_recorder.facts")
    kept = {name: item for name, item in data.items() if name != "values"}
    return {**kept, "shape": list(array.shape), "seed": seed, **recorder.facts_of(array)}


def _is_short(value: float) -> bool:
    return value != value or abs(value) == float("inf") or float(f"{value:.{_SHORT}g}") == value

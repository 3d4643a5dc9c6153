"""How the runner compares an output with its reference, as far as schema/ says it.

The tolerances of each dtype, and the functions of NumPy whose outputs are given values."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

from portbench.util.repository import find_checkout


@cache
def exact_references() -> Mapping[str, Collection[str]]:
    """The names of those functions of NumPy that are ``moving`` values, and of those that are ``choosing`` some."""
    data = _read("exact-references.json")
    return {kind: frozenset(names) for kind, names in data.items() if kind != "description"}


@cache
def floating_dtypes() -> Mapping[str, Mapping[str, float]]:
    """Of each floating and complex dtype ``rtol``, ``atol``, ``epsilon`` and, if float64 has more, ``largest`` and
    ``smallest``."""
    dtypes: Mapping[str, Mapping[str, float]] = _read("floating-dtypes.json")["dtypes"]
    return dtypes


def _read(name: str) -> Any:
    return json.loads((find_checkout().schema / name).read_text("utf-8"))

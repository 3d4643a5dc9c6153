"""The functions of NumPy whose outputs are given values: schema/exact-references.json."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from functools import cache

from portbench.util.repository import find_checkout


@cache
def exact_references() -> Mapping[str, Collection[str]]:
    """The names of those that are ``moving`` values, and of those that are ``choosing`` some."""
    data = json.loads((find_checkout().schema / "exact-references.json").read_text("utf-8"))
    return {kind: frozenset(names) for kind, names in data.items() if kind != "description"}

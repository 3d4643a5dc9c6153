"""The edge values of dtypes, which manifests refer to: schema/edge-values.json."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from portbench.util.repository import find_checkout


@cache
def edge_values() -> Mapping[str, Mapping[str, Sequence[Any]]]:
    """By dtype, its ``values`` and, of floating ones, the ``subnormal`` numbers. NaN and infinities are text, complex
    numbers are pairs."""
    data = json.loads((find_checkout().schema / "edge-values.json").read_text("utf-8"))
    return {dtype: found for dtype, found in data.items() if dtype != "description"}

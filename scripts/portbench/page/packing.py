"""Packs the data of the page: numbers in few characters, JSON compressed and written as base64."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Sequence
from typing import Any


def bits(seen: Iterable[str], names: Sequence[str]) -> int:
    """A bit for each of ``seen``, numbered by its place in ``names``."""
    return sum(1 << names.index(name) for name in seen)


def rounded(value: float | None, digits: int = 6) -> float | None:
    """``value`` with so many significant digits: six are more than any clock has, and make a smaller page."""
    if value is None:
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() else short


def pack(content: Any) -> str:
    """The content as JSON, packed as ``pack_text`` does."""
    return pack_text(json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")))


def pack_text(text: str) -> str:
    """Text, compressed with gzip, as base64. The same text gives the same."""
    # UTF-8 cannot encode half of a surrogate pair.
    return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), 6, mtime=0)).decode("ascii")

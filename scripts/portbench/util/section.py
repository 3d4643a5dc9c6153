"""A table of a report as values, without any formatting."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Section:
    """A titled table. Each row holds its cells in the order of the columns: names, then numbers, then texts."""

    title: str
    names: tuple[str, ...]
    numbers: tuple[str, ...]
    texts: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

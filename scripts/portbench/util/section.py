"""A table of a report as values: what stands in it, not how it looks."""

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

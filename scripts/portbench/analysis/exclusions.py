"""Tests that an analysis excludes: each with a name and a reason."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Excluded(NamedTuple):
    """Tests of a function that do not count, and why. ``reason`` is the end of a sentence ("not timed on jax-0.4.8-tpu
    on box") and may hold text out of run files, which printers escape."""

    function: str
    reason: str
    tests: int


def by_reason(exclusions: Iterable[Excluded]) -> dict[str, tuple[Excluded, ...]]:
    """The exclusions by reason, the reason with the most functions first."""
    found: dict[str, list[Excluded]] = {}
    for entry in sorted(exclusions):
        found.setdefault(entry.reason, []).append(entry)
    return {
        reason: tuple(entries) for reason, entries in sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    }

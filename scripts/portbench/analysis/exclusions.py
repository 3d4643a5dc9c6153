"""Tests that an analysis excludes: each with a name and a reason."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

from portbench.util.text import pluralize

MOST_REASONS = 5
"""How many reasons a sentence names."""


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


def in_short(exclusions: Iterable[Excluded]) -> str:
    """How many tests of how many functions are excluded, for each of the most frequent reasons and for all others: a
    reason may be that of a single test."""
    reasons = list(by_reason(exclusions).items())
    shown, others = reasons[:MOST_REASONS], reasons[MOST_REASONS:]
    if others:
        shown.append((pluralize(len(others), "other reason"), tuple(chain.from_iterable(found for _, found in others))))
    return "; ".join(
        f"{pluralize(sum(one.tests for one in found), 'test')} of "
        f"{pluralize(len({one.function for one in found}), 'function')}: {reason}"
        for reason, found in shown
    )

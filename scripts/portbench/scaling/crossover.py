"""Which of two targets is faster at which size, and from which size on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from portbench.devices import BASELINE_ORDER
from portbench.scaling.model import Family, Point, Scaling, Side

CLEARLY = 1.1
"""A target is faster where its median is better by more than this factor and each of its runs is faster than each run
of the other."""


@dataclass(frozen=True)
class SizeRatio:
    """Both targets at one size. ``ratio``: how many times as long the first takes as the second. ``faster``: 1 or 2 for
    the one that is clearly faster, 0 for neither."""

    first: Point
    second: Point
    ratio: float
    faster: int

    @property
    def bytes(self) -> int | None:
        """The size in bytes; None where it is not known."""
        return self.first.bytes or self.second.bytes


@dataclass(frozen=True)
class Comparison:
    """One family on two targets. ``ratios``: at each size that was timed on both, the smallest first."""

    family: Family
    ratios: Sequence[SizeRatio]

    @property
    def winner(self) -> int:
        """Which is faster at the largest size: 1, 2, or 0 for neither."""
        return self.ratios[-1].faster

    @property
    def faster_from(self) -> float | None:
        """The size from which the winner is faster at every size: the smallest one, or where its ratio, between two
        sizes, is 1 by linear interpolation of the logarithms. None without a winner."""
        if not self.winner:
            return None
        start = len(self.ratios) - 1
        while start and self.ratios[start - 1].faster == self.winner:
            start -= 1
        after = self.ratios[start]
        if start == 0:
            return float(after.first.n)
        before = self.ratios[start - 1]
        low, high = math.log(before.ratio), math.log(after.ratio)
        if low * high >= 0:
            # It was faster before, but not clearly.
            return float(after.first.n)
        share = low / (low - high)
        return math.exp(math.log(before.first.n) * (1 - share) + math.log(after.first.n) * share)

    @property
    def is_always(self) -> bool:
        """Whether one of the two is faster at every size."""
        return bool(self.winner) and all(each.faster == self.winner for each in self.ratios)


@dataclass(frozen=True)
class Pair:
    """Two measured targets of one framework, and the families that were timed on both."""

    first: Side
    second: Side
    comparisons: Sequence[Comparison]


def pairs(scaling: Scaling) -> Iterator[Pair]:
    """Every two measured targets of one framework with families in common; the one whose device is the baseline
    (see portbench.devices) is the first."""
    for one, other in combinations(scaling.measured, 2):
        if one.key.framework != other.key.framework:
            continue
        first, second = sorted((one, other), key=lambda side: BASELINE_ORDER.index(side.key.device))
        found = [
            Comparison(family, ratios)
            for family in first.points
            if (ratios := _ratios(first.points[family], second.points.get(family, ())))
        ]
        if found:
            yield Pair(first, second, found)


def _ratios(first: Sequence[Point], second: Sequence[Point]) -> list[SizeRatio]:
    others = {point.n: point for point in second if point.runs_ns}
    return [_ratio(point, others[point.n]) for point in first if point.runs_ns and point.n in others]


def _ratio(first: Point, second: Point) -> SizeRatio:
    assert first.median_ns and second.median_ns  # both have runs
    ratio = first.median_ns / second.median_ns
    faster = 0
    if ratio > CLEARLY and min(first.runs_ns) > max(second.runs_ns):
        faster = 2
    elif ratio < 1 / CLEARLY and max(first.runs_ns) < min(second.runs_ns):
        faster = 1
    return SizeRatio(first, second, ratio, faster)

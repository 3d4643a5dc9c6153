"""Time against size as plain data, for --json."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from portbench.scaling.crossover import Comparison, Pair
from portbench.scaling.model import Family, Scaling, Side


def as_data(scaling: Scaling, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Each target with its points, and each pair with its functions. Times are in nanoseconds; null: not known."""
    return {
        "targets": [
            {
                **side.key._asdict(),
                "peak_bytes_per_s": side.peak_bytes_per_s,
                "peak_flops_per_s": side.peak_flops_per_s,
                "functions": [
                    {**_named(family), "points": [{**asdict(point), "median_ns": point.median_ns} for point in points]}
                    for family, points in side.points.items()
                ],
            }
            for side in scaling.sides
        ],
        "pairs": [
            {
                "first": pair.first.key._asdict(),
                "second": pair.second.key._asdict(),
                "functions": [_compared(pair, one) for one in pair.comparisons],
            }
            for pair in pairs
        ],
    }


def _named(family: Family) -> dict[str, str]:
    return {"function": family.function, "test": family.test, "size_counts": family.of}


def _compared(pair: Pair, one: Comparison) -> dict[str, Any]:
    return {
        **_named(one.family),
        "faster": _target(pair, one.winner),
        "faster_from": one.faster_from,
        "at_every_size": one.is_always,
        "sizes": [
            {"n": each.first.n, "bytes": each.bytes, "ratio": each.ratio, "faster": _target(pair, each.faster)}
            for each in one.ratios
        ],
    }


def _target(pair: Pair, which: int) -> str | None:
    sides: dict[int, Side] = {1: pair.first, 2: pair.second}
    return str(sides[which].target) if which else None

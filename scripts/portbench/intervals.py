"""Intervals of confidence, 95 % where nothing else is said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """From ``low`` to ``high``, both included: fractions for a rate, a factor for a ratio."""

    low: float
    high: float


def wilson(successes: int, total: int, confidence: float = 0.95) -> Interval:
    """Wilson's score interval of a rate, as fractions (Wilson 1927; scipy.stats.binomtest). From 0 to 1 where nothing
    was tried."""
    raise NotImplementedError


def bootstrap_ratio(ratios: Sequence[float], confidence: float = 0.95) -> Interval | None:
    """Percentile bootstrap interval of the geometric mean of positive ratios, one for each test (Efron 1979).

    Whole tests are resampled, so that what differs between tests, and each one's own noise, both widen it. The seed is
    fixed and the order of ``ratios`` does not matter. None for fewer than two tests: one says nothing of others.
    """
    raise NotImplementedError


def bootstrap_weighted_rate(
    rates: Sequence[float], weights: Sequence[float], confidence: float = 0.95
) -> Interval | None:
    """Percentile bootstrap interval of the weighted mean of rates, one for each function: whole functions are
    resampled, with a fixed seed. None for fewer than two functions."""
    raise NotImplementedError

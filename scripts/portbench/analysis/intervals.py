"""Confidence intervals, 95 % by default."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_SEED = 2023
_RESAMPLES = 2000
# Drawn at once: bounds the memory of a bootstrap of very many values.
_DRAWN = 1_000_000


@dataclass(frozen=True)
class Interval:
    """From ``low`` to ``high``, both included: fractions for a rate, a factor for a ratio."""

    low: float
    high: float


def wilson(successes: int, total: int, confidence: float = 0.95) -> Interval:
    """Wilson's score interval of a rate, as fractions (Wilson 1927; scipy.stats.binomtest). From 0 to 1 where ``total``
    is 0."""
    if not total:
        return Interval(0.0, 1.0)
    from scipy import stats  # takes seconds to import, and not every command needs an interval

    found = stats.binomtest(successes, total).proportion_ci(confidence, method="wilson")
    return Interval(float(found.low), float(found.high))


def bootstrap_ratio(ratios: Sequence[float], confidence: float = 0.95) -> Interval | None:
    """Percentile bootstrap interval of the geometric mean of positive ratios, one for each test (Efron 1979).

    Whole tests are resampled: both differences between tests and the noise of each widen the interval. The seed is
    fixed and the order of ``ratios`` does not matter. None for fewer than two tests. With a handful of tests the
    interval is too narrow.
    """
    return bootstrap_ratios([ratios], confidence)[0]


def bootstrap_ratios(groups: Sequence[Sequence[float]], confidence: float = 0.95) -> list[Interval | None]:
    """``bootstrap_ratio`` of each of many groups, faster: groups of the same size share their resamples."""
    found: list[Interval | None] = [None] * len(groups)
    by_size: dict[int, list[int]] = {}
    for place, ratios in enumerate(groups):
        if len(ratios) > 1:
            by_size.setdefault(len(ratios), []).append(place)
    for size, places in by_size.items():
        at_once = max(1, _DRAWN // (_RESAMPLES * size))
        for start in range(0, len(places), at_once):
            chosen = places[start : start + at_once]
            logarithms = np.log(np.sort([groups[place] for place in chosen]))
            means = _resampled_sums(logarithms.T) / size
            for place, interval in zip(chosen, _percentiles(np.exp(means), confidence), strict=True):
                found[place] = interval
    return found


def bootstrap_weighted_rate(
    rates: Sequence[float], weights: Sequence[float], confidence: float = 0.95
) -> Interval | None:
    """Percentile bootstrap interval of the weighted mean of rates, one for each function: whole functions are
    resampled, with a fixed seed; the order does not matter. ``weights`` are positive. None for fewer than two
    functions."""
    if len(rates) < 2:
        return None
    pairs = np.array(sorted(zip(rates, weights, strict=True)), dtype=float)
    pairs[:, 0] *= pairs[:, 1]
    sums = _resampled_sums(pairs)
    return _percentiles((sums[:, 0] / sums[:, 1])[:, np.newaxis], confidence)[0]


def _resampled_sums(values: Any) -> Any:
    """Column sums of each resample of the rows of ``values``, as scipy.stats.bootstrap computes them, without its fixed
    cost for each of thousands of functions.

    How often a resample has each row, times the rows: many times as fast as copying the rows that it has.
    """
    rng = np.random.default_rng(_SEED)
    rows = len(values)
    at_once = max(1, _DRAWN // rows)
    sums = []
    for done in range(0, _RESAMPLES, at_once):
        resamples = min(at_once, _RESAMPLES - done)
        drawn = rng.integers(rows, size=(resamples, rows)) + rows * np.arange(resamples)[:, np.newaxis]
        counts = np.bincount(drawn.ravel(), minlength=resamples * rows).reshape(resamples, rows)
        sums.append(counts @ values)
    return np.concatenate(sums)


def _percentiles(statistics: Any, confidence: float) -> list[Interval]:
    """The interval of each column of ``statistics``, whose rows are resamples."""
    low, high = np.quantile(statistics, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    return [Interval(float(least), float(most)) for least, most in zip(low, high, strict=True)]

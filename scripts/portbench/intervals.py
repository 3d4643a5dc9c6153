"""Intervals of confidence, 95 % where nothing else is said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

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
    """Wilson's score interval of a rate, as fractions (Wilson 1927; scipy.stats.binomtest). From 0 to 1 where nothing
    was tried."""
    if not total:
        return Interval(0.0, 1.0)
    found = stats.binomtest(successes, total).proportion_ci(confidence, method="wilson")
    return Interval(float(found.low), float(found.high))


def geometric_mean(ratios: Sequence[float]) -> float:
    """Of one or more positive ratios."""
    return float(stats.gmean(ratios))


def bootstrap_ratio(ratios: Sequence[float], confidence: float = 0.95) -> Interval | None:
    """Percentile bootstrap interval of the geometric mean of positive ratios, one for each test (Efron 1979).

    Whole tests are resampled, so that what differs between tests, and each one's own noise, both widen it. The seed is
    fixed and the order of ``ratios`` does not matter. None for fewer than two tests: one says nothing of others. With a
    handful of tests it is rather too narrow.
    """
    if len(ratios) < 2:
        return None
    found = _bootstrap((np.log(np.sort(ratios)),), np.mean, confidence)
    return Interval(float(np.exp(found.low)), float(np.exp(found.high)))


def bootstrap_weighted_rate(
    rates: Sequence[float], weights: Sequence[float], confidence: float = 0.95
) -> Interval | None:
    """Percentile bootstrap interval of the weighted mean of rates, one for each function: whole functions are
    resampled, with a fixed seed; the order does not matter. ``weights`` are positive. None for fewer than two
    functions."""
    if len(rates) < 2:
        return None
    pairs = np.array(sorted(zip(rates, weights, strict=True)), dtype=float)

    def mean(rates: Any, weights: Any, axis: int) -> Any:
        return np.sum(rates * weights, axis=axis) / np.sum(weights, axis=axis)

    return _bootstrap((pairs[:, 0], pairs[:, 1]), mean, confidence)


def _bootstrap(samples: tuple[Any, ...], statistic: Any, confidence: float) -> Interval:
    found = stats.bootstrap(
        samples,
        statistic,
        paired=len(samples) > 1,
        vectorized=True,
        n_resamples=_RESAMPLES,
        batch=max(1, _DRAWN // len(samples[0])),
        confidence_level=confidence,
        method="percentile",
        rng=np.random.default_rng(_SEED),
    ).confidence_interval
    return Interval(float(found.low), float(found.high))

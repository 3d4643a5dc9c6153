"""Confidence intervals, 95 % by default."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

_SEED = 2023
_RESAMPLES = 2000
# Drawn at once: bounds the memory of a bootstrap of very many values.
_DRAWN = 1_000_000
# Resamples of more values are drawn again each time, so that they take no memory in between (16 MB).
_MOST_KEPT = 8_000
# Multiplications of one product of matrices. More would start BLAS's threads, which cost more than they save, and ten
# times as much on a machine that does other work.
_AT_ONCE = 200_000
# Two values have three different resamples, five have 126: sorting these is faster than sorting all 2,000.
_FEW = 5


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
        resamples, repeats = _different(size) if size <= _FEW else (None, None)
        at_once = max(1, _DRAWN // (_RESAMPLES * size))
        for start in range(0, len(places), at_once):
            chosen = places[start : start + at_once]
            logarithms = np.log(np.sort([groups[place] for place in chosen])).T
            sums = _resampled_sums(logarithms) if resamples is None else resamples @ logarithms
            for place, interval in zip(chosen, _percentiles(np.exp(sums / size), confidence, repeats), strict=True):
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
    pairs = np.array([rates, weights], dtype=float).T
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    pairs[:, 0] *= pairs[:, 1]
    sums = _resampled_sums(pairs)
    return _percentiles((sums[:, 0] / sums[:, 1])[:, np.newaxis], confidence)[0]


def _resampled_sums(values: Any) -> Any:
    """Column sums of each resample of the rows of ``values``, as scipy.stats.bootstrap computes them, without its fixed
    cost for each of thousands of functions.

    How often a resample has each row, times the rows: many times as fast as copying the rows that it has.
    """
    rows = len(values)
    parts = _kept_resamples(rows) if rows <= _MOST_KEPT else _resamples(rows)
    step = max(1, _AT_ONCE // values.size)
    return np.concatenate(
        [counts[start : start + step] @ values for counts in parts for start in range(0, len(counts), step)]
    )


@lru_cache(maxsize=2)
def _kept_resamples(rows: int) -> tuple[Any, ...]:
    """``_resamples``, drawn once for both sides of a pair, and for configurations with as many functions."""
    return tuple(counts.astype(np.min_scalar_type(int(counts.max()))) for counts in _resamples(rows))


@lru_cache(maxsize=_FEW)
def _different(rows: int) -> tuple[Any, Any]:
    """The different ones of ``_resamples``, and how often each was drawn."""
    resamples, repeats = np.unique(np.concatenate(list(_resamples(rows))), axis=0, return_counts=True)
    return resamples, repeats


def _resamples(rows: int) -> Iterator[Any]:
    """How often each resample has each of ``rows`` rows, some resamples at a time. Always the same resamples."""
    rng = np.random.default_rng(_SEED)
    at_once = max(1, _DRAWN // rows)
    for done in range(0, _RESAMPLES, at_once):
        resamples = min(at_once, _RESAMPLES - done)
        drawn = rng.integers(rows, size=(resamples, rows)) + rows * np.arange(resamples)[:, np.newaxis]
        yield np.bincount(drawn.ravel(), minlength=resamples * rows).reshape(resamples, rows)


def _percentiles(statistics: Any, confidence: float, repeats: Any = None) -> list[Interval]:
    """The interval of each column of ``statistics``, whose rows are resamples. ``repeats``: how often each was drawn;
    None: once."""
    quantiles = [(1 - confidence) / 2, (1 + confidence) / 2]
    if repeats is None:
        low, high = np.quantile(statistics, quantiles, axis=0)
    else:
        order = np.argsort(statistics, axis=0)
        ranked = np.take_along_axis(statistics, order, axis=0)
        last = np.cumsum(repeats[order], axis=0)  # how many values are up to each
        low, high = (_quantile(ranked, last, quantile) for quantile in quantiles)
    return [Interval(float(least), float(most)) for least, most in zip(low, high, strict=True)]


def _quantile(ranked: Any, last: Any, quantile: float) -> Any:
    """What numpy.quantile gives for each column of ``ranked``, whose values up to each are ``last`` values in all."""
    place = (int(last[-1, 0]) - 1) * quantile
    below, above = (
        np.take_along_axis(ranked, (last <= rank).sum(axis=0)[np.newaxis], axis=0)[0]
        for rank in (np.floor(place), np.floor(place) + 1)
    )
    part = place - np.floor(place)
    step = above - below
    return below + step * part if part < 0.5 else above - step * (1 - part)

"""Whether random draws follow a known distribution and are independent of each other.

Every bound follows from the number of draws and FALSE_ALARM: a correct generator on any device exceeds one with about
that probability, and one of a whole check with less than ten times that. With 40,000 draws a spread that is 5 % off is
found. Draws of a continuous distribution are looked at through their probabilities below, which are uniform over
[0, 1]. Draws that are rounded to a dtype get the room that the rounding needs.

Each check raises AssertionError with what was found and what is allowed.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any, Callable, Mapping, Sequence

import numpy as np

FALSE_ALARM = 1e-6

FEWEST = 1000
"""Fewer draws show too little."""

_TAIL_DRAWS = 20
"""How many draws are expected in each tail that is looked at: none of them has a probability of 2e-9."""

_CELLS = 8


def check_draws(draws: Any, name: str, parameters: Mapping[str, float], epsilon: float = 0.0) -> None:
    """Checks draws in their order: range, mean, spread, distribution function (Kolmogorov and Smirnov), both tails, and
    independence. ``name`` and ``parameters`` are those of DISTRIBUTIONS; ``epsilon`` is that of the draws' dtype.
    """
    flat = np.asarray(draws, "float64").reshape(-1)
    _check(flat.size >= FEWEST, f"{flat.size} draws are too few, at least {FEWEST} are needed")
    _check(not np.isnan(flat).any(), "a draw is NaN")
    probability = DISTRIBUTIONS[name](**parameters)
    below = probability(flat)
    low, high = (below, below) if not epsilon else _around(flat, probability, epsilon)
    _check((high > 0).all() and (low < 1).all(), f"a draw is outside of the range of {name}")
    _check_moments(below, float((high - low).mean()))
    _check_distance(low, high)
    _check_tails(low, high)
    check_independent((below - 0.5) * math.sqrt(12))
    _check_pairs(below)


def check_categories(draws: Any, shares: Sequence[float]) -> None:
    """Checks draws, in their order, of categories with these shares: how often each occurs, and independence."""
    flat, expected = np.asarray(draws).reshape(-1), np.asarray(shares, "float64") / np.sum(shares)
    _check(flat.size >= FEWEST, f"{flat.size} draws are too few, at least {FEWEST} are needed")
    inside = (flat >= 0) & (flat < len(expected)) & (flat == np.round(flat))
    _check(inside.all(), f"a draw is none of the {len(expected)} categories")
    counts = np.bincount(flat.astype(int), minlength=len(expected))
    _check(not counts[expected == 0].any(), "a category with share zero was drawn")
    _check_counts(counts[expected > 0], flat.size * expected[expected > 0], "categories")
    numbers = np.arange(len(expected))
    mean = float((numbers * expected).sum())
    deviation = math.sqrt(float(((numbers - mean) ** 2 * expected).sum()))
    if deviation:
        check_independent((flat - mean) / deviation)


def check_independent(scores: Any) -> None:
    """Checks that numbers of mean zero and variance one do not correlate with those any number of places later, up to
    half of them: a generator with a short period, or one whose draws depend on those before, does."""
    flat = np.asarray(scores, "float64").reshape(-1)
    size = flat.size
    spectrum = np.abs(np.fft.rfft(flat, 2 * size)) ** 2
    lags = np.arange(1, size // 2 + 1)
    correlation = np.fft.irfft(spectrum)[lags] / np.sqrt(size - lags)
    worst = int(np.argmax(np.abs(correlation)))
    allowed = _deviations(FALSE_ALARM / len(lags))
    _check(
        abs(correlation[worst]) <= allowed,
        f"draws correlate with those {lags[worst]} places later: {correlation[worst] / math.sqrt(size):.3g}, "
        f"allowed {allowed / math.sqrt(size):.3g}",
    )


def _deviations(probability: float) -> float:
    """A normal variable is further from its mean than this many standard deviations with this probability."""
    return NormalDist().inv_cdf(1 - probability / 2)


def _check(condition: Any, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def _around(draws: Any, probability: Callable[[Any], Any], epsilon: float) -> Any:
    """The probabilities below the smallest and the largest numbers that are rounded to each draw."""
    room = np.abs(draws) * epsilon / 2
    return probability(draws - room), probability(draws + room)


def _check_moments(below: Any, rounding: float) -> None:
    # Of a uniform variable: variance 1/12, and 1/80 - 1/144 that of its squared distance from the mean.
    for what, found, wanted, variance in (
        ("mean", below.mean() - 0.5, 0.0, 1 / 12),
        ("spread", ((below - 0.5) ** 2).mean(), 1 / 12, 1 / 80 - 1 / 144),
    ):
        off = float(found) - wanted
        allowed = _deviations(FALSE_ALARM) * math.sqrt(variance / below.size) + rounding
        _check(abs(off) <= allowed, f"the {what} of the probabilities below is off by {off:.3g}, allowed {allowed:.3g}")


def _check_distance(low: Any, high: Any) -> None:
    steps = np.arange(low.size + 1) / low.size
    distance = max(float((steps[1:] - np.sort(high)).max()), float((np.sort(low) - steps[:-1]).max()))
    # Massart: The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality, 1990.
    allowed = math.sqrt(math.log(2 / FALSE_ALARM) / (2 * low.size))
    _check(distance <= allowed, f"the distribution function is off by {distance:.3g}, allowed {allowed:.3g}")


def _check_tails(low: Any, high: Any) -> None:
    share = _TAIL_DRAWS / low.size
    least, most = _binomial_limits(low.size, share)
    for side, surely, perhaps in (
        ("lower", high < share, low < share),
        ("upper", low > 1 - share, high > 1 - share),
    ):
        fewest, largest = int(surely.sum()), int(perhaps.sum())
        _check(
            largest >= least and fewest <= most,
            f"{largest} draws are in the {side} tail where {_TAIL_DRAWS} are expected, allowed {least} to {most}",
        )


def _binomial_limits(count: int, share: float) -> tuple[int, int]:
    """The least and the most that a binomial variable is, but for FALSE_ALARM / 2 on either side."""
    found = np.arange(0, min(count, 10 * _TAIL_DRAWS) + 1)
    chances = np.array([math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1) for k in found])
    chances = np.exp(chances + found * math.log(share) + (count - found) * math.log1p(-share))
    total = np.cumsum(chances)
    return int(np.argmax(total > FALSE_ALARM / 2)), int(np.argmax(total > 1 - FALSE_ALARM / 2))


def _check_pairs(below: Any) -> None:
    """Two successive draws are in each cell of a grid equally often, also if they depend on each other without
    correlating."""
    pairs = below[: below.size // 2 * 2].reshape(-1, 2)
    cells = np.minimum((pairs * _CELLS).astype(int), _CELLS - 1)
    counts = np.bincount(cells[:, 0] * _CELLS + cells[:, 1], minlength=_CELLS**2)
    _check_counts(counts, np.full(_CELLS**2, len(pairs) / _CELLS**2), "cells of pairs of successive draws")


def _check_counts(counts: Any, expected: Any, what: str) -> None:
    square = float(((counts - expected) ** 2 / expected).sum())
    freedom, exponent = len(counts) - 1, -math.log(FALSE_ALARM)
    # Laurent and Massart: Adaptive estimation of a quadratic functional by model selection, 2000, lemma 1.
    allowed = freedom + 2 * math.sqrt(freedom * exponent) + 2 * exponent
    _check(square <= allowed, f"chi square of the {len(counts)} {what} is {square:.4g}, allowed {allowed:.4g}")


def _uniform(low: float = 0.0, high: float = 1.0) -> Callable[[Any], Any]:
    return lambda x: np.clip((x - low) / (high - low), -1e-9, 1 + 1e-9)


def _normal(mean: float = 0.0, deviation: float = 1.0) -> Callable[[Any], Any]:
    from scipy import special

    return lambda x: special.ndtr((x - mean) / deviation)


def _gamma(alpha: float, beta: float = 1.0) -> Callable[[Any], Any]:
    from scipy import special

    return lambda x: special.gammainc(alpha, np.maximum(x, 0) * beta)


def _logistic(mean: float = 0.0, scale: float = 1.0) -> Callable[[Any], Any]:
    return lambda x: 1 / (1 + np.exp(-(x - mean) / scale))


def _von_mises(mean: float, concentration: float) -> Callable[[Any], Any]:
    grid = np.linspace(-math.pi, math.pi, 16385)
    density = np.exp(concentration * (np.cos(grid - mean) - 1))
    integral = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return lambda x: np.interp(x, grid, integral / integral[-1])


DISTRIBUTIONS: Mapping[str, Callable[..., Callable[[Any], Any]]] = {
    "uniform": _uniform,
    "normal": _normal,
    "gamma": _gamma,
    "logistic": _logistic,
    "von_mises": _von_mises,
}
"""For each name a function of its parameters, which returns the function of the probability below a number."""

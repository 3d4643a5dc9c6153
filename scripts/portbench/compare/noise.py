"""The noise of times: how much runs differ, and whether a difference is more than noise.

The samples of one run share a process, and processes differ (memory layout, placement on cores, a hash seed). Samples
alone therefore make many differences look certain that are not. The unit is a run: the median of its samples counts,
and a difference has to exceed the noise, which is how much the runs of one side differ.

Three runs say little about a test's own noise. As usual with few repetitions and many tests, each test's variance is
moderated by that of all tests (Smyth, "Linear models and empirical Bayes methods", 2004: a prior with ``d0`` degrees of
freedom is fitted to the log variances). Unlike in that paper, no test counts as less noisy than the prior: where
processes are fast or slow by chance, three that agree do not show that all will.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from scipy import optimize, special, stats

LEAST_NOISE = 0.001
"""Standard deviation of the logarithm: two processes never agree to better than a thousandth."""

# Above it on both sides the approximation is good.
_MOST_EXACT = 8


@dataclass(frozen=True)
class Noise:
    """The variance between runs of the logarithm of a test's time, and its degrees of freedom (infinity: known)."""

    variance: float
    degrees: float


@dataclass(frozen=True)
class Change:
    """A change of the logarithm of a time: its standard error, with the degrees of freedom of that."""

    log_ratio: float
    error: float
    degrees: float

    @property
    def p(self) -> float:
        """The two-sided p value of Student's t test that nothing changed."""
        return float(2 * special.stdtr(self.degrees, -abs(self.log_ratio) / self.error))

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """The low and high end of the interval of the ratio."""
        margin = float(special.stdtrit(self.degrees, (1 + confidence) / 2)) * self.error
        # With next to no degrees of freedom the margin is beyond any float.
        return math.exp(max(self.log_ratio - margin, -700)), math.exp(min(self.log_ratio + margin, 700))

    def minus(self, other: Change) -> Change:
        """The difference between two changes that are independent of one another."""
        degrees = min(self.degrees, other.degrees)
        return Change(self.log_ratio - other.log_ratio, math.hypot(self.error, other.error), degrees)


def noise_of(groups: Sequence[Sequence[Sequence[float]]]) -> list[Noise | None]:
    """The noise of each test between runs. ``groups`` has, for each test and side, the positive time of each run.

    None for a test with one run on each side, if no other test has more.
    """
    own = [_pooled(sides) for sides in groups]
    known = [noise for noise in own if noise]
    prior = _prior(known) if known else None
    return [_moderated(noise, prior) for noise in own]


def change(first: Sequence[float], second: Sequence[float], noise: Noise | None) -> Change | None:
    """The change from the runs of one side to those of another, given their positive times; None without noise."""
    if noise is None:
        return None
    error = math.sqrt(noise.variance * (1 / len(first) + 1 / len(second)))
    return Change(mean_log(second) - mean_log(first), error, noise.degrees)


def mean_log(values: Iterable[float]) -> float:
    """The logarithm of the geometric mean of positive values."""
    return fmean([math.log(value) for value in values])


def mann_whitney(pairs: Mapping[int, tuple[Sequence[float], Sequence[float]]]) -> dict[int, float]:
    """Mann-Whitney's U test of each pair of samples, two-sided: p by the key of the pair.

    As scipy.stats.mannwhitneyu: exact where a side has up to 8 samples and no two are equal, else by the normal
    approximation. SciPy tests samples of the same sizes in one call, and spends its time on checking the arguments of
    each call; samples of times have hundreds of sizes, so that the approximation is computed here, for all at once.
    """
    exact: dict[tuple[int, int], list[int]] = {}
    approximate: list[int] = []
    for key, (first, second) in pairs.items():
        has_ties = len({*first, *second}) < len(first) + len(second)
        if has_ties or min(len(first), len(second)) > _MOST_EXACT:
            approximate.append(key)
        else:
            exact.setdefault((len(first), len(second)), []).append(key)
    found: dict[int, float] = {}
    for keys in exact.values():
        firsts, seconds = (np.array([pairs[key][side] for key in keys]) for side in (0, 1))
        ps = stats.mannwhitneyu(firsts, seconds, axis=1, method="exact").pvalue
        found |= dict(zip(keys, ps.tolist(), strict=True))
    if approximate:
        found |= dict(zip(approximate, _approximate_ps([pairs[key] for key in approximate]), strict=True))
    return found


def _approximate_ps(pairs: Sequence[tuple[Sequence[float], Sequence[float]]]) -> list[float]:
    """p of each pair by the normal approximation, corrected for ties and continuity; 1 for samples that are all equal.

    Method: Hollander and Wolfe, "Nonparametric Statistical Methods", 1999, section 4.1.
    """
    sizes = np.array([[len(first), len(second)] for first, second in pairs])
    n1, n2 = sizes.T
    n = n1 + n2
    owner = np.repeat(np.arange(len(pairs)), n)
    values = np.concatenate([side for pair in pairs for side in pair])
    is_first = np.repeat(np.tile([True, False], len(pairs)), sizes.ravel())
    order = np.lexsort((values, owner))
    values, is_first = values[order], is_first[order]
    begins = np.flatnonzero(np.r_[True, (np.diff(values) != 0) | (np.diff(owner) != 0)])
    ties = np.diff(np.r_[begins, len(values)])
    # Equal values share the mean of their ranks, which count from 1 in each pair.
    ranks = np.repeat(begins + (ties + 1) / 2, ties) - np.repeat(np.cumsum(n) - n, n)
    u1 = np.bincount(owner[is_first], ranks[is_first]) - n1 * (n1 + 1) / 2
    tied = np.bincount(owner[begins], ties**3 - ties)
    variance = n1 * n2 / 12 * (n + 1 - tied / (n * (n - 1)))
    distance = np.maximum(u1, n1 * n2 - u1) - n1 * n2 / 2 - 0.5
    z = np.divide(distance, np.sqrt(np.maximum(variance, 0)), out=np.full(len(pairs), -np.inf), where=variance > 0)
    ps: list[float] = np.minimum(1, 2 * special.ndtr(-z)).tolist()
    return ps


def least_p(first: int, second: int) -> float:
    """The smallest p that Mann-Whitney's test can give for so many samples."""
    return 2 / math.comb(first + second, first)


def bh_adjusted(ps: Sequence[float]) -> list[float]:
    """p values adjusted for their number by Benjamini and Hochberg: a share q of those up to q is expected false."""
    return stats.false_discovery_control(ps).tolist() if ps else []


def _pooled(sides: Sequence[Sequence[float]]) -> Noise | None:
    degrees = sum(len(times) - 1 for times in sides)
    if not degrees:
        return None
    squares = sum((math.log(time) - mean) ** 2 for times in sides for mean in [mean_log(times)] for time in times)
    return Noise(max(squares / degrees, LEAST_NOISE**2), degrees)


def _prior(known: Sequence[Noise]) -> Noise | None:
    """Smyth's fit (section 6.2): the mean and the excess variance of log variances give location and degrees."""
    if len(known) < 2:
        return None
    half = np.array([noise.degrees for noise in known]) / 2
    logs = np.log([noise.variance for noise in known]) - special.digamma(half) + np.log(half)
    excess = float(np.var(logs, ddof=1) - np.mean(special.polygamma(1, half)))
    smallest, largest = 1e-3, 1e6
    if excess <= special.polygamma(1, largest):
        return Noise(math.exp(np.mean(logs)), math.inf)
    # trigamma falls from infinity to 0.
    root = optimize.brentq(lambda x: float(special.polygamma(1, x)) - excess, smallest, largest)
    return Noise(math.exp(np.mean(logs) + special.digamma(root) - math.log(root)), 2 * root)


def _moderated(own: Noise | None, prior: Noise | None) -> Noise | None:
    if own is None or prior is None:
        return own or prior
    if math.isinf(prior.degrees):
        return prior
    degrees = prior.degrees + own.degrees
    variance = (prior.degrees * prior.variance + own.degrees * own.variance) / degrees
    return Noise(max(variance, prior.variance), degrees)

"""Intervals of confidence, against figures that were derived by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from portbench.analysis.intervals import Interval, bootstrap_ratio, bootstrap_ratios, bootstrap_weighted_rate, wilson


def test_wilson_of_one_failure_in_ten() -> None:
    # z = 1.959964, z² = 3.841459; n = 10, p = 0.1.
    # centre = (p + z²/2n) / (1 + z²/n)          = (0.1 + 0.192073) / 1.384146          = 0.211013
    # half   = z √(p(1-p)/n + z²/4n²) / (1+z²/n) = 1.959964 √(0.009 + 0.009604) / 1.384146 = 0.193137
    found = wilson(1, 10)
    assert found.low == pytest.approx(0.017876, abs=2e-6)
    assert found.high == pytest.approx(0.404150, abs=2e-6)


def test_wilson_at_the_ends() -> None:
    # None of n: low is 0, high = (z²/n) / (1 + z²/n) = 0.3841459 / 1.3841459.
    assert wilson(0, 10).low == 0
    assert wilson(0, 10).high == pytest.approx(0.277533, abs=1e-6)
    assert wilson(10, 10).high == 1
    assert wilson(0, 0) == Interval(0.0, 1.0)


def test_bootstrap_of_two_ratios_spans_both() -> None:
    # Of four equally likely resamples one is (2, 2), one (8, 8), two give the geometric mean 4.
    found = bootstrap_ratio([2.0, 8.0])
    assert found
    assert (found.low, found.high) == pytest.approx((2.0, 8.0))


def test_bootstrap_knows_no_order_and_no_chance() -> None:
    ratios = list(np.exp(np.random.default_rng(7).normal(size=30)))
    assert bootstrap_ratio(ratios) == bootstrap_ratio(ratios[::-1]) == bootstrap_ratio(sorted(ratios))


def test_bootstrap_of_many_is_near_the_normal_interval() -> None:
    logs = np.random.default_rng(1).normal(0.5, 0.3, size=400)
    found = bootstrap_ratio(list(np.exp(logs)))
    assert found
    half = 1.96 * logs.std() / math.sqrt(400)
    assert math.log(found.low) == pytest.approx(logs.mean() - half, abs=0.1 * half)
    assert math.log(found.high) == pytest.approx(logs.mean() + half, abs=0.1 * half)


@pytest.mark.parametrize("size", range(2, 9))
def test_bootstrap_of_few_is_that_of_all_resamples(size: int) -> None:
    """However few of the resamples are different."""
    groups = np.exp(np.random.default_rng(size).normal(size=(5, size)))
    drawn = np.random.default_rng(2023).integers(size, size=(2000, size))
    for ratios, found in zip(groups, bootstrap_ratios(groups.tolist()), strict=True):
        means = np.exp(np.log(np.sort(ratios))[drawn].mean(axis=1))
        assert found
        assert (found.low, found.high) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])), rel=1e-12)


@pytest.mark.parametrize("ratios", [[], [3.0]])
def test_fewer_than_two_ratios_have_no_interval(ratios: list[float]) -> None:
    assert bootstrap_ratio(ratios) is None


def test_equal_ratios_have_an_interval_without_width() -> None:
    found = bootstrap_ratio([3.0] * 5)
    assert found
    assert (found.low, found.high) == pytest.approx((3.0, 3.0))


def test_a_heavy_weight_decides_a_weighted_rate() -> None:
    # Of four draws k are the failing function, which gives 99 k / (99 k + 4 - k). None in 0.75^4 = 31.6 % of resamples,
    # the low end. Up to two in 94.9 %, up to three in 99.6 %: the high end, 297 / 298.
    found = bootstrap_weighted_rate([1.0, 0.0, 0.0, 0.0], [99, 1, 1, 1])
    assert found
    assert found.low == 0
    assert found.high == pytest.approx(297 / 298)
    assert bootstrap_weighted_rate([0.0, 1.0, 0.0, 0.0], [1, 99, 1, 1]) == found
    assert bootstrap_weighted_rate([1.0], [5]) is None

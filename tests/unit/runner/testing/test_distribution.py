"""Draws are checked against a known distribution: a good generator passes, each kind of bad one does not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from runners.core.testing.distribution import check_categories, check_draws, check_independent

COUNT = 40_000


def uniform(seed=1, count=COUNT):
    return np.random.default_rng(seed).random(count)


def logistic(seed=1):
    return np.random.default_rng(seed).logistic(size=COUNT)


def clipped(draws, share):
    low, high = np.quantile(draws, [share, 1 - share])
    return draws.clip(low, high)


def pairs_of(draws):
    return np.repeat(draws[: COUNT // 2], 2)


def around_zero(draws):
    """Successive draws that do not correlate and are of the same size."""
    signs = np.sign(np.random.default_rng(9).standard_normal(COUNT))
    return signs * np.abs(pairs_of(draws))


@pytest.mark.parametrize("seed", range(40))
def test_a_good_generator_passes(seed):
    check_draws(uniform(seed, 3000) * 4 - 1, "uniform", {"low": -1, "high": 3})
    check_draws(logistic(seed), "logistic", {})
    check_independent((np.random.default_rng(seed).permutation(3000) + 0.5) / 3000 * 12**0.5 - 3**0.5)
    check_categories(np.random.default_rng(seed).choice(3, 3000, p=[0.2, 0.7, 0.1]), [2, 7, 1])


@pytest.mark.parametrize(("dtype", "epsilon"), [("float16", 2.0**-10), ("float32", 2.0**-23)])
def test_rounding_to_a_dtype_is_no_finding(dtype, epsilon):
    check_draws(logistic().astype(dtype), "logistic", {}, epsilon)
    check_draws(uniform().astype(dtype), "uniform", {}, epsilon)


@pytest.mark.parametrize(
    ("draws", "found"),
    [
        (np.full(COUNT, 0.5), "spread"),
        (uniform() * 1.001, "outside"),
        (uniform() * 0.97, "mean"),
        (0.5 + (uniform() - 0.5) * 0.95, "spread"),
        (np.sin(uniform() * math.pi / 2) ** 2, "spread"),
        (pairs_of(uniform()), "correlate"),
        (np.tile(uniform(1, COUNT // 2), 2), "correlate"),
        (np.tile(uniform(1, 64), COUNT // 64), "mean"),
        (np.sort(uniform()), "correlate"),
        (clipped(uniform(), 0.001), "tail"),
        (np.where(uniform() > 0.9999, np.nan, uniform()), "NaN"),
        (uniform()[:100], "too few"),
    ],
)
def test_a_bad_generator_of_uniform_draws_is_noticed(draws, found):
    with pytest.raises(AssertionError, match=found):
        check_draws(draws, "uniform", {})


@pytest.mark.parametrize(
    ("draws", "found"),
    [
        (logistic() * 1.05, "spread"),
        (logistic() * 0.95, "spread"),
        (logistic() + 0.1, "mean"),
        (clipped(logistic(), 0.001), "tail"),
        (around_zero(logistic()), "cells of pairs"),
    ],
)
def test_a_bad_generator_of_logistic_draws_is_noticed(draws, found):
    with pytest.raises(AssertionError, match=found):
        check_draws(draws, "logistic", {})


@pytest.mark.parametrize(
    ("draws", "found"),
    [
        (np.tile([0, 1, 2, 2], 1000), "correlate"),
        (np.full(4000, 1), "chi square"),
        (np.random.default_rng(1).choice(3, 4000, p=[0.3, 0.25, 0.45]), "chi square"),
        (np.random.default_rng(1).choice(4, 4000), "none of the 3"),
    ],
)
def test_bad_draws_of_categories_are_noticed(draws, found):
    with pytest.raises(AssertionError, match=found):
        check_categories(draws, [1, 1, 2])


def test_a_category_without_a_share_must_not_occur():
    with pytest.raises(AssertionError, match="share zero"):
        check_categories(np.tile([0, 1], 1000), [1, 0])

"""Random draws, compared with the distribution that they should follow.

The seeds are fixed. Every bound is so wide that a correct generator on any device exceeds it with a probability below
one in a million.
"""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
import torch
from scipy import special

from runners.core.testing.compare import EPSILON
from runners.core.testing.distribution import check_categories, check_draws
from runners.core.testing.trial import Trial

_SIGMAS = 5.5

_BESSEL = {"rtol": 1e-6, "atol": 1e-6}
"""PyTorch computes the Bessel function by the polynomials of Abramowitz and Stegun 9.8, which are accurate to 2e-7."""


def multinomial_shares(trial: Trial, weights: Sequence[Any], draws: int, dtype: str) -> None:
    """Drawn with replacement, each category is as frequent as its weight says; weight 0 never occurs."""
    tensor = trial.tensor(np.array(weights, "float64"), dtype)
    drawn = trial.call(tensor, draws, replacement=True)
    trial.equal(trial.dtype_name(drawn), "int64")
    rows = np.atleast_2d(trial.numpy(tensor)).astype("float64")
    trial.equal(list(drawn.shape), [*np.shape(weights)[:-1], draws])
    for row, found in zip(rows, np.atleast_2d(trial.numpy(drawn))):
        check_categories(found, row)


def multinomial_without_replacement(trial: Trial, rows: int, categories: int, draws: int, dtype: str) -> None:
    """Drawn without replacement, no category repeats in a row, and the first draw follows the weights."""
    weights = np.arange(1.0, categories + 1)
    drawn = trial.call(trial.tensor(np.tile(weights, (rows, 1)), dtype), draws)
    trial.equal(trial.dtype_name(drawn), "int64")
    found = trial.numpy(drawn)
    trial.equal(list(found.shape), [rows, draws])
    trial.check((np.diff(np.sort(found, axis=1), axis=1) > 0).all(), "a category was drawn twice in a row")
    _check_shares(trial, found[:, 0], weights / weights.sum())


def multinomial_generator(trial: Trial, draws: int) -> None:
    """A generator determines the draws: the same seed gives the same draws, another seed different ones."""
    weights = trial.tensor(np.full(50, 0.02, "float32"))

    def drawn(seed: int, repeatable: bool) -> Any:
        trial.repeatable = repeatable
        generator = torch.Generator(device=trial.device)
        generator.manual_seed(seed)
        indices = trial.call(weights, draws, True, generator=generator)
        trial.equal(trial.dtype_name(indices), "int64")
        trial.equal(list(indices.shape), [draws])
        return trial.numpy(indices)

    first = drawn(1, True)
    torch.manual_seed(99)
    trial.equal(drawn(1, False), first)
    trial.check((drawn(2, False) != first).any(), "another seed gives the same draws")
    check_categories(first, np.full(50, 0.02))


def von_mises_density(
    trial: Trial, loc: Any, concentration: Any, shape: Sequence[int], dtype: str, layout: str = "contiguous"
) -> None:
    """The density is exp(k cos(x - m)) / (2 pi I0(k)), for parameters that broadcast with the values."""
    x = trial.random(*shape, dtype=dtype, low=-np.pi, high=np.pi)
    mean, k = np.asarray(loc, dtype), np.asarray(concentration, dtype)
    distribution = trial.make(trial.tensor(mean), trial.tensor(k))
    density = trial.call_method(distribution, "log_prob", trial.tensor(x, dtype, layout))
    x, mean, k = (values.astype("float64") for values in (x, mean, k))
    trial.close(
        density,
        _log_density(x, mean, k),
        dtype=dtype,
        rtol=_BESSEL["rtol"],
        atol=3 * np.finfo(dtype).eps * k.max() + 1e-6,
    )


def von_mises_gradients(trial: Trial, dtype: str) -> None:
    """The density's gradient is k sin(x - m) for the mean and cos(x - m) - I1(k) / I0(k) for the concentration."""
    x, mean = trial.random(5, dtype=dtype, low=-3, high=3), trial.random(5, dtype=dtype, seed=1)
    k = trial.random(5, dtype=dtype, seed=2, low=0.5, high=9)
    loc, concentration = trial.tensor(mean).requires_grad_(), trial.tensor(k).requires_grad_()
    density = trial.call_method(trial.make(loc, concentration), "log_prob", trial.tensor(x))
    density.sum().backward()
    x, mean, k = (values.astype("float64") for values in (x, mean, k))
    trial.close(density, _log_density(x, mean, k), dtype=dtype, **_BESSEL)
    trial.close(loc.grad, k * np.sin(x - mean), dtype=dtype)
    # The derivative of the polynomials has one digit less than the Bessel function.
    trial.close(
        concentration.grad, np.cos(x - mean) - special.i1e(k) / special.i0e(k), dtype=dtype, rtol=1e-5, atol=1e-5
    )


def von_mises_sample(
    trial: Trial, loc: Sequence[float], concentration: Sequence[float], draws: int, dtype: str
) -> None:
    """The draws lie in [-pi, pi), and their distribution function is the integral of the density."""
    distribution = trial.make(trial.tensor(np.array(loc, dtype)), trial.tensor(np.array(concentration, dtype)))
    sample = trial.call_method(distribution, "sample", (draws,))
    trial.equal(trial.dtype_name(sample), dtype)
    found = trial.numpy(sample).astype("float64")
    trial.equal(list(found.shape), [draws, len(loc)])
    trial.check((np.abs(found) <= np.pi + 1e-6).all(), "a draw is outside of [-pi, pi]")
    for column, (mean, k) in enumerate(zip(loc, concentration)):
        check_draws(found[:, column], "von_mises", {"mean": mean, "concentration": k}, EPSILON[dtype])


def von_mises_moments(trial: Trial, loc: Any, concentration: Any, shape: Sequence[int], dtype: str) -> None:
    """A new distribution broadcasts its parameters; it has mean m and circular variance 1 - I1(k) / I0(k)."""
    mean, k = np.asarray(loc, dtype), np.asarray(concentration, dtype)
    distribution = trial.call(trial.tensor(mean), trial.tensor(k))
    trial.equal(list(distribution.batch_shape), list(shape))
    trial.equal(list(distribution.event_shape), [])
    trial.close(distribution.mean, np.broadcast_to(mean, shape), dtype=dtype)
    k = k.astype("float64")
    expected = np.broadcast_to(1 - special.i1e(k) / special.i0e(k), shape)
    trial.close(distribution.variance, expected, dtype=dtype, **_BESSEL)


def von_mises_expand(trial: Trial, shape: Sequence[int]) -> None:
    """After expand the distribution has the new batch shape and the same density everywhere."""
    mean, k = np.array([0.5, -1.0], "float32"), np.array([2.0, 4.0], "float32")
    distribution = trial.make(trial.tensor(mean), trial.tensor(k))
    expanded = trial.call_method(distribution, "expand", torch.Size(shape))
    trial.equal(list(expanded.batch_shape), list(shape))
    trial.close(expanded.mean, np.broadcast_to(mean, shape), dtype="float32")
    expected = np.broadcast_to(_log_density(1, mean.astype("float64"), k.astype("float64")), shape)
    trial.close(expanded.log_prob(trial.tensor(np.array(1.0, "float32"))), expected, dtype="float32", **_BESSEL)


def _log_density(x: Any, mean: Any, k: Any) -> Any:
    return k * np.cos(x - mean) - np.log(2 * np.pi * special.i0e(k)) - k


def _check_shares(trial: Trial, found: Any, shares: Any) -> None:
    trial.check(((found >= 0) & (found < len(shares))).all(), f"a draw is outside of the {len(shares)} categories")
    counts = np.bincount(found, minlength=len(shares))
    expected = len(found) * shares
    away = np.abs(counts - expected) - _SIGMAS * np.sqrt(expected * (1 - shares))
    worst = int(np.argmax(away))
    message = f"category {worst}: expected about {expected[worst]:.0f} of {len(found)} draws, got {counts[worst]}"
    trial.check((away <= 1e-6).all(), message)

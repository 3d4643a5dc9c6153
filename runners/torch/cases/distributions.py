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
from runners.core.testing.distribution import check_draws
from runners.core.testing.trial import Trial

_SIGMAS = 5.5

_BESSEL = {"rtol": 1e-6, "atol": 1e-6}
"""PyTorch computes the Bessel function by the polynomials of Abramowitz and Stegun 9.8, which are accurate to 2e-7."""


def von_mises_density(
    trial: Trial,
    loc: Any,
    concentration: Any,
    shape: Sequence[int],
    dtype: str,
    layout: str = "contiguous",
    reach: float = np.pi,
) -> None:
    """The density is exp(k cos(x - m)) / (2 pi I0(k)), for parameters that broadcast with the values, which lie within
    ``reach`` of zero."""
    x = trial.random(*shape, dtype=dtype, low=-reach, high=reach)
    mean, k = np.asarray(loc, dtype), np.asarray(concentration, dtype)
    distribution = trial.make(trial.tensor(mean), trial.tensor(k))
    density = trial.call_method(distribution, "log_prob", trial.tensor(x, dtype, layout))
    x, mean, k = (values.astype("float64") for values in (x, mean, k))
    trial.close(
        density,
        _log_density(x, mean, k),
        dtype=dtype,
        rtol=_BESSEL["rtol"],
        # The difference of value and mean is rounded at the size of the larger one.
        atol=max(3.0, reach) * np.finfo(dtype).eps * k.max() + 1e-6,
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


def von_mises_sample(trial: Trial, loc: Sequence[Any], concentration: Sequence[Any], draws: Any, dtype: str) -> None:
    """The draws lie in [-pi, pi), and their distribution function is the integral of the density, for each of the
    broadcast parameters. ``draws``: a number, or a shape."""
    mean, k = np.array(loc, dtype), np.array(concentration, dtype)
    distribution = trial.make(trial.tensor(mean), trial.tensor(k))
    shape = (draws,) if isinstance(draws, int) else tuple(draws)
    sample = trial.call_method(distribution, "sample", shape)
    trial.equal([trial.dtype_name(sample), sample.requires_grad], [dtype, False])
    found = trial.numpy(sample).astype("float64")
    mean, k = np.broadcast_arrays(mean, k)
    trial.equal(list(found.shape), [*shape, *mean.shape])
    trial.check((np.abs(found) <= np.pi + 1e-6).all(), "a draw is outside of [-pi, pi]")
    columns = found.reshape(-1, mean.size).T
    for column, m, c in zip(columns, mean.astype("float64").ravel(), k.astype("float64").ravel()):
        check_draws(column, "von_mises", {"mean": m, "concentration": c}, EPSILON[dtype])
    for one, other in zip(columns, columns[1:]):
        related = float(np.corrcoef(one, other)[0, 1])
        trial.check(abs(related) <= _SIGMAS / len(one) ** 0.5, f"two parameters' draws are correlated: {related:.3g}")


def von_mises_broadcast_gradients(trial: Trial, dtype: str) -> None:
    """Parameters that are repeated get the sum of the gradients of their places, and values get -k sin(x - m)."""
    x = trial.random(4, 3, dtype=dtype, low=-9, high=9)
    mean, k = trial.random(dtype=dtype, seed=1), trial.random(4, 1, dtype=dtype, seed=2, low=0.5, high=9)
    weights = trial.random(4, 3, dtype=dtype, seed=3)
    loc, concentration, value = (trial.tensor(values).requires_grad_() for values in (mean, k, x))
    density = trial.call_method(trial.make(loc, concentration), "log_prob", value)
    (density * trial.tensor(weights)).sum().backward()
    x, mean, k, weights = (values.astype("float64") for values in (x, mean, k, weights))
    trial.close(density, _log_density(x, mean, k), dtype=dtype, **_BESSEL)
    slope = weights * k * np.sin(x - mean)
    trial.close(loc.grad, slope.sum(), dtype=dtype)
    trial.close(value.grad, -slope, dtype=dtype)
    of_k = weights * (np.cos(x - mean) - special.i1e(k) / special.i0e(k))
    trial.close(concentration.grad, of_k.sum(1, keepdims=True), dtype=dtype, rtol=1e-5, atol=1e-5)


def von_mises_facts(trial: Trial) -> None:
    """Numbers are accepted as parameters; values are checked unless that is switched off; there is no rsample."""
    distribution = trial.call(0.5, 2.0)
    trial.equal([list(distribution.batch_shape), list(distribution.sample().shape)], [[], []])
    trial.equal([distribution.has_rsample, distribution.support is torch.distributions.constraints.real], [False, True])
    made = trial.tensor(np.array([0.5, 1.0], "float32")), trial.tensor(np.array([2.0, 3.0], "float32"))
    trial.method_raises(
        trial.make(*made, validate_args=True), "log_prob", ["ValueError"], "support", trial.tensor([float("nan"), 1.0])
    )
    wide = made[0][:, None, None].expand(2, 3, 5)
    trial.method_raises(trial.make(*made, validate_args=True), "log_prob", ["ValueError"], "shape", wide)
    unchecked = trial.make(*made, validate_args=False)
    x = np.array([np.nan, 1.0])
    expected = _log_density(x, np.array([0.5, 1.0]), np.array([2.0, 3.0]))
    trial.close(unchecked.log_prob(trial.tensor(x, "float32")), expected, dtype="float32", **_BESSEL)


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


def von_mises_statistics(trial: Trial) -> None:
    """The mode is the mean, which is the location, and the standard deviation is the root of the variance. These have
    gradients, samples have none. An expanded distribution checks values if the first one does."""
    mean, k = (trial.tensor(np.array(numbers)).requires_grad_() for numbers in ([0.5, -1.0, 2.0], [0.3, 2.0, 9.0]))
    made = trial.call(mean, k)
    for found in (made.mean, made.mode):
        trial.close(found.detach(), trial.numpy(mean.detach()), dtype="float64")
    ratio = special.i1(trial.numpy(k.detach())) / special.i0(trial.numpy(k.detach()))
    trial.close(made.stddev.detach(), (1 - ratio) ** 0.5, dtype="float64", **_BESSEL)
    (slope,) = torch.autograd.grad((made.mean * made.mean).sum(), [mean])
    trial.close(slope, 2 * trial.numpy(mean.detach()), dtype="float64")
    trial.equal([made.sample().requires_grad, made.sample(torch.Size([2])).requires_grad], [False, False])
    outside = trial.tensor(np.full((2, 3), np.nan))
    for checked in (True, False):
        wide = trial.make(mean, k, validate_args=checked).expand(torch.Size([2, 3]))
        if checked:
            trial.method_raises(wide, "log_prob", ["ValueError"], "support", outside)
        else:
            trial.check(bool(torch.isnan(wide.log_prob(outside)).all()), "the density of NaN is no NaN")

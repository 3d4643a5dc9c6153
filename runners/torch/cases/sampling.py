"""Relaxed categorical draws, compared with closed forms (Maddison, Mnih and Teh, The Concrete Distribution, 2017).

The seeds are fixed. Every bound is so wide that a correct generator on any device exceeds it with a probability below
one in a million.
"""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
import torch
from scipy import special

from runners.core.testing.arrays import widened
from runners.core.testing.distribution import check_draws
from runners.core.testing.trial import Trial

_SIGMAS = 5.5

_RTOL = {"float32": 1e-5, "float64": 1e-12}
"""The tolerance of densities and gradients: sums of several logarithms, divided by the temperature."""

_ATOL = {"float32": 3e-5, "float64": 1e-12}


def _made(trial: Trial, temperature: Any, dtype: str, how: str, parameters: Any, timed: bool = False) -> Any:
    values = trial.tensor(np.array(parameters, dtype))
    make = trial.call if timed else trial.make
    return make(trial.tensor(np.array(temperature, dtype)), **{how: values})


def _log_density(x: Any, temperature: Any, probs: Any) -> Any:
    """Return the logarithm of equation 10 of that paper."""
    t, count = np.asarray(temperature)[..., None], x.shape[-1]
    terms = np.log(probs) - t * np.log(x)
    whole = special.gammaln(count) + (count - 1) * np.log(np.asarray(temperature))
    return whole + (terms - np.log(x)).sum(-1) - count * special.logsumexp(terms, axis=-1)


def _points(trial: Trial, *shape: int, dtype: str) -> Any:
    x = trial.random(*shape, dtype="float64", seed=1, low=0.05, high=1)
    return (x / x.sum(-1, keepdims=True)).astype(dtype)


def relaxed_density(
    trial: Trial,
    temperature: Any,
    how: str,
    parameters: Any,
    shape: Sequence[int],
    dtype: str,
    layout: str = "contiguous",
) -> None:
    """The density is that of equation 10, for one temperature and parameters that broadcast with the points."""
    distribution = _made(trial, temperature, dtype, how, parameters)
    x = _points(trial, *shape, dtype=dtype)
    density = trial.call_method(distribution, "log_prob", trial.tensor(x, dtype, layout))
    given = widened(np.array(parameters, dtype))
    probs = given / given.sum(-1, keepdims=True) if how == "probs" else special.softmax(given, axis=-1)
    expected = _log_density(widened(x), widened(np.array(temperature, dtype)), probs)
    trial.close(density, expected, rtol=_RTOL[dtype], atol=_ATOL[dtype], dtype=dtype)


def relaxed_density_gradients(trial: Trial, temperature: float, dtype: str) -> None:
    """The density's gradient for the logits is 1 minus the number of categories times the share of each term."""
    logits = trial.random(3, 4, dtype=dtype, seed=2)
    tensor = trial.tensor(logits).requires_grad_()
    distribution = trial.make(trial.tensor(np.array(temperature, dtype)), logits=tensor)
    x = _points(trial, 3, 4, dtype=dtype)
    density = trial.call_method(distribution, "log_prob", trial.tensor(x))
    weights = np.array([1.0, -2.0, 0.5])
    (density * trial.tensor(weights, dtype)).sum().backward()
    logits, x = widened(logits), widened(x)
    expected = _log_density(x, temperature, special.softmax(logits, axis=-1))
    trial.close(density, expected, rtol=_RTOL[dtype], atol=_ATOL[dtype], dtype=dtype)
    shares = special.softmax(logits - temperature * np.log(x), axis=-1)
    slope = weights[:, None] * (1 - 4 * shares)
    trial.close(tensor.grad, slope, rtol=_RTOL[dtype], atol=_ATOL[dtype], dtype=dtype)


def relaxed_all_gradients(trial: Trial, dtype: str) -> None:
    """The density's gradient for the temperature, for probabilities and for the point."""
    heat = trial.random(dtype=dtype, seed=4, low=0.4, high=2.5)
    probs = trial.random(3, 4, dtype=dtype, seed=5, low=0.1, high=1)
    x, down = _points(trial, 3, 4, dtype=dtype), np.array([1.0, -2.0, 0.5])
    tensors = [trial.tensor(values).requires_grad_() for values in (heat, probs, x)]
    distribution = trial.make(tensors[0], probs=tensors[1], validate_args=False)
    density = trial.call_method(distribution, "log_prob", tensors[2])
    (density * trial.tensor(down, dtype)).sum().backward()
    heat, probs, x = map(widened, (heat, probs, x))
    shares = special.softmax(np.log(probs) - heat * np.log(x), axis=-1)
    tolerances = {"rtol": 10 * _RTOL[dtype], "atol": 10 * _ATOL[dtype]}
    expected = _log_density(x, heat, probs / probs.sum(-1, keepdims=True))
    trial.close(density, expected, dtype=dtype, **tolerances)
    of_heat = 3 / heat - np.log(x).sum(-1) + 4 * (shares * np.log(x)).sum(-1)
    trial.close(tensors[0].grad, (down * of_heat).sum(), dtype=dtype, **tolerances)
    trial.close(tensors[1].grad, down[:, None] * (1 - 4 * shares) / probs, dtype=dtype, **tolerances)
    of_point = (-heat - 1 + 4 * heat * shares) / x
    trial.close(tensors[2].grad, down[:, None] * of_point, dtype=dtype, **tolerances)


def relaxed_refuses_point(trial: Trial) -> None:
    """A point whose parts do not sum to one, or are negative, raises an error."""
    heat, probs = trial.tensor(np.array(0.5, "float32")), trial.tensor(np.array([0.25, 0.75], "float32"))
    checked = trial.make(heat, probs, validate_args=True)
    for point in ([0.5, 0.7], [-0.5, 1.5]):
        trial.method_raises(checked, "log_prob", ["ValueError"], "support", trial.tensor(np.array(point, "float32")))


def relaxed_extremes(trial: Trial, temperature: float, dtype: str) -> None:
    """Logits that are far apart and a low temperature give draws on the simplex, without NaN, at the largest logit."""
    logits = np.array([[40.0, -40.0, 0.0], [-90.0, 2.0, 80.0]])
    sample = trial.call_method(_made(trial, temperature, dtype, "logits", logits), "sample", (5, 7))
    trial.equal([trial.dtype_name(sample), list(sample.shape)], [dtype, [5, 7, 2, 3]])
    found = widened(trial.numpy(sample))
    trial.check(np.allclose(found.sum(-1), 1, rtol=0, atol=1e-5), "the parts do not sum to 1")
    trial.check(not np.signbit(found).any(), "a part is negative")
    trial.equal(found.argmax(-1), np.broadcast_to(np.array([0, 2]), (5, 7, 2)))


def relaxed_new(trial: Trial, temperature: Any, how: str, parameters: Any, dtype: str) -> None:
    """A new distribution has its parameters' shapes, normalized shares and logits, and draws that differ."""
    distribution = _made(trial, temperature, dtype, how, parameters, timed=True)
    trial.check(
        isinstance(distribution, trial.function),
        f"not an instance of the class: {type(distribution).__name__}",
    )
    given = widened(np.array(parameters, dtype))
    probs = given / given.sum(-1, keepdims=True) if how == "probs" else special.softmax(given, axis=-1)
    trial.equal(
        [list(distribution.batch_shape), list(distribution.event_shape)], [list(given.shape[:-1]), [given.shape[-1]]]
    )
    trial.close(distribution.temperature, widened(np.array(temperature, dtype)), dtype=dtype)
    trial.close(distribution.probs, probs, dtype=dtype)
    trial.close(torch.softmax(distribution.logits, -1), probs, dtype=dtype)
    trial.equal(distribution.has_rsample, True)


def relaxed_sample(
    trial: Trial, temperature: float, logits: Any, draws: int, dtype: str, method: str = "sample"
) -> None:
    """The draws are on the simplex, each category is the largest part as often as its share says, and the logarithm of
    the ratio of two parts is logistic around the difference of their logits. Rows are independent."""
    distribution = _made(trial, temperature, dtype, "logits", logits)
    sample = trial.call_method(distribution, method, (draws,))
    trial.equal(trial.dtype_name(sample), dtype)
    trial.equal(sample.requires_grad, False)
    found, logits = widened(trial.numpy(sample)), np.array(logits)
    trial.equal(list(found.shape), [draws, *logits.shape])
    trial.check((found >= 0).all() and (found <= 1).all(), "a part is outside of [0, 1]")
    trial.check(np.allclose(found.sum(-1), 1, rtol=0, atol=1e-5), "the parts do not sum to 1")
    rows = np.moveaxis(found.reshape(draws, -1, logits.shape[-1]), 1, 0)
    for row, draw in zip(logits.reshape(-1, logits.shape[-1]), rows):
        _check_row(trial, draw, row, temperature)
    for one, other in zip(rows, rows[1:]):
        ranks = [np.argsort(np.argsort(row[:, 0])) for row in (one, other)]
        related = float(np.corrcoef(*ranks)[0, 1])
        trial.check(abs(related) <= _SIGMAS / draws**0.5, f"the draws of two rows are correlated: {related:.3g}")


def _check_row(trial: Trial, found: Any, logits: Any, temperature: float) -> None:
    draws, shares = len(found), special.softmax(logits)
    counts = np.bincount(found.argmax(-1), minlength=len(shares))
    away = np.abs(counts - draws * shares) - _SIGMAS * np.sqrt(draws * shares * (1 - shares))
    trial.check((away <= 1e-6).all(), f"expected shares {shares} of the largest parts, got {counts / draws}")
    for i in range(len(shares)):
        j = (i + 1) % len(shares)
        ratios = temperature * (np.log(found[:, i]) - np.log(found[:, j])) - (logits[i] - logits[j])
        check_draws(ratios, "logistic", {})


def relaxed_rsample_gradients(trial: Trial, temperature: Any, dtype: str) -> None:
    """A draw's gradient for logits and temperature is that of a softmax with fixed noise. The temperature is one number
    or a column with one for each row."""
    logits = trial.random(5, 3, dtype=dtype, seed=2)
    tensor = trial.tensor(logits).requires_grad_()
    heat = trial.tensor(np.array(temperature, dtype)).requires_grad_()
    weights = trial.random(5, 3, dtype="float64", seed=3)
    trial.repeatable = False
    draw = trial.call_method(trial.make(heat, logits=tensor), "rsample")
    (draw * trial.tensor(weights, dtype)).sum().backward()
    trial.equal(trial.dtype_name(draw), dtype)
    x = widened(trial.numpy(draw))
    trial.equal(list(x.shape), [5, 3])
    trial.check(np.allclose(x.sum(-1), 1, rtol=0, atol=1e-5), "the parts do not sum to 1")
    centred = x * (weights - (weights * x).sum(-1, keepdims=True))
    tolerances = {"rtol": _RTOL[dtype], "atol": _ATOL[dtype]}
    given = widened(np.array(temperature, dtype))
    trial.close(tensor.grad, centred / given, dtype=dtype, **tolerances)
    of_heat = -centred * np.log(x) / given
    expected = of_heat.sum(-1, keepdims=True) if given.ndim else of_heat.sum()
    trial.close(heat.grad, expected, dtype=dtype, **tolerances)


def relaxed_same_seed(trial: Trial, method: str) -> None:
    """The same seed gives the same draws, another seed different ones."""
    distribution = _made(trial, 0.7, "float32", "probs", [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    draws = []
    for seed in (5, 5, 6):
        torch.manual_seed(seed)
        draws.append(trial.call_method(distribution, method, (4,)))
    first, again, other = (trial.numpy(draw) for draw in draws)
    trial.equal([list(first.shape), first.dtype.name], [[4, 2, 3], "float32"])
    trial.check(np.allclose(first.sum(-1), 1, rtol=0, atol=1e-5), "the parts do not sum to 1")
    trial.check(np.argsort(first, axis=-1).std() > 0 and (first > 0).all(), "the parts do not differ")
    trial.equal(again, first)
    trial.check((other != first).any(), "another seed gives the same draws")
    trial.check(float(np.abs(first[0] - first[1]).max()) > 1e-3, "successive draws are the same")


def relaxed_expand(trial: Trial, shape: Sequence[int]) -> None:
    """After expand the distribution has the new batch shape and the same density everywhere."""
    probs = [0.1, 0.2, 0.7]
    distribution = _made(trial, 1.3, "float32", "probs", probs)
    expanded = trial.call_method(distribution, "expand", torch.Size(shape))
    trial.check(isinstance(expanded, trial.function), f"not an instance of the class: {type(expanded).__name__}")
    trial.equal([list(expanded.batch_shape), list(expanded.event_shape)], [list(shape), [3]])
    trial.close(expanded.probs, np.broadcast_to(probs, (*shape, 3)), dtype="float32")
    x = _points(trial, 3, dtype="float32")
    expected = np.full(shape, _log_density(widened(x), 1.3, np.array(probs)))
    trial.close(expanded.log_prob(trial.tensor(x)), expected, rtol=1e-5, atol=3e-5, dtype="float32")
    trial.equal(list(expanded.sample((2,)).shape), [2, *shape, 3])


def relaxed_masked(trial: Trial, dtype: str, method: str, count: int) -> None:
    """A category whose logit is -infinity has the weight 0 in every draw, and the others, also the last of many, have
    their shares."""
    first = np.where(np.arange(count) % 4 == 1, -np.inf, np.arange(count) % 3 - 1.0)
    logits = np.stack([np.roll(first, -number) for number in range(5)])
    distribution = _made(trial, 0.8, dtype, "logits", logits)
    sample = trial.call_method(distribution, method, (2000,))
    trial.equal([trial.dtype_name(sample), list(sample.shape)], [dtype, [2000, 5, count]])
    found = widened(trial.numpy(sample))
    for number, row in enumerate(logits):
        allowed = np.isfinite(row)
        trial.check(not found[:, number, ~allowed].any(), "a category without a share has a weight")
        parts = found[:, number, allowed]
        trial.check(np.allclose(parts.sum(-1), 1, rtol=0, atol=1e-5), "the parts do not sum to 1")
        _check_row(trial, parts, row[allowed], 0.8)

"""Gradients far out in the tails, and beside infinities: they are the limits, not NaN."""

from __future__ import annotations

from typing import Any, Callable, Mapping

import numpy as np
import tensorflow as tf
from scipy import special, stats

from runners.core.testing.trial import Trial

_distributions = tf.compat.v1.distributions


def _laplace(z: Any) -> Any:
    half = 0.5 * np.exp(np.minimum(z, 0))
    return np.where(z > 0, -1.0, -half / (1 - half))


_SLOPES: Mapping[str, tuple[Callable[..., Any], Callable[[Any], Any]]] = {
    "log_survival_function of Laplace": (lambda f, loc, scale, x: f(_distributions.Laplace(loc, scale), x), _laplace),
    "survival_function": (
        lambda f, loc, scale, x: f(_distributions.Normal(loc, scale), x),
        lambda z: -stats.norm.pdf(z),
    ),
    "log_prob": (lambda f, loc, scale, x: f(loc, scale).log_prob(x), lambda z: -z),
    "cdf": (lambda f, loc, scale, x: f(loc, scale).cdf(x), stats.norm.pdf),
    "log_cdf": (
        lambda f, loc, scale, x: f(loc, scale).log_cdf(x),
        lambda z: np.exp(np.minimum(stats.norm.logpdf(z) - special.log_ndtr(z), 300)),
    ),
}
"""The call, and how fast its output changes with the standardized value."""


def tails(trial: Trial, method: str, dtype: str) -> None:
    """The gradients of the value, the location and the scale are precise, or zero where the density underflows, on
    both sides."""
    call, slope = _SLOPES[method]
    z = np.asarray([-200.0, -90.0, -30.0, -9.0, -4.0, -0.5, 0.75, 4.0, 9.0, 30.0, 90.0, 200.0])
    loc, scale = np.asarray([0.5, -4.0]), np.asarray([[0.25], [2.0]])
    x = (loc + scale * z[:, None, None]).astype(dtype)
    hosts = [np.broadcast_to(each, x.shape).astype(dtype) for each in (loc, scale)] + [x]

    weights = trial.random(*x.shape, dtype="float32", seed=9, low=1, high=2)

    def body(function: Callable[..., Any], *inputs: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            output = call(function, *inputs)
        return output, tape.gradient(output, inputs, tf.cast(weights, output.dtype))

    wide = [host.astype("float64") for host in hosts]
    seen = (wide[2] - wide[0]) / wide[1]
    by_value = weights * slope(seen) / wide[1]
    by_scale = weights * (seen**2 - 1) / wide[1] if method == "log_prob" else -by_value * seen
    rtol, atol = {"float32": (2e-3, 1e-35), "float64": (1e-6, 1e-300)}[dtype]
    output, found = trial.call_inside(body, *map(trial.tensor, hosts))
    trial.equal([trial.dtype_name(output), list(output.shape)], [dtype, list(x.shape)])
    for each, expected in zip(found, (-by_value, by_scale, by_value)):
        trial.close(each, expected, rtol, atol, dtype=dtype)


def beside_infinities(trial: Trial, dtype: str) -> None:
    """The gradient of a logarithm of a sum is zero where an element is minus infinity or far below the others, and
    rows do not change each other."""
    rows = [[-np.inf, 0.0, 1.5], [1e4, -1e4, 1e4], [-np.inf, -np.inf, -3e4], [-np.inf] * 3, [0.5, -np.inf, 0.5]]
    values = trial.tensor(np.asarray(rows, dtype))
    expected = special.softmax(np.asarray(rows[:3] + rows[4:]), axis=1)

    def body(function: Callable[..., Any]) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(values)
            output = function(values, axis=1)
        return output, tape.gradient(output, values)

    output, slopes = trial.call_inside(body)
    with np.errstate(all="ignore"):
        trial.close(output, special.logsumexp(np.asarray(rows), axis=1), dtype=dtype)
    trial.close(tf.gather(slopes, [0, 1, 2, 4]), expected, dtype=dtype)


def large_orders(trial: Trial, dtype: str) -> None:
    """The gradients of igammac where a is large and x close to it, for each argument: they are those of a normal
    distribution up to the order of 1 / sqrt(a)."""
    a = np.asarray([1e3, 5e3, 1e4, 1.2e4])[:, None].astype(dtype)
    z = np.asarray([-2.0, -0.75, 0.0, 1.0, 2.0])
    hosts = [np.broadcast_to(a, (4, 5)).astype(dtype), (a + z * np.sqrt(a)).astype(dtype)]

    def body(igammac: Callable[..., Any], *inputs: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            output = igammac(*inputs)
        return tape.gradient(output, inputs)

    to_a, to_x = trial.call_inside(body, *map(trial.tensor, hosts))
    orders, x = (host.astype("float64") for host in hosts)
    slope = stats.norm.pdf((x - orders) / np.sqrt(orders)) / np.sqrt(orders)
    # Skewness changes the density by up to 3 / sqrt(a); the logarithms have an error of about a times the precision.
    scaled, allowed = np.sqrt(orders), {"float32": 0.15, "float64": 0.05}[dtype]
    for found, expected in ((to_a, slope), (to_x, -slope)):
        error = abs(trial.numpy(found) - expected) * scaled
        # Not finite is not below it.
        trial.check((error < allowed).all(), f"the scaled gradients are off by {error.max()}, allowed {allowed}")

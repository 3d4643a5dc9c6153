"""Random draws: moments and distribution within bounds at fixed seeds, and the same numbers for the same seed.

One in two million correct seeds exceeds a bound of 5 standard errors; at a fixed seed the outcome does not change.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf
from scipy import special

from runners.core.testing.compare import EPSILON, check_dtype
from runners.core.testing.distribution import FEWEST, check_draws
from runners.core.testing.trial import Trial
from runners.tensorflow.cases.tensors import traced

Sizes = Sequence[int]
Numbers = Sequence[float]

ERRORS = 5.0
"""How many standard errors a moment can be off."""

KOLMOGOROV = 2.2
"""The largest distance between empirical and true distribution, times the root of the count; correct draws exceed it
once in 8,000 times."""


def _check_moments(trial: Trial, draws: Any, mean: float, variance: float, fourth: float, rounding: float) -> None:
    """Check that mean and variance are within their standard errors; ``fourth`` is the fourth central moment."""
    count = draws.size
    off = abs(float(draws.mean()) - mean)
    allowed = ERRORS * np.sqrt(variance / count) + rounding * abs(mean)
    trial.check(off <= allowed, f"the mean of {count} draws is off by {off:.3g}, allowed {allowed:.3g}")
    off = abs(float(draws.var()) - variance)
    allowed = ERRORS * np.sqrt((fourth - variance**2) / count) + 2 * rounding * (variance + mean**2)
    trial.check(off <= allowed, f"the variance of {count} draws is off by {off:.3g}, allowed {allowed:.3g}")


def _check_distribution(trial: Trial, below: Any) -> None:
    """Check that the probabilities ``below`` each draw, sorted, are evenly spaced."""
    below = np.sort(np.ravel(below))
    count = below.size
    steps = np.arange(count + 1) / count
    distance = float(max(np.max(steps[1:] - below), np.max(below - steps[:-1]))) * np.sqrt(count)
    trial.check(distance <= KOLMOGOROV, f"the distribution differs: distance {distance:.3g}, allowed {KOLMOGOROV}")


# tf.random.gamma


def _check_gamma(trial: Trial, draws: Any, alpha: float, beta: float, dtype: str) -> None:
    draws = np.asarray(draws, "float64")
    trial.check((draws > 0).all(), f"a draw for alpha={alpha} is not positive")
    # Draws are rounded to the dtype; below its smallest normal number they are raised to it.
    rounding = EPSILON[dtype]
    _check_moments(trial, draws, alpha / beta, alpha / beta**2, 3 * alpha * (alpha + 2) / beta**4, rounding)
    if dtype != "float16" and draws.size >= FEWEST:
        check_draws(draws, "gamma", {"alpha": alpha, "beta": beta}, EPSILON[dtype])
    elif dtype != "float16":
        _check_distribution(trial, special.gammainc(alpha, draws * beta))


def gamma(trial: Trial, count: int, alphas: Numbers, betas: Numbers | None = None, dtype: str = "float32") -> None:
    """In each column the draws have the mean, variance and distribution of the gamma distribution of its alpha."""
    parameters: dict[str, Any] = {"alpha": trial.tensor(np.asarray(alphas, dtype))}
    if betas is not None:
        parameters["beta"] = trial.tensor(np.asarray(betas, dtype))
    output = trial.call([count], **parameters, dtype=trial.dtype(dtype), seed=2)
    check_dtype(trial.dtype_name(output), dtype)
    trial.equal(list(output.shape), [count, len(alphas)])
    draws = trial.numpy(output)
    for column, alpha in enumerate(alphas):
        _check_gamma(trial, draws[:, column], alpha, 1.0 if betas is None else betas[column], dtype)


def gamma_positive(trial: Trial, dtype: str) -> None:
    """For a tiny alpha most draws are too small for the dtype, but none is zero; the next column's alpha is not
    tiny."""
    alphas = np.asarray([0.001, 50.0], dtype)
    output = trial.call([4000], trial.tensor(alphas), dtype=trial.dtype(dtype), seed=3)
    check_dtype(trial.dtype_name(output), dtype)
    trial.equal(list(output.shape), [4000, 2])
    draws = trial.numpy(output).astype("float64")
    trial.check((draws > 0).all(), f"{int((draws <= 0).sum())} draws are not positive")
    share = float((draws[:, 0] < 0.01).mean())
    wanted = float(special.gammainc(float(alphas[0]), 0.01))
    trial.check(abs(share - wanted) < 0.006, f"{share:.4f} of the draws lie below 0.01, expected {wanted:.4f}")
    _check_gamma(trial, draws[:, 1], 50.0, 1.0, dtype)


def gamma_broadcast(trial: Trial) -> None:
    """The draws' shape is followed by the broadcast shape of alpha and beta."""
    alphas, betas = np.asarray([[0.5], [30.0]], "float32"), np.asarray([0.1, 1.0, 20.0], "float32")
    output = trial.call([50, 100], trial.tensor(alphas), trial.tensor(betas), seed=4)
    check_dtype(trial.dtype_name(output), "float32")
    trial.equal(list(output.shape), [50, 100, 2, 3])
    draws = trial.numpy(output)
    for row, column in np.ndindex(2, 3):
        _check_gamma(trial, draws[..., row, column], float(alphas[row, 0]), float(betas[column]), "float32")


def gamma_single(trial: Trial) -> None:
    """An empty shape gives one draw per alpha, a count of zero none."""
    output = trial.call([], trial.tensor(np.asarray([1e6, 4e6, 9e6])), dtype=tf.float64, seed=5)
    # A draw is within seven standard deviations of its mean, here 7 sqrt(alpha).
    trial.close(output, [1e6, 4e6, 9e6], rtol=7e-3, atol=0.0, dtype="float64")
    none = trial.call([0], trial.tensor(np.asarray([1.0, 2.0], "float32")))
    trial.close(none, np.zeros([0, 2]), dtype="float32")


def gamma_seeded(trial: Trial) -> None:
    """The same seeds give the same draws, other seeds different ones."""
    alphas = trial.tensor(np.asarray([1.0, 8.0, 60.0], "float32"))
    found = []
    for general, own in ((7, 1), (7, 1), (7, 2), (8, 1)):
        tf.random.set_seed(general)
        output = trial.call([500], alphas, seed=own)
        check_dtype(trial.dtype_name(output), "float32")
        found.append(trial.numpy(output))
    trial.equal(found[1], found[0])
    for other in found[2:]:
        trial.check((other != found[0]).mean() > 0.99, "another seed gave the same draws")
    for column, alpha in enumerate((1.0, 8.0, 60.0)):
        _check_gamma(trial, found[0][:, column], alpha, 1.0, "float32")


def gamma_gradients(trial: Trial, dtype: str) -> None:
    """A draw is a function of its parameters: its gradient is minus the draw over beta for beta, and for alpha the
    derivative that keeps the probability below the draw constant."""
    host_alpha, host_beta = np.asarray([0.5, 2.0, 20.0], dtype), np.asarray([1.0, 4.0, 0.5], dtype)
    alpha, beta = trial.tensor(host_alpha), trial.tensor(host_beta)

    def body(draw: Callable[..., Any]) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([alpha, beta])
            draws = draw([], alpha, beta, dtype=trial.dtype(dtype), seed=6)
            total = tf.reduce_sum(draws)
        return draws, tape.gradient(total, [alpha, beta])

    output, (to_alpha, to_beta) = trial.call_inside(body)
    check_dtype(trial.dtype_name(output), dtype)
    trial.equal(list(output.shape), [3])
    draws, a, b = (np.asarray(part, "float64") for part in (trial.numpy(output), host_alpha, host_beta))
    trial.close(to_beta, -draws / b, dtype=dtype, **({"rtol": 1e-5, "atol": 1e-6} if dtype == "float32" else {}))
    step = 1e-5
    change = (special.gammainc(a + step, draws * b) - special.gammainc(a - step, draws * b)) / (2 * step)
    density = np.exp((a - 1) * np.log(draws * b) - draws * b - special.gammaln(a)) * b
    # The series for this gradient is accurate to about four digits in float32.
    tolerance = {"float32": 1e-3, "float64": 1e-9}[dtype]
    trial.close(to_alpha, -change / density, rtol=tolerance, atol=tolerance, dtype=dtype)


def gamma_unknown_shape(trial: Trial) -> None:
    """One tf.function, traced for any number of alphas, draws for each; each call draws new numbers."""
    cases = [[0.5, 40.0], [3.0, 300.0, 0.7], [3.0, 300.0, 0.7]]
    tensors = [trial.tensor(np.asarray(alphas, "float32")) for alphas in cases]

    def body(draw: Callable[..., Any]) -> Any:
        make = traced(lambda alphas: draw([3000], alphas, seed=9), [tf.TensorSpec([None], tf.float32)])
        return [make(tensor) for tensor in tensors]

    outputs = trial.call_inside(body)
    for output, alphas in zip(outputs, cases):
        check_dtype(trial.dtype_name(output), "float32")
        trial.equal(list(output.shape), [3000, len(alphas)])
        for column, alpha in enumerate(alphas):
            _check_gamma(trial, trial.numpy(output)[:, column], alpha, 1.0, "float32")
    _, second, third = trial.numpy(outputs)
    trial.check((second != third).mean() > 0.99, "a second call gave the same draws")


# tf.experimental.numpy.random.standard_normal


def _check_normal(trial: Trial, draws: Any) -> None:
    draws = np.asarray(draws)
    _check_moments(trial, draws, 0.0, 1.0, 3.0, 0.0)
    if draws.size >= FEWEST:
        check_draws(draws, "normal", {})
    else:
        _check_distribution(trial, special.ndtr(draws))


def normal(trial: Trial, size: Any, as_tuple: bool = False) -> None:
    """The draws have the moments and the distribution of the standard normal, in float64, and equal those of
    tf.random.normal for the same seed."""
    shape = [size] if isinstance(size, int) else size
    tf.random.set_seed(10)
    output = trial.call(tuple(size) if as_tuple else size)
    tf.random.set_seed(10)
    same = tf.random.normal(shape, dtype=tf.float64)
    trial.exact(output, trial.numpy(same), "float64")
    if np.prod(shape) >= 100:
        _check_normal(trial, trial.numpy(output))


def normal_single(trial: Trial) -> None:
    """Without a size it gives one number, a different one each time; 60 of them are normal."""
    tf.random.set_seed(11)
    first = trial.call()
    outputs = [first, *(trial.make() for _ in range(59))]
    tf.random.set_seed(11)
    same = [tf.random.normal([], dtype=tf.float64) for _ in range(60)]
    trial.exact(first, trial.numpy(same[0]), "float64")
    found = np.asarray(trial.numpy(outputs))
    trial.equal(found, np.asarray(trial.numpy(same)))
    _check_normal(trial, found)


def normal_seeded(trial: Trial) -> None:
    """The seed of tf.experimental.numpy repeats the draws; another seed gives different ones."""
    found = []
    for seed in (12, 12, 13):
        tf.experimental.numpy.random.seed(seed)
        output = trial.call([40, 50])
        check_dtype(trial.dtype_name(output), "float64")
        trial.equal(list(output.shape), [40, 50])
        found.append(trial.numpy(output))
    trial.equal(found[1], found[0])
    trial.check((found[2] != found[0]).all(), "another seed gave the same draws")
    _check_normal(trial, found[0])
    tf.random.set_seed(12)
    trial.equal(found[0], tf.random.normal([40, 50], dtype=tf.float64))


def normal_independent(trial: Trial) -> None:
    """Draws within one tensor, and of two successive ones, are not correlated."""
    tf.random.set_seed(14)
    first, second = trial.call([20000]), trial.call([20000])
    check_dtype(trial.dtype_name(second), "float64")
    tf.random.set_seed(14)
    same = [tf.random.normal([20000], dtype=tf.float64) for _ in range(2)]
    one, two = trial.numpy((first, second))
    trial.equal([one, two], same)
    for left, right in ((one, two), (one[1:], one[:-1])):
        together = abs(float(np.mean(left * right)))
        allowed = ERRORS / np.sqrt(left.size)
        trial.check(together <= allowed, f"the draws are correlated: {together:.3g}, allowed {allowed:.3g}")


def normal_in_function(trial: Trial) -> None:
    """In a tf.function each call draws new numbers; the same seed in the same place repeats them."""

    def body(draw: Callable[..., Any]) -> Any:
        tf.random.set_seed(15)
        make = traced(lambda: draw([30, 20]), [])
        return [make(), make()]

    outputs = trial.call_inside(body)
    tf.random.set_seed(15)
    again = traced(lambda: tf.random.normal([30, 20], dtype=tf.float64), [])
    for output in outputs:
        trial.exact(output, trial.numpy(again()), "float64")
        _check_normal(trial, trial.numpy(output))
    first, second = trial.numpy(outputs)
    trial.check((first != second).all(), "a second call gave the same draws")

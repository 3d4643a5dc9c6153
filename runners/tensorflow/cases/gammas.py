"""tf.random.gamma: gradients of broadcast parameters, independence of the draws, and draws without a seed."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf
from scipy import special

from runners.core.testing.compare import check_dtype
from runners.core.testing.trial import Trial
from runners.tensorflow.cases.draws import ERRORS
from runners.tensorflow.cases.tensors import weighted_gradients


def gradients_broadcast(trial: Trial, dtype: str) -> None:
    """A parameter that is broadcast gets the sum of the weighted gradients of its draws."""
    host_alpha, host_beta = np.asarray([[0.75], [6.0], [90.0]], dtype), np.asarray([0.25, 3.0], dtype)
    host_weights = trial.random(4, 3, 2, dtype=dtype, seed=1)
    weights = trial.tensor(host_weights)

    def body(draw: Callable[..., Any], *inputs: Any) -> Any:
        return weighted_gradients(
            lambda alpha, beta: draw([4], alpha, beta, dtype=trial.dtype(dtype), seed=2), inputs, weights
        )

    output, (to_alpha, to_beta) = trial.call_inside(body, trial.tensor(host_alpha), trial.tensor(host_beta))
    check_dtype(trial.dtype_name(output), dtype)
    trial.equal(list(output.shape), [4, 3, 2])
    draws, a, b, w = (np.asarray(p, "float64") for p in (trial.numpy(output), host_alpha, host_beta, host_weights))
    step = 1e-5
    change = (special.gammainc(a + step, draws * b) - special.gammainc(a - step, draws * b)) / (2 * step)
    density = np.exp((a - 1) * np.log(draws * b) - draws * b - special.gammaln(a)) * b
    # The series for this gradient is accurate to about four digits in float32.
    rtol = {"float32": 2e-3, "float64": 1e-7}[dtype]
    trial.close(to_beta, (-w * draws / b).sum(axis=(0, 1)), rtol=rtol, atol=100 * rtol, dtype=dtype)
    trial.close(to_alpha, (-w * change / density).sum(axis=(0, 2))[:, None], rtol=rtol, atol=10 * rtol, dtype=dtype)


def independent(trial: Trial) -> None:
    """Draws of one call, also for two parameters, and of two calls without a seed are different and not correlated; the
    shape can be a tensor, and the parameters lists."""
    tf.random.set_seed(21)
    shape = trial.tensor(np.asarray([40, 500], "int32"))
    first, second = (trial.numpy(trial.call(shape, [4.0, 4.0], [2.0, 4.0], dtype=tf.float64)) for _ in range(2))
    trial.equal([list(first.shape), first.dtype.name], [[40, 500, 2], "float64"])
    # Means and standard deviations are 2 and 1, 1 and 0.5.
    one, two = first * [1.0, 2.0] - 2.0, second * [1.0, 2.0] - 2.0
    trial.check((abs(one.std(axis=(0, 1)) - 1) < 0.05).all(), f"the standard deviations are {one.std(axis=(0, 1))}")
    trial.check((abs(one.mean(axis=(0, 1))) < 0.05).all(), f"the means are off by {one.mean(axis=(0, 1))}")
    pairs = {
        "of two calls": (one, two),
        "of two parameters": (one[..., 0], one[..., 1]),
        "of neighbors": (one[:, 1:], one[:, :-1]),
        "of rows": (one[1:], one[:-1]),
    }
    for which, (left, right) in pairs.items():
        together, allowed = abs(float(np.mean(left * right))), ERRORS / np.sqrt(left.size)
        trial.check(together <= allowed, f"the draws {which} are correlated: {together:.3g}, allowed {allowed:.3g}")
        trial.check((left != right).mean() > 0.99, f"the draws {which} are equal")


def numbers(trial: Trial, dtype: str) -> None:
    """An empty shape and scalar parameters give one number, another one in each call, from the distribution of the
    parameters."""
    alpha, beta = trial.tensor(np.asarray(3.0, dtype)), trial.tensor(np.asarray(2.0, dtype))

    def body(gamma: Callable[..., Any]) -> Any:
        tf.random.set_seed(22)
        return [gamma([], alpha, beta, dtype=trial.dtype(dtype)) for _ in range(20)]

    outputs = trial.call_inside(body)
    for output in outputs:
        trial.equal([list(output.shape), trial.dtype_name(output)], [[], dtype])
    draws = np.asarray(trial.numpy(outputs), "float64")
    trial.equal(len(set(draws.tolist())), 20)
    # Mean 1.5 and deviation 0.87: six standard errors of the mean of 20.
    trial.check(abs(draws.mean() - 1.5) < 1.16, f"the mean of the draws is {draws.mean():.3g}, expected about 1.5")
    trial.check((draws > 0).all() and 0.2 < draws.std() < 2, f"the deviation of the draws is {draws.std():.3g}")


def axes_in_order(trial: Trial, dtype: str) -> None:
    """The axes of the shape come first, then those of alpha and beta, also where they have the same lengths: each place
    has draws of the size of its own parameters, which are far apart. Alpha and beta are lists or arrays of NumPy, and
    the output has the dtype that is asked for. Each draw is off by a factor of 3 less often than once in 10**80."""
    few = [300.0, 2000.0, 15000.0]
    grid = [[300.0, 4000.0], [20000.0, 1000.0]]
    rates = [[1.0], [0.125]]
    for given in (lambda values: values, np.asarray):
        kind = trial.dtype(dtype)
        for shape, alpha, beta in (([3], few, None), ([2], grid, rates), ([2, 2], grid, None), ([], few, 8.0)):
            rate = None if beta is None else beta if isinstance(beta, float) else given(beta)
            output = trial.call(shape, given(alpha), rate, kind, 3)
            means = np.asarray(alpha) / np.asarray(1.0 if beta is None else beta)
            trial.equal((trial.dtype_name(output), output.shape.as_list()), (dtype, [*shape, *means.shape]))
            relative = trial.numpy(output).astype("float64") / means
            trial.check((relative > 1 / 3).all() and (relative < 3).all(), f"draws by their means are {relative}")


def equal_shapes(trial: Trial, dtype: str, seed: int | None) -> None:
    """Distributions of one call have draws of their own though their shapes are all equal and no rate is given; in
    eager code, a tf.function and a TensorFlow 1 graph. The mean and the variance are the shape."""
    kind, alphas = trial.dtype(dtype), np.full([7, 3], 4.0, dtype)

    def body(gamma: Callable[..., Any]) -> Any:
        tf.random.set_seed(29)
        given = [alphas, trial.tensor(alphas), alphas.tolist()]
        found = [gamma([40, 2], alpha, dtype=kind, seed=seed) for alpha in given]
        found += tf.function(lambda: [gamma([40, 2], alpha, dtype=kind, seed=seed) for alpha in (alphas, given[1])])()
        with tf.Graph().as_default() as graph, tf.device(trial.device):
            tf.random.set_seed(29)
            draw = gamma([40, 2], alphas, dtype=kind, seed=seed)
        with tf.compat.v1.Session(graph=graph) as session:
            return [*trial.numpy(found), session.run(draw)]

    trial.repeatable = False
    for draws in trial.call_inside(body):
        trial.equal((list(draws.shape), draws.dtype.name), ([40, 2, 7, 3], dtype))
        wide = draws.astype("float64")
        trial.check(np.unique(wide).size > 0.99 * wide.size, "draws are repeated")
        allowed = ERRORS * 2 / np.sqrt(wide.size)
        trial.check(abs(wide.mean() - 4) < allowed, f"the mean is {wide.mean()}, expected 4 up to {allowed:.3g}")

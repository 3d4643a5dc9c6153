"""tf.compat.v1.distributions.Normal, compared with closed forms in NumPy and SciPy in float64."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf
from scipy import special

from runners.core.testing.compare import EPSILON
from runners.core.testing.distribution import check_draws
from runners.core.testing.trial import Trial

_distributions = tf.compat.v1.distributions

# The rational approximations of ndtr and log_ndtr are accurate to about ten units in the last place; half and single
# precision lose more in the standardization before it. The values span many powers of ten.
_TAILS = {"float16": (2e-2, 1e-3), "float32": (2e-5, 1e-6), "float64": (1e-10, 1e-12)}


def log_normal_density(x: Any, loc: Any, scale: Any) -> Any:
    return -0.5 * ((x - loc) / scale) ** 2 - np.log(scale) - 0.5 * np.log(2 * np.pi)


NORMAL_METHODS: Mapping[str, Callable[[Any, Any, Any], Any]] = {
    "log_prob": log_normal_density,
    "prob": lambda x, loc, scale: np.exp(log_normal_density(x, loc, scale)),
    "cdf": lambda x, loc, scale: special.ndtr((x - loc) / scale),
    "log_cdf": lambda x, loc, scale: special.log_ndtr((x - loc) / scale),
    "survival_function": lambda x, loc, scale: special.ndtr((loc - x) / scale),
    "log_survival_function": lambda x, loc, scale: special.log_ndtr((loc - x) / scale),
}
_STATISTICS: Mapping[str, Callable[[Any, Any], Any]] = {
    "mean": lambda loc, scale: loc,
    "mode": lambda loc, scale: loc,
    "stddev": lambda loc, scale: scale,
    "variance": lambda loc, scale: scale**2,
    "entropy": lambda loc, scale: 0.5 * np.log(2 * np.pi * np.e * scale**2),
}


def to_float64(array: Any) -> Any:
    return np.asarray(array).astype("float64")


def random_parameters(trial: Trial, shape: Sequence[int], dtype: str) -> tuple[Any, Any]:
    return (
        trial.random(*shape, dtype=dtype, seed=1, low=-2, high=2),
        trial.random(*shape, dtype=dtype, seed=2, low=0.5, high=2),
    )


def check_close(trial: Trial, found: Any, expected: Any, dtype: str) -> None:
    rtol, atol = _TAILS[dtype]
    trial.close(found, expected, rtol, atol, dtype=dtype)


def normal_parameters(trial: Trial, shape: Sequence[int], dtype: str) -> None:
    """A normal distribution keeps location and scale, has their dtype, and has their shape as batch shape."""
    loc, scale = random_parameters(trial, shape, dtype)
    made = trial.call(trial.tensor(loc), trial.tensor(scale))
    trial.check(isinstance(made, _distributions.Distribution), f"expected a distribution, got {made!r}")
    trial.close(made.loc, to_float64(loc), 0.0, 0.0, dtype=dtype)
    trial.close(made.scale, to_float64(scale), 0.0, 0.0, dtype=dtype)
    trial.equal(made.dtype.name, dtype)
    trial.equal(list(made.batch_shape), list(shape))
    trial.equal(list(made.event_shape), [])
    trial.close(made.batch_shape_tensor(), np.asarray(shape, "int32"), dtype="int32")
    trial.equal((made.allow_nan_stats, made.validate_args), (True, False))


def normal_density(trial: Trial, method: str, dtype: str) -> None:
    """Each density or probability of a normal distribution matches its closed form, also in both tails."""
    loc, scale = random_parameters(trial, [7], dtype)
    x = trial.random(40, 7, dtype=dtype, seed=3, low=-6, high=6)
    made = trial.make(trial.tensor(loc), trial.tensor(scale))
    found = trial.call_method(made, method, trial.tensor(x))
    check_close(trial, found, NORMAL_METHODS[method](to_float64(x), to_float64(loc), to_float64(scale)), dtype)


def normal_statistic(trial: Trial, method: str, dtype: str) -> None:
    """Each statistic of a normal distribution matches its closed form, in the broadcast shape of both parameters."""
    loc, scale = random_parameters(trial, [5], dtype)
    loc = trial.random(4, 1, dtype=dtype, seed=4)
    made = trial.make(trial.tensor(loc), trial.tensor(scale))
    trial.equal(list(made.batch_shape), [4, 5])
    found = trial.call_method(made, method)
    wide = np.broadcast_arrays(to_float64(loc), to_float64(scale))
    check_close(trial, found, _STATISTICS[method](*wide), dtype)


def normal_quantile(trial: Trial, dtype: str) -> None:
    """The quantile matches its closed form and inverts the distribution function; 0 and 1 give minus and plus
    infinity."""
    loc, scale = random_parameters(trial, [], dtype)
    p = np.asarray([0.0, 1e-6, 0.02, 0.3, 0.5, 0.9, 0.999, 1.0], dtype)
    made = trial.make(trial.tensor(loc), trial.tensor(scale))
    found = trial.call_method(made, "quantile", trial.tensor(p))
    check_close(trial, found, special.ndtri(to_float64(p)) * to_float64(scale) + to_float64(loc), dtype)
    check_close(trial, made.cdf(found), to_float64(p), dtype)


def normal_sample(trial: Trial, size: int, dtype: str) -> None:
    """Samples have shape sample + batch, and first moments within five standard errors; a seed repeats them."""
    loc, scale = np.asarray([-3.0, 10.0], dtype), np.asarray([0.5, 4.0], dtype)
    made = trial.make(trial.tensor(loc), trial.tensor(scale))
    found = trial.call_method(made, "sample", [size, 2], seed=7)
    trial.equal(found.dtype.name, dtype)
    trial.equal(list(found.shape), [size, 2, 2])
    flat = ((to_float64(trial.numpy(found)) - to_float64(loc)) / to_float64(scale)).reshape(-1, 2)
    count = len(flat)
    bound = 5 / np.sqrt(count)
    trial.check((abs(flat.mean(0)) < bound).all(), f"the means are off by {flat.mean(0)}, allowed {bound:.3g}")
    trial.check((abs(flat.var(0) - 1) < 1.5 * bound).all(), f"the variances are {flat.var(0)} of the stated ones")
    trial.check((abs((flat**3).mean(0)) < 4 * bound).all(), "the samples are skewed")
    for column in flat.T:
        check_draws(column, "normal", {}, 4 * EPSILON[dtype])
    trial.check(abs(np.corrcoef(flat.T)[0, 1]) < bound, "the members of the batch are correlated")


def normal_sample_gradient(trial: Trial) -> None:
    """A sample is differentiable: the gradient is 1 for the location, and the standardized sample for the scale."""
    loc, scale = random_parameters(trial, [50], "float64")
    loc_tensor, scale_tensor = trial.tensor(loc), trial.tensor(scale)

    def body(normal: Callable[..., Any]) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([loc_tensor, scale_tensor])
            sample = normal(loc_tensor, scale_tensor).sample(seed=3)
        return sample, tape.gradient(sample, [loc_tensor, scale_tensor])

    sample, (to_loc, to_scale) = trial.call_inside(body)
    drawn = (trial.numpy(sample) - loc) / scale
    trial.check(drawn.std() > 0.5, "the samples do not vary")
    trial.close(to_loc, np.ones(50), dtype="float64")
    trial.close(to_scale, drawn, dtype="float64")


def normal_density_gradient(trial: Trial, dtype: str) -> None:
    """The gradients of the log-density are z/s for the location, (z^2 - 1)/s for the scale, -z/s for the value."""
    loc, scale = random_parameters(trial, [6], dtype)
    x = trial.random(6, dtype=dtype, seed=5)
    given = [trial.tensor(array) for array in (loc, scale, x)]

    def body(normal: Callable[..., Any]) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(given)
            total = tf.reduce_sum(normal(given[0], given[1]).log_prob(given[2]))
        return tape.gradient(total, given)

    z = (to_float64(x) - to_float64(loc)) / to_float64(scale)
    expected = (z / to_float64(scale), (z**2 - 1) / to_float64(scale), -z / to_float64(scale))
    for found, wanted in zip(trial.call_inside(body), expected):
        check_close(trial, found, wanted, dtype)


def normal_divergence(trial: Trial, dtype: str) -> None:
    """Cross entropy and Kullback-Leibler divergence of two normal distributions match their closed forms."""
    loc, scale = random_parameters(trial, [4], dtype)
    other_loc, other_scale = to_float64(loc)[::-1] + 0.5, to_float64(scale) * 1.5
    one = trial.make(trial.tensor(loc), trial.tensor(scale))
    two = trial.make(trial.tensor(other_loc, dtype), trial.tensor(other_scale, dtype))
    parts = [(to_float64(loc), to_float64(scale)), (other_loc, other_scale)]
    for a, b, (p_loc, p_scale), (q_loc, q_scale) in ((one, two, *parts), (two, one, *parts[::-1])):
        ratio = (p_scale / q_scale) ** 2
        expected = ((p_loc - q_loc) / q_scale) ** 2 / 2 + (ratio - 1 - np.log(ratio)) / 2
        check_close(trial, trial.call_method(a, "kl_divergence", b), expected, dtype)
        check_close(trial, a.cross_entropy(b), expected + _STATISTICS["entropy"](p_loc, p_scale), dtype)


def normal_in_function(trial: Trial) -> None:
    """In a tf.function of unknown shape the distribution accepts batches of any size, also empty ones."""
    cases = [[trial.random(rows, 3, seed=6 + part, low=0.5, high=3) for part in range(3)] for rows in (4, 1, 0)]
    tensors = [[trial.tensor(array) for array in case] for case in cases]

    def body(normal: Callable[..., Any]) -> Any:
        row = tf.TensorSpec([None, 3], tf.float32)

        @tf.function(input_signature=[row, row, row])
        def log_prob(loc: Any, scale: Any, x: Any) -> Any:
            made = normal(loc, scale)
            return made.log_prob(x), made.batch_shape_tensor()

        return [log_prob(*case) for case in tensors]

    for (found, shape), (loc, scale, x) in zip(trial.call_inside(body), cases):
        check_close(trial, found, log_normal_density(to_float64(x), to_float64(loc), to_float64(scale)), "float32")
        trial.close(shape, np.asarray(loc.shape, "int32"), dtype="int32")


def param_shapes(trial: Trial, shape: Sequence[int], form: str) -> None:
    """For samples of a shape, location and scale have that shape: two int32 vectors, in every notation of the shape."""
    given: Any = shape
    if form == "tensor":
        given = trial.tensor(np.asarray(shape, "int32"))
    elif form == "array":
        given = np.asarray(shape, "int64")
    elif form == "tuple":
        given = tuple(shape)
    elif form == "TensorShape":
        given = tf.TensorShape(shape)
    found = trial.call(given)
    _check_shapes(trial, found, shape)


def _check_shapes(trial: Trial, found: Any, shape: Sequence[int]) -> None:
    trial.equal(sorted(found), ["loc", "scale"])
    for part in found.values():
        trial.close(part, np.asarray(shape, "int32").reshape([len(shape)]), dtype="int32")


def param_shapes_in_function(trial: Trial) -> None:
    """In a tf.function a shape that is known only at run time gives the parameters' shapes at run time."""
    arrays = [trial.random(*shape, seed=1) for shape in ((2, 3), (7, 1), (0, 4))]
    tensors = [trial.tensor(array) for array in arrays]

    def body(function: Callable[..., Any]) -> Any:
        traced = tf.function(
            lambda value: function(tf.shape(value)), input_signature=[tf.TensorSpec([None, None], tf.float32)]
        )
        return [traced(tensor) for tensor in tensors]

    for found, array in zip(trial.call_inside(body), arrays):
        _check_shapes(trial, found, array.shape)


def param_shapes_fit(trial: Trial, shape: Sequence[int]) -> None:
    """Parameters of these shapes give a distribution whose single sample has the requested shape."""
    found = trial.call(shape)
    _check_shapes(trial, found, shape)
    made = _distributions.Normal(tf.zeros(found["loc"]), tf.ones(found["scale"]))
    trial.equal(list(made.sample(seed=1).shape), list(shape))
    trial.equal(list(made.batch_shape), list(shape))

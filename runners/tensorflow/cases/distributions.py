"""tf.compat.v1.distributions: Normal and Laplace against their closed forms, in float64 by NumPy and SciPy."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf
from scipy import special

from runners.core.testing.trial import Trial

_distributions = tf.compat.v1.distributions

# The rational approximations behind ndtr and log_ndtr are good for about ten units in the last place, and half and
# single precision lose more of them in the standardisation before; the values themselves span many powers of ten.
_TAILS = {"float16": (2e-2, 1e-3), "float32": (2e-5, 1e-6), "float64": (1e-10, 1e-12)}


def _log_density(x: Any, loc: Any, scale: Any) -> Any:
    return -0.5 * ((x - loc) / scale) ** 2 - np.log(scale) - 0.5 * np.log(2 * np.pi)


_METHODS: Mapping[str, Callable[[Any, Any, Any], Any]] = {
    "log_prob": _log_density,
    "prob": lambda x, loc, scale: np.exp(_log_density(x, loc, scale)),
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


def _wide(array: Any) -> Any:
    return np.asarray(array).astype("float64")


def _parameters(trial: Trial, shape: Sequence[int], dtype: str) -> tuple[Any, Any]:
    return (
        trial.random(*shape, dtype=dtype, seed=1, low=-2, high=2),
        trial.random(*shape, dtype=dtype, seed=2, low=0.5, high=2),
    )


def _close(trial: Trial, found: Any, expected: Any, dtype: str) -> None:
    rtol, atol = _TAILS[dtype]
    trial.close(found, expected, rtol, atol, dtype=dtype)


def normal_parameters(trial: Trial, shape: Sequence[int], dtype: str) -> None:
    """A normal distribution keeps location and scale as they are, and has their dtype and their shape as its batch."""
    loc, scale = _parameters(trial, shape, dtype)
    made = trial.call(trial.tensor(loc), trial.tensor(scale))
    trial.check(isinstance(made, _distributions.Distribution), f"no distribution: {made!r}")
    trial.close(made.loc, _wide(loc), 0.0, 0.0, dtype=dtype)
    trial.close(made.scale, _wide(scale), 0.0, 0.0, dtype=dtype)
    trial.equal(made.dtype.name, dtype)
    trial.equal(list(made.batch_shape), list(shape))
    trial.equal(list(made.event_shape), [])
    trial.close(made.batch_shape_tensor(), np.asarray(shape, "int32"), dtype="int32")
    trial.equal((made.allow_nan_stats, made.validate_args), (True, False))


def normal_density(trial: Trial, method: str, dtype: str) -> None:
    """A density or probability of a normal distribution is its closed form, in both tails as well."""
    loc, scale = _parameters(trial, [7], dtype)
    x = trial.random(40, 7, dtype=dtype, seed=3, low=-6, high=6)
    made = trial.make(trial.tensor(loc), trial.tensor(scale))
    found = trial.call_method(made, method, trial.tensor(x))
    _close(trial, found, _METHODS[method](_wide(x), _wide(loc), _wide(scale)), dtype)


def normal_statistic(trial: Trial, method: str, dtype: str) -> None:
    """A statistic of a normal distribution is its closed form in the shape of both parameters together."""
    loc, scale = _parameters(trial, [5], dtype)
    loc = trial.random(4, 1, dtype=dtype, seed=4)
    made = trial.make(trial.tensor(loc), trial.tensor(scale))
    trial.equal(list(made.batch_shape), [4, 5])
    found = trial.call_method(made, method)
    wide = np.broadcast_arrays(_wide(loc), _wide(scale))
    _close(trial, found, _STATISTICS[method](*wide), dtype)


def normal_quantile(trial: Trial, dtype: str) -> None:
    """The quantile is the closed one and undoes the distribution function; 0 and 1 give minus and plus infinity."""
    loc, scale = _parameters(trial, [], dtype)
    p = np.asarray([0.0, 1e-6, 0.02, 0.3, 0.5, 0.9, 0.999, 1.0], dtype)
    made = trial.make(trial.tensor(loc), trial.tensor(scale))
    found = trial.call_method(made, "quantile", trial.tensor(p))
    _close(trial, found, special.ndtri(_wide(p)) * _wide(scale) + _wide(loc), dtype)
    _close(trial, made.cdf(found), _wide(p), dtype)


def normal_sample(trial: Trial, size: int, dtype: str) -> None:
    """Samples have shape sample + batch and the first moments within five standard errors; a seed repeats them."""
    loc, scale = np.asarray([-3.0, 10.0], dtype), np.asarray([0.5, 4.0], dtype)
    made = trial.make(trial.tensor(loc), trial.tensor(scale))
    found = trial.call_method(made, "sample", [size, 2], seed=7)
    trial.equal(found.dtype.name, dtype)
    trial.equal(list(found.shape), [size, 2, 2])
    flat = ((_wide(trial.numpy(found)) - _wide(loc)) / _wide(scale)).reshape(-1, 2)
    count = len(flat)
    bound = 5 / np.sqrt(count)
    trial.check((abs(flat.mean(0)) < bound).all(), f"the means are off by {flat.mean(0)}, allowed {bound:.3g}")
    trial.check((abs(flat.var(0) - 1) < 1.5 * bound).all(), f"the variances are {flat.var(0)} of the stated ones")
    trial.check((abs((flat**3).mean(0)) < 4 * bound).all(), "the samples are skewed")
    # The largest distance of the empirical distribution from the true one: Kolmogorov's bound at about 1e-5.
    for column in np.sort(flat, axis=0).T:
        distance = abs(special.ndtr(column) - (np.arange(count) + 0.5) / count).max()
        trial.check(distance < 2.5 / np.sqrt(count), f"the distribution is off by {distance:.3g}")
    trial.check(abs(np.corrcoef(flat.T)[0, 1]) < bound, "the members of the batch are correlated")


def normal_sample_gradient(trial: Trial) -> None:
    """A sample is differentiable: to the location its slope is 1, to the scale what was drawn standardised."""
    loc, scale = _parameters(trial, [50], "float64")
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
    """The log-density's slopes are z/s to the location, (z^2 - 1)/s to the scale, -z/s to the value."""
    loc, scale = _parameters(trial, [6], dtype)
    x = trial.random(6, dtype=dtype, seed=5)
    given = [trial.tensor(array) for array in (loc, scale, x)]

    def body(normal: Callable[..., Any]) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(given)
            total = tf.reduce_sum(normal(given[0], given[1]).log_prob(given[2]))
        return tape.gradient(total, given)

    z = (_wide(x) - _wide(loc)) / _wide(scale)
    expected = (z / _wide(scale), (z**2 - 1) / _wide(scale), -z / _wide(scale))
    for found, wanted in zip(trial.call_inside(body), expected):
        _close(trial, found, wanted, dtype)


def normal_divergence(trial: Trial, dtype: str) -> None:
    """Cross entropy and Kullback-Leibler divergence of two normal distributions are the closed ones, not symmetric."""
    loc, scale = _parameters(trial, [4], dtype)
    other_loc, other_scale = _wide(loc)[::-1] + 0.5, _wide(scale) * 1.5
    one = trial.make(trial.tensor(loc), trial.tensor(scale))
    two = trial.make(trial.tensor(other_loc, dtype), trial.tensor(other_scale, dtype))
    parts = [(_wide(loc), _wide(scale)), (other_loc, other_scale)]
    for a, b, (p_loc, p_scale), (q_loc, q_scale) in ((one, two, *parts), (two, one, *parts[::-1])):
        ratio = (p_scale / q_scale) ** 2
        expected = ((p_loc - q_loc) / q_scale) ** 2 / 2 + (ratio - 1 - np.log(ratio)) / 2
        _close(trial, trial.call_method(a, "kl_divergence", b), expected, dtype)
        _close(trial, a.cross_entropy(b), expected + _STATISTICS["entropy"](p_loc, p_scale), dtype)


def normal_in_function(trial: Trial) -> None:
    """In a tf.function of unknown shape the distribution takes batches of any size, also of none."""
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
        _close(trial, found, _log_density(_wide(x), _wide(loc), _wide(scale)), "float32")
        trial.close(shape, np.asarray(loc.shape, "int32"), dtype="int32")


def _survival_values(trial: Trial, dtype: str, shape: Sequence[int], low: float, high: float) -> tuple[Any, Any, Any]:
    loc, scale = _parameters(trial, shape[-1:], dtype)
    return loc, scale, trial.random(*shape, dtype=dtype, seed=8, low=low, high=high)


def _made(trial: Trial, kind: str, loc: Any, scale: Any, dtype: str = "float32") -> Any:
    tensors = [part if isinstance(part, tf.Tensor) else trial.tensor(part, dtype) for part in (loc, scale)]
    return getattr(_distributions, kind)(*tensors)


def _log_laplace_survival(x: Any, loc: Any, scale: Any) -> Any:
    z = (x - loc) / scale
    with np.errstate(over="ignore"):
        return np.where(z > 0, np.log(0.5) - z, np.log1p(-0.5 * np.exp(np.minimum(z, 0))))


_SURVIVAL: Mapping[str, Callable[[Any, Any, Any], Any]] = {
    "Normal": _METHODS["survival_function"],
    "Laplace": _log_laplace_survival,
}


def survival(trial: Trial, kind: str, shape: Sequence[int], dtype: str, low: float = -6.0, high: float = 6.0) -> None:
    """The probability to exceed a value, or its logarithm, is the closed form, elementwise over batches and values."""
    loc, scale, x = _survival_values(trial, dtype, shape, low, high)
    found = trial.call(_made(trial, kind, loc, scale, dtype), trial.tensor(x))
    _close(trial, found, _SURVIVAL[kind](_wide(x), _wide(loc), _wide(scale)), dtype)


def survival_broadcast(trial: Trial, kind: str) -> None:
    """Location, scale and value of shapes [3, 1], [4] and [2, 1, 1] give a result of shape [2, 3, 4]."""
    loc = trial.random(3, 1, seed=1)
    scale = trial.random(4, seed=2, low=0.5, high=2)
    x = trial.random(2, 1, 1, seed=3)
    found = trial.call(_made(trial, kind, loc, scale), trial.tensor(x))
    _close(trial, found, _SURVIVAL[kind](_wide(x), _wide(loc), _wide(scale)), "float32")


def survival_tails(trial: Trial, kind: str, dtype: str) -> None:
    """Far out the result keeps its relative precision, and at the infinities and NaN it is the limit."""
    # Where 1 - cdf would be nothing but rounding.
    x = np.asarray([-np.inf, -30.0, -9.0, -6.0, 0.0, 5.0, 6.0, 9.0, 12.0, np.inf, np.nan], dtype)
    found = trial.call(_made(trial, kind, 0.0, 1.0, dtype), trial.tensor(x))
    expected = _SURVIVAL[kind](_wide(x), 0.0, 1.0)
    # log1p of a tiny number is that number: zero within the absolute tolerance only where it underflows.
    tolerance = 2e-4 if dtype == "float32" else 1e-10
    trial.close(found, expected, tolerance, 1e-30, dtype=dtype)


def survival_gradient(trial: Trial, kind: str, dtype: str) -> None:
    """The slope to the value is minus the density, for a logarithm divided by the probability; to the location plus."""
    loc, scale, x = _survival_values(trial, dtype, [5, 4], -3.0, 3.0)
    loc_tensor, scale_tensor, value = trial.tensor(loc), trial.tensor(scale), trial.tensor(x)

    # Each element counts differently, so that one in another's place is noticed.
    upstream = trial.random(5, 4, dtype=dtype, seed=10, low=1, high=2)
    weights = trial.tensor(upstream)

    def body(function: Callable[..., Any]) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([value, loc_tensor])
            found = function(_made(trial, kind, loc_tensor, scale_tensor), value)
        return found, tape.gradient(found, [value, loc_tensor], weights)

    found, (to_value, to_loc) = trial.call_inside(body)
    wide = _wide(x), _wide(loc), _wide(scale)
    _close(trial, found, _SURVIVAL[kind](*wide), dtype)
    if kind == "Normal":
        slope = -np.exp(_log_density(*wide))
    else:
        density = 0.5 / wide[2] * np.exp(-abs(wide[0] - wide[1]) / wide[2])
        slope = -density / np.exp(_log_laplace_survival(*wide))
    slope = slope * _wide(upstream)
    _close(trial, to_value, slope, dtype)
    _close(trial, to_loc, -slope.sum(0), dtype)


def survival_in_function(trial: Trial, kind: str) -> None:
    """In a tf.function the values' shape may be unknown: one trace serves several, an empty one too."""
    made = _made(trial, kind, 0.25, 1.5)
    arrays = [trial.random(*shape, seed=9) for shape in ((3, 4), (1, 50), (0, 2))]
    tensors = [trial.tensor(array) for array in arrays]

    def body(function: Callable[..., Any]) -> Any:
        traced = tf.function(
            lambda value: function(made, value), input_signature=[tf.TensorSpec([None, None], tf.float32)]
        )
        return [traced(tensor) for tensor in tensors]

    for found, array in zip(trial.call_inside(body), arrays):
        _close(trial, found, _SURVIVAL[kind](_wide(array), 0.25, 1.5), "float32")


def survival_complements(trial: Trial, kind: str) -> None:
    """Together with the distribution function it gives 1, and it falls from value to value."""
    x = np.linspace(-4, 4, 200)
    made = _made(trial, kind, 0.5, 1.25, "float64")
    found = trial.call(made, trial.tensor(x))
    probability = found if kind == "Normal" else tf.exp(found)
    trial.close(probability + made.cdf(trial.tensor(x)), np.ones(200), 1e-12, 1e-12, dtype="float64")
    trial.check((np.diff(trial.numpy(probability)) < 0).all(), "the probabilities do not fall")


def param_shapes(trial: Trial, shape: Sequence[int], form: str) -> None:
    """For samples of a shape, location and scale have that shape: two int32 vectors, however the shape is given."""
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
    """In a tf.function a shape that is known only while it runs gives the shapes of its values then."""
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
    """Parameters made in these shapes give a distribution whose single sample has the shape that was asked for."""
    found = trial.call(shape)
    _check_shapes(trial, found, shape)
    made = _distributions.Normal(tf.zeros(found["loc"]), tf.ones(found["scale"]))
    trial.equal(list(made.sample(seed=1).shape), list(shape))
    trial.equal(list(made.batch_shape), list(shape))

"""survival_function of Normal and log_survival_function of Laplace, compared with SciPy."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.distributions import (
    NORMAL_METHODS,
    check_close,
    log_normal_density,
    random_parameters,
    to_float64,
)

_distributions = tf.compat.v1.distributions


def _survival_values(trial: Trial, dtype: str, shape: Sequence[int], low: float, high: float) -> tuple[Any, Any, Any]:
    loc, scale = random_parameters(trial, shape[-1:], dtype)
    return loc, scale, trial.random(*shape, dtype=dtype, seed=8, low=low, high=high)


def _made(trial: Trial, kind: str, loc: Any, scale: Any, dtype: str = "float32") -> Any:
    tensors = [part if isinstance(part, tf.Tensor) else trial.tensor(part, dtype) for part in (loc, scale)]
    return getattr(_distributions, kind)(*tensors)


def log_laplace_survival(x: Any, loc: Any, scale: Any) -> Any:
    z = (x - loc) / scale
    with np.errstate(over="ignore"):
        return np.where(z > 0, np.log(0.5) - z, np.log1p(-0.5 * np.exp(np.minimum(z, 0))))


_SURVIVAL: Mapping[str, Callable[[Any, Any, Any], Any]] = {
    "Normal": NORMAL_METHODS["survival_function"],
    "Laplace": log_laplace_survival,
}


def survival(trial: Trial, kind: str, shape: Sequence[int], dtype: str, low: float = -6.0, high: float = 6.0) -> None:
    """The probability to exceed a value, or its logarithm, matches the closed form, elementwise over batches and
    values."""
    loc, scale, x = _survival_values(trial, dtype, shape, low, high)
    found = trial.call(_made(trial, kind, loc, scale, dtype), trial.tensor(x))
    check_close(trial, found, _SURVIVAL[kind](to_float64(x), to_float64(loc), to_float64(scale)), dtype)


def survival_broadcast(trial: Trial, kind: str) -> None:
    """Location, scale and value of shapes [3, 1], [4] and [2, 1, 1] give a result of shape [2, 3, 4]."""
    loc = trial.random(3, 1, seed=1)
    scale = trial.random(4, seed=2, low=0.5, high=2)
    x = trial.random(2, 1, 1, seed=3)
    found = trial.call(_made(trial, kind, loc, scale), trial.tensor(x))
    check_close(trial, found, _SURVIVAL[kind](to_float64(x), to_float64(loc), to_float64(scale)), "float32")


def survival_tails(trial: Trial, kind: str, dtype: str, loc: float = 0.0, scale: float = 1.0) -> None:
    """Far out the result keeps its relative precision; at the infinities and NaN it is the limit."""
    # Where 1 - cdf would consist of rounding only.
    z = np.asarray([-np.inf, -1e30, -30.0, -9.0, -6.0, 0.0, 5.0, 6.0, 9.0, 12.0, 1e30, np.inf, np.nan])
    x = (loc + scale * z).astype(dtype)
    found = trial.call(_made(trial, kind, loc, scale, dtype), trial.tensor(x))
    expected = _SURVIVAL[kind](to_float64(x), loc, scale)
    # log1p of a tiny number is that number; it is zero only where it underflows.
    tolerance = 2e-4 if dtype == "float32" else 1e-10
    trial.close(found, expected, tolerance, 1e-30, dtype=dtype)


def survival_gradient(trial: Trial, kind: str, dtype: str) -> None:
    """The gradient of the value is minus the density, for a logarithm divided by the probability; that of the location
    is plus that, and that of the scale is that times the standardized value."""
    loc, scale, x = _survival_values(trial, dtype, [5, 4], -3.0, 3.0)
    loc_tensor, scale_tensor, value = trial.tensor(loc), trial.tensor(scale), trial.tensor(x)

    # Each element has its own weight, so that a wrong place is noticed.
    upstream = trial.random(5, 4, dtype=dtype, seed=10, low=1, high=2)
    weights = trial.tensor(upstream)

    def body(function: Callable[..., Any]) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([value, loc_tensor, scale_tensor])
            found = function(_made(trial, kind, loc_tensor, scale_tensor), value)
        return found, tape.gradient(found, [value, loc_tensor, scale_tensor], weights)

    found, (to_value, to_loc, to_scale) = trial.call_inside(body)
    wide = to_float64(x), to_float64(loc), to_float64(scale)
    check_close(trial, found, _SURVIVAL[kind](*wide), dtype)
    if kind == "Normal":
        slope = -np.exp(log_normal_density(*wide))
    else:
        density = 0.5 / wide[2] * np.exp(-abs(wide[0] - wide[1]) / wide[2])
        slope = -density / np.exp(log_laplace_survival(*wide))
    slope = slope * to_float64(upstream)
    check_close(trial, to_value, slope, dtype)
    check_close(trial, to_loc, -slope.sum(0), dtype)
    check_close(trial, to_scale, -(slope * (wide[0] - wide[1]) / wide[2]).sum(0), dtype)


def survival_in_function(trial: Trial, kind: str) -> None:
    """In a tf.function the values' shape can be unknown: one trace serves several shapes, also an empty one."""
    made = _made(trial, kind, 0.25, 1.5)
    arrays = [trial.random(*shape, seed=9) for shape in ((3, 4), (1, 50), (0, 2))]
    tensors = [trial.tensor(array) for array in arrays]

    def body(function: Callable[..., Any]) -> Any:
        traced = tf.function(
            lambda value: function(made, value), input_signature=[tf.TensorSpec([None, None], tf.float32)]
        )
        return [traced(tensor) for tensor in tensors]

    for found, array in zip(trial.call_inside(body), arrays):
        check_close(trial, found, _SURVIVAL[kind](to_float64(array), 0.25, 1.5), "float32")


def survival_complements(trial: Trial, kind: str) -> None:
    """Together with the distribution function it gives 1, and it falls from value to value."""
    x = np.linspace(-4, 4, 200)
    made = _made(trial, kind, 0.5, 1.25, "float64")
    found = trial.call(made, trial.tensor(x))
    probability = found if kind == "Normal" else tf.exp(found)
    trial.close(probability + made.cdf(trial.tensor(x)), np.ones(200), 1e-12, 1e-12, dtype="float64")
    trial.check((np.diff(trial.numpy(probability)) < 0).all(), "the probabilities do not fall")


def survival_named(trial: Trial, kind: str) -> None:
    """The value can be given by its name, as a number or a list, and the operations get the name that is given."""
    made = _made(trial, kind, 0.25, 1.5)
    x = [-3.0, -0.5, 0.25, 7.5]
    found = trial.call(made, value=x, name="beyond")
    check_close(trial, found, _SURVIVAL[kind](np.asarray(x), 0.25, 1.5), "float32")
    check_close(
        trial, trial.call(made, name="one", value=-2.0), _SURVIVAL[kind](np.asarray(-2.0), 0.25, 1.5), "float32"
    )
    # The dtype is that of the distribution, whose parameters are the only tensors. Normal has no float16.
    for dtype in ("float32", "float64") if kind == "Normal" else ("float16", "float64"):
        made = _made(trial, kind, *(trial.tensor(np.asarray(each, dtype)) for each in (0.25, 1.5)))
        for value in (-2.0, 3, [0.5, -4.0], (1, 2), np.asarray([0.75, 8.0], dtype)):
            expected = _SURVIVAL[kind](np.asarray(value, "float64"), 0.25, 1.5)
            check_close(trial, trial.call(made, value), expected, dtype)

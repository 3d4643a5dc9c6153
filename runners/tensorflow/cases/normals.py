"""tf.compat.v1.distributions.Normal: far tails, options, copies and the seeds of samples."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.compare import EPSILON, check_dtype
from runners.core.testing.distribution import check_draws
from runners.core.testing.trial import Trial
from runners.tensorflow.cases.distributions import NORMAL_METHODS, to_float64


def far(trial: Trial, method: str, dtype: str) -> None:
    """Far out the result keeps its relative precision, for each scale; at the infinities it is the limit, and NaN stays
    NaN."""
    z = np.asarray([-np.inf, -20.0, -9.0, -6.0, -1.0, 0.0, 0.5, 2.0, 9.0, np.inf, np.nan])[:, None]
    loc, scale = np.asarray([0.0, 8.0, -0.5], dtype), np.asarray([1.0, 0.25, 32.0], dtype)
    x = (to_float64(loc) + z * to_float64(scale)).astype(dtype)
    made = trial.make(trial.tensor(loc), trial.tensor(scale))
    found = trial.call_method(made, method, trial.tensor(x))
    with np.errstate(invalid="ignore"):
        expected = NORMAL_METHODS[method](to_float64(x), to_float64(loc), to_float64(scale))
    # exp of about -200 multiplies the rounding of its argument; what is below the dtype's smallest number is zero.
    rtol, atol = {"float32": (1e-4, 1e-37), "float64": (1e-10, 1e-300)}[dtype]
    trial.close(found, expected, rtol, atol, dtype=dtype)


def options(trial: Trial) -> None:
    """Numbers are broadcast, options are kept, and a copy differs only in what is given."""
    made = trial.call(loc=1.0, scale=[11.0, 22.0], allow_nan_stats=False, validate_args=True, name="Errors")
    trial.equal((made.allow_nan_stats, made.validate_args, list(made.batch_shape)), (False, True, [2]))
    trial.close(made.prob(3.0), np.exp(NORMAL_METHODS["log_prob"](3.0, 1.0, np.asarray([11.0, 22.0]))), dtype="float32")
    other = made.copy(scale=0.5)
    trial.close(other.loc, 1.0, dtype="float32")
    trial.close(other.stddev(), 0.5, dtype="float32")
    trial.equal((other.allow_nan_stats, other.validate_args, list(other.batch_shape)), (False, True, []))
    trial.close(made.stddev(), [11.0, 22.0], dtype="float32")
    trial.equal((made.is_scalar_event().numpy(), made.is_scalar_batch().numpy()), (True, False))
    trial.check("FULLY" in repr(made.reparameterization_type), f"it is {made.reparameterization_type!r}")


def sample_seeds(trial: Trial, dtype: str) -> None:
    """The same seeds repeat a sample, another one does not; a number, a list or a tensor gives the shape of the sample,
    and without a shape it is one draw for each distribution."""
    loc, scale = np.asarray([[1.0], [-40.0]], dtype), np.asarray([0.5, 1.0, 3.0], dtype)
    made = trial.make(trial.tensor(loc), trial.tensor(scale))
    rows = []
    for shape, seed in ((1000, 1), ([4, 250], 1), (trial.tensor(np.asarray([1000], "int32")), 1), (1000, 2)):
        tf.random.set_seed(20)
        output = trial.call_method(made, "sample", shape, seed=seed)
        check_dtype(trial.dtype_name(output), dtype)
        trial.equal(list(output.shape), [*([4, 250] if isinstance(shape, list) else [1000]), 2, 3])
        rows.append(to_float64(trial.numpy(output)).reshape(1000, 2, 3))
        check_draws(((rows[-1] - to_float64(loc)) / to_float64(scale)).reshape(-1), "normal", {}, 100 * EPSILON[dtype])
    trial.equal(rows[1], rows[0])
    trial.equal(rows[2], rows[0])
    trial.check((rows[3] != rows[0]).mean() > 0.99, "another seed gave the same draws")
    single = trial.call_method(made, "sample", seed=5)
    trial.equal(list(single.shape), [2, 3])


def extreme_scales(trial: Trial, method: str, dtype: str) -> None:
    """A scale or a distance whose square is outside of the dtype's range gives the result of their ratio."""
    size = {"float32": 1e30, "float64": 1e250}[dtype]
    scale = np.asarray([1 / size, 1.0, size], dtype)
    loc = scale * np.asarray([2.0, 1.0, -0.5], dtype)
    x = (to_float64(loc) + np.asarray([-6.0, -1.0, 0.0, 0.5, 3.0])[:, None] * to_float64(scale)).astype(dtype)
    made = trial.make(trial.tensor(loc), trial.tensor(scale))
    found = trial.call_method(made, method, trial.tensor(x))
    expected = NORMAL_METHODS[method](to_float64(x), to_float64(loc), to_float64(scale))
    rtol, atol = {"float32": (1e-4, 1e-37), "float64": (1e-10, 1e-300)}[dtype]
    trial.close(found, expected, rtol, atol, dtype=dtype)


def _summed_to(values: Any, shape: Sequence[int]) -> Any:
    """The adjoint of broadcasting from ``shape``."""
    values = values.sum(tuple(range(values.ndim - len(shape))))
    return values.sum(tuple(axis for axis, size in enumerate(shape) if size == 1), keepdims=True)


def sample_broadcast(trial: Trial, loc_shape: Sequence[int], scale_shape: Sequence[int], dtype: str) -> None:
    """Location and scale are broadcast: each member of the batch has draws of its own, and the gradient of a sample
    reaches both, summed over what was broadcast."""
    loc = np.asarray(trial.random(*loc_shape, dtype=dtype, seed=6))
    scale = np.asarray(trial.random(*scale_shape, dtype=dtype, seed=7, low=0.5, high=2.0))
    given, count = [trial.tensor(loc), trial.tensor(scale)], 2000

    def body(normal: Callable[..., Any]) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(given)
            sample = normal(*given).sample(count, seed=8)
        return sample, tape.gradient(sample, given)

    sample, (to_loc, to_scale) = trial.call_inside(body)
    check_dtype(trial.dtype_name(sample), dtype)
    z = (to_float64(trial.numpy(sample)) - to_float64(loc)) / to_float64(scale)
    trial.equal(list(z.shape), [count, *np.broadcast_shapes(loc.shape, scale.shape)])
    members = z.reshape(count, -1).T
    for member in members:
        check_draws(member, "normal", {}, 100 * EPSILON[dtype])
    off = abs(np.corrcoef(members) - np.eye(len(members))).max()
    trial.check(off < 6 / np.sqrt(count), f"members of the batch are correlated by {off:.3g}")
    # The rounding of a sum of count numbers, and of the standardized sample.
    room = z.size * 10 * EPSILON[dtype]
    trial.close(to_loc, _summed_to(np.ones_like(z), loc.shape), 0.0, room, dtype=dtype)
    trial.close(to_scale, _summed_to(z, scale.shape), 0.0, room, dtype=dtype)

"""tf.keras.optimizers.experimental.Adadelta: its step is timed and compared with the update rule in NumPy."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial


def _steps(start: Any, slopes: Sequence[Any], rate: Callable[[int], float], rho: float, epsilon: float) -> list[Any]:
    """Return the values of a weight after each step of Adadelta (Zeiler, 2012) with a learning rate."""
    value, mean_slope, mean_change = start.astype("float64"), 0.0, 0.0
    values = []
    for step, slope in enumerate(slopes):
        mean_slope = rho * mean_slope + (1 - rho) * slope**2
        change = -np.sqrt(mean_change + epsilon) / np.sqrt(mean_slope + epsilon) * slope
        mean_change = rho * mean_change + (1 - rho) * change**2
        value = value + rate(step) * change
        values.append(value)
    return values


def update_rule(trial: Trial, dtype: str, rate: float = 1.0, rho: float = 0.95, epsilon: float = 1e-7) -> None:
    """Each of four steps on two weights matches the update rule and is counted."""
    starts = [trial.random(3, 5, dtype=dtype, seed=1), trial.random(7, dtype=dtype, seed=2)]
    slopes = [[trial.random(*start.shape, dtype=dtype, seed=3 + step) for step in range(4)] for start in starts]
    weights = [tf.Variable(trial.tensor(start)) for start in starts]
    optimizer = trial.make(learning_rate=rate, rho=rho, epsilon=epsilon)
    expected = [
        _steps(start, [slope.astype("float64") for slope in row], lambda step: rate, rho, epsilon)
        for start, row in zip(starts, slopes)
    ]
    trial.repeatable = False
    for step in range(4):
        pairs = [(trial.tensor(row[step]), weight) for row, weight in zip(slopes, weights)]
        # Only the last step is repeated for the steady time, because it ends the check.
        trial.repeatable = step == 3
        _step(trial, optimizer, pairs, step + 1)
        for weight, values in zip(weights, expected):
            _close_steps(trial, weight, values[step], dtype)


def _step(trial: Trial, optimizer: Any, pairs: Sequence[Any], count: int) -> None:
    """Make one timed step; return the number of steps so far."""
    counted = tf.convert_to_tensor(trial.call_method(optimizer, "apply_gradients", pairs))
    trial.close(counted, count, dtype="int64")


def _close_steps(trial: Trial, weight: Any, expected: Any, dtype: str) -> None:
    # The steps are small compared with the weights: float32 keeps at most six of their digits.
    trial.close(weight, expected, dtype=dtype, **({"rtol": 1e-6, "atol": 1e-7} if dtype == "float32" else {}))


def sparse_slopes(trial: Trial) -> None:
    """A sparse gradient with a duplicate row acts like the dense one in which both are added."""
    start, rows = trial.random(6, 4, seed=4), trial.random(3, 4, seed=5)
    weight = tf.Variable(trial.tensor(start))
    optimizer = trial.make(learning_rate=1.0, epsilon=1e-3)
    slices = tf.IndexedSlices(trial.tensor(rows), trial.tensor(np.asarray([4, 1, 4])), tf.constant([6, 4], tf.int64))
    _step(trial, optimizer, [(slices, weight)], 1)
    dense = np.zeros([6, 4])
    np.add.at(dense, [4, 1, 4], rows.astype("float64"))
    (expected,) = _steps(start, [dense], lambda step: 1.0, 0.95, 1e-3)
    _close_steps(trial, weight, expected, "float32")


def options(trial: Trial, options: Mapping[str, float]) -> None:
    """A limit on the gradient's norm or values, or weight decay, acts before the step as documented."""
    start, slope = trial.random(4, 4, seed=6), trial.random(4, 4, seed=7)
    weight = tf.Variable(trial.tensor(start))
    optimizer = trial.make(learning_rate=1.0, epsilon=1e-3, **options)
    _step(trial, optimizer, [(trial.tensor(slope), weight)], 1)
    wide_start, wide_slope = start.astype("float64"), slope.astype("float64")
    limit = options.get("clipnorm", options.get("global_clipnorm"))
    if limit is not None:
        wide_slope = wide_slope * min(1.0, limit / np.linalg.norm(wide_slope))
    if "clipvalue" in options:
        wide_slope = np.clip(wide_slope, -options["clipvalue"], options["clipvalue"])
    # Decoupled: the learning rate, here 1, also scales the decay.
    wide_start = wide_start * (1 - options.get("weight_decay", 0.0))
    (expected,) = _steps(wide_start, [wide_slope], lambda step: 1.0, 0.95, 1e-3)
    _close_steps(trial, weight, expected, "float32")


def schedule(trial: Trial) -> None:
    """A schedule sets each step's learning rate by the step's number."""
    start = trial.random(5, seed=8)
    slopes = [trial.random(5, seed=9 + step) for step in range(3)]
    weight = tf.Variable(trial.tensor(start))
    decay = tf.keras.optimizers.schedules.ExponentialDecay(2.0, decay_steps=1, decay_rate=0.5)
    optimizer = trial.make(learning_rate=decay, epsilon=1e-2)
    trial.repeatable = False
    for count, slope in enumerate(slopes, 1):
        _step(trial, optimizer, [(trial.tensor(slope), weight)], count)
    wide = [slope.astype("float64") for slope in slopes]
    _close_steps(trial, weight, _steps(start, wide, lambda step: 2.0 * 0.5**step, 0.95, 1e-2)[-1], "float32")


def loss_falls(trial: Trial) -> None:
    """``minimize`` reduces a least-squares loss by nine tenths, from the loss that NumPy computes."""
    host_x = trial.random(32, 4, seed=12)
    host_y = host_x @ np.asarray([[0.5], [-1.0], [0.25], [0.75]], "float32")
    x, y = trial.tensor(host_x), trial.tensor(host_y)
    weights = tf.Variable(trial.tensor(np.zeros([4, 1], "float32")))

    def loss() -> Any:
        return tf.reduce_mean(tf.square(x @ weights - y))

    before = loss()
    trial.close(before, np.mean(host_y.astype("float64") ** 2), dtype="float32")
    optimizer = trial.make(learning_rate=1.0, epsilon=1e-3)
    for _ in range(59):
        optimizer.minimize(loss, [weights])
    last = float(trial.numpy(loss()))
    trial.equal(trial.call_method(optimizer, "minimize", loss, [weights]), None)
    after = float(trial.numpy(loss()))
    trial.check(after != last, f"the last step left the loss at {last:.4g}")
    trial.check(after < 0.1 * float(trial.numpy(before)), f"the loss is still {after:.4g} after 60 steps")


def traced(trial: Trial) -> None:
    """Created once and called in a tf.function it follows the update rule as it does outside."""
    start, slope = trial.random(8, seed=13), trial.random(8, seed=14)
    given, slope_tensor = trial.tensor(start), trial.tensor(slope)

    def body(adadelta: Callable[..., Any]) -> Any:
        weight = tf.Variable(given)
        optimizer = adadelta(learning_rate=1.0, epsilon=1e-2)
        optimizer.build([weight])
        step = tf.function(lambda: optimizer.apply_gradients([(slope_tensor, weight)]))
        step()
        step()
        return weight

    wide = slope.astype("float64")
    expected = _steps(start, [wide, wide], lambda step: 1.0, 0.95, 1e-2)[-1]
    _close_steps(trial, trial.call_inside(body), expected, "float32")

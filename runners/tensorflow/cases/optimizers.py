"""tf.keras.optimizers.experimental.Adadelta: its step is timed and compared with the update rule in NumPy."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.checkpoints import new_folder


def expected_steps(
    start: Any, slopes: Sequence[Any], rate: Callable[[int], float], rho: float, epsilon: float
) -> list[Any]:
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
        expected_steps(start, [slope.astype("float64") for slope in row], lambda step: rate, rho, epsilon)
        for start, row in zip(starts, slopes)
    ]
    trial.repeatable = False
    for step in range(4):
        pairs = [(trial.tensor(row[step]), weight) for row, weight in zip(slopes, weights)]
        # Only the last step is repeated for the steady time, because it ends the check.
        trial.repeatable = step == 3
        _step(trial, optimizer, pairs, step + 1)
        for weight, values in zip(weights, expected):
            close_steps(trial, weight, values[step], dtype)


def _step(trial: Trial, optimizer: Any, pairs: Sequence[Any], count: int) -> None:
    """Make one timed step; return the number of steps so far."""
    counted = tf.convert_to_tensor(trial.call_method(optimizer, "apply_gradients", pairs))
    trial.close(counted, count, dtype="int64")


def close_steps(trial: Trial, weight: Any, expected: Any, dtype: str) -> None:
    # The steps are small compared with the weights: float32 keeps at most six of their digits.
    trial.close(weight, expected, dtype=dtype, **({"rtol": 1e-6, "atol": 1e-7} if dtype == "float32" else {}))


def sparse_slopes(trial: Trial) -> None:
    """A sparse gradient with a duplicate row acts like the dense one in which both are added, step after step."""
    start = trial.random(6, 4, seed=4)
    weight = tf.Variable(trial.tensor(start))
    optimizer = trial.make(learning_rate=1.0, epsilon=1e-3)
    trial.repeatable = False
    dense = []
    for count, places in enumerate(([4, 1, 4], [0, 4, 5]), 1):
        rows = trial.random(3, 4, seed=4 + count)
        given = trial.tensor(rows), trial.tensor(np.asarray(places)), tf.constant([6, 4], tf.int64)
        _step(trial, optimizer, [(tf.IndexedSlices(*given), weight)], count)
        dense.append(np.zeros([6, 4]))
        np.add.at(dense[-1], places, rows.astype("float64"))
        expected = expected_steps(start, dense, lambda step: 1.0, 0.95, 1e-3)[-1]
        close_steps(trial, weight, expected, "float32")


def options(trial: Trial, options: Mapping[str, float]) -> None:
    """A limit on the gradient's norm, of each weight or of all, or on its values, or weight decay, acts before the step
    as documented."""
    # The last weight's gradient is within the limits of a single weight.
    starts = [trial.random(*shape, seed=6) for shape in ((4, 4), (7,), (3,))]
    slopes = [trial.random(*start.shape, seed=7) * scale for start, scale in zip(starts, (1, 3, 0.05))]
    weights = [tf.Variable(trial.tensor(start)) for start in starts]
    rate = 0.5
    optimizer = trial.make(learning_rate=rate, epsilon=1e-3, **options)
    _step(trial, optimizer, [(trial.tensor(slope), weight) for slope, weight in zip(slopes, weights)], 1)
    wide_slopes = [slope.astype("float64") for slope in slopes]
    if "clipnorm" in options:
        wide_slopes = [slope * min(1.0, options["clipnorm"] / np.linalg.norm(slope)) for slope in wide_slopes]
    if "global_clipnorm" in options:
        norm = np.sqrt(sum((slope**2).sum() for slope in wide_slopes))
        wide_slopes = [slope * min(1.0, options["global_clipnorm"] / norm) for slope in wide_slopes]
    if "clipvalue" in options:
        wide_slopes = [np.clip(slope, -options["clipvalue"], options["clipvalue"]) for slope in wide_slopes]
    for weight, start, slope in zip(weights, starts, wide_slopes):
        # Decoupled: the learning rate also scales the decay.
        wide_start = start.astype("float64") * (1 - rate * options.get("weight_decay", 0.0))
        (expected,) = expected_steps(wide_start, [slope], lambda step: rate, 0.95, 1e-3)
        close_steps(trial, weight, expected, "float32")


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
    close_steps(trial, weight, expected_steps(start, wide, lambda step: 2.0 * 0.5**step, 0.95, 1e-2)[-1], "float32")


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
    expected = expected_steps(start, [wide, wide], lambda step: 1.0, 0.95, 1e-2)[-1]
    close_steps(trial, trial.call_inside(body), expected, "float32")


def averages(trial: Trial, frequency: int | None) -> None:
    """With ``use_ema`` an average follows the weight, and replaces it after each period of steps, or at the end."""
    start, slope = trial.random(6, seed=15), trial.random(6, seed=16)
    weight, plain = (tf.Variable(trial.tensor(start)) for _ in range(2))
    optimizer = trial.make(
        learning_rate=1.0, epsilon=1e-2, use_ema=True, ema_momentum=0.75, ema_overwrite_frequency=frequency
    )
    other = trial.make(learning_rate=1.0, epsilon=1e-2)
    trial.repeatable = False
    # The changes do not depend on the weight: they are those of an optimizer without averages.
    plain_values = [
        start.astype("float64"),
        *expected_steps(start, [slope.astype("float64")] * 4, lambda _: 1.0, 0.95, 1e-2),
    ]
    # The average begins with the weight before the first step; in Keras 3 with the one after it.
    values, means = [plain_values[0]] * 2, [plain_values[0], plain_values[1]]
    for step in range(1, 5):
        _step(trial, optimizer, [(trial.tensor(slope), weight)], step)
        _step(trial, other, [(trial.tensor(slope), plain)], step)
        values = [value + plain_values[step] - plain_values[step - 1] for value in values]
        means = [0.75 * mean + 0.25 * value for mean, value in zip(means, values)]
        if frequency and step % frequency == 0:
            values = list(means)
        _close_either(trial, weight, *values)
        close_steps(trial, plain, plain_values[step], "float32")
    if not frequency:
        optimizer.finalize_variable_values([weight])
        _close_either(trial, weight, *means)


def _close_either(trial: Trial, weight: Any, one: Any, other: Any) -> None:
    found = trial.numpy(tf.convert_to_tensor(weight)).astype("float64")
    close_steps(trial, weight, one if abs(found - one).max() < abs(found - other).max() else other, "float32")


def restores(trial: Trial) -> None:
    """An optimizer that is made of another's configuration and saved state makes the same next step."""
    start, slopes = trial.random(5, seed=17), [trial.random(5, seed=18 + step) for step in range(3)]
    wide = [slope.astype("float64") for slope in slopes]
    first = tf.Variable(trial.tensor(start))
    optimizer = trial.make(learning_rate=0.5, rho=0.75, epsilon=1e-2, clipvalue=0.5, name="tuned")
    trial.repeatable = False
    for count in (1, 2):
        _step(trial, optimizer, [(trial.tensor(slopes[count - 1]), first)], count)
    found = optimizer.get_config()
    kept = {key: found[key] for key in ("name", "rho", "clipvalue", "clipnorm", "use_ema")}
    trial.equal(kept, {"name": "tuned", "rho": 0.75, "clipvalue": 0.5, "clipnorm": None, "use_ema": False})
    path = tf.train.Checkpoint(weight=first, optimizer=optimizer).write(str(new_folder() / "kept"))
    second = tf.Variable(trial.tensor(np.zeros(5, "float32")))
    again = type(optimizer).from_config(found)
    again.build([second])
    tf.train.Checkpoint(weight=second, optimizer=again).read(path).expect_partial()
    for weight, each in ((first, optimizer), (second, again)):
        _step(trial, each, [(trial.tensor(slopes[2]), weight)], 3)
        expected = expected_steps(start, [np.clip(slope, -0.5, 0.5) for slope in wide], lambda step: 0.5, 0.75, 1e-2)[
            -1
        ]
        close_steps(trial, weight, expected, "float32")

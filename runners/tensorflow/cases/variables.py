"""tf.Variable: the construction is timed, and the result is checked to be a variable."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial


def holds(trial: Trial, shape: Sequence[int], dtype: str) -> None:
    """A variable holds its initial value, accepts another, and does not change the initial tensor."""
    host, other = trial.random(*shape, dtype=dtype, seed=1), trial.random(*shape, dtype=dtype, seed=2)
    initial = trial.tensor(host, dtype=dtype)
    before = trial.numpy(initial)
    variable = trial.call(initial)
    trial.check(variable.trainable is True, "expected a variable to be trainable by default")
    trial.exact(variable, before, dtype)
    replacement = trial.tensor(other, dtype=dtype)
    variable.assign(replacement)
    trial.exact(variable, trial.numpy(replacement), dtype)
    trial.equal(initial, before)


def converts(trial: Trial, values: Any, dtype: str) -> None:
    """Python numbers become a variable of the requested dtype, by value or by a callable."""
    for initial in (values, lambda: tf.constant(values, trial.dtype(dtype))):
        variable = trial.call(initial, dtype=trial.dtype(dtype), name="weights")
        trial.close(variable, np.asarray(values), dtype=dtype)
        trial.equal(variable.name, "weights:0")
        variable.assign_add(tf.ones_like(variable))
        trial.close(variable, np.asarray(values) + 1, dtype=dtype)


def watched(trial: Trial, trainable: bool, dtype: str) -> None:
    """A tape watches a trainable variable automatically, and no other one: d(v.v)/dv is 2v, or None."""
    host = trial.random(6, dtype=dtype, seed=3)
    variable = trial.call(trial.tensor(host), trainable=trainable)
    trial.check(variable.trainable is trainable, f"trainable: expected {trainable}, got {variable.trainable}")
    trial.close(variable, host, dtype=dtype)
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(variable * variable)
    trial.close(total, (host.astype("float64") ** 2).sum(), dtype=dtype)
    slope = tape.gradient(total, variable)
    if trainable:
        trial.close(slope, 2 * host.astype("float64"), dtype=dtype)
    else:
        trial.check(slope is None, "the tape watched a variable that is not trainable")


def changes_shape(trial: Trial) -> None:
    """A variable declared with an unknown dimension accepts values of other lengths; its rank is fixed."""
    first, second = trial.random(2, 3, seed=4), trial.random(5, 3, seed=5)
    variable = trial.call(trial.tensor(first), shape=tf.TensorShape([None, 3]))
    trial.equal(list(variable.shape), [None, 3])
    trial.close(variable, first, dtype="float32")
    variable.assign(trial.tensor(second))
    trial.close(variable, second, dtype="float32")


def scatters(trial: Trial, dtype: str) -> None:
    """Sparse updates change only the given rows; a duplicate row is updated twice."""
    host = trial.random(6, 4, dtype=dtype, seed=6)
    rows = trial.random(3, 4, dtype=dtype, seed=7)
    variable = trial.call(trial.tensor(host))
    expected = host.astype("float64")
    trial.equal(variable, expected)
    variable.scatter_add(tf.IndexedSlices(trial.tensor(rows), tf.constant([4, 1, 4])))
    np.add.at(expected, [4, 1, 4], rows.astype("float64"))
    trial.close(variable, expected, dtype=dtype)


def counts_in_function(trial: Trial) -> None:
    """A variable created once in a tf.function keeps its value from call to call."""
    steps = trial.tensor(np.asarray([2.0, 3.0, 5.0], "float32"))

    def body(variable: Callable[..., Any]) -> Any:
        made: list[Any] = []

        @tf.function
        def add(step: Any) -> Any:
            if not made:
                made.append(variable(100.0))
            return made[0].assign_add(step)

        return [add(step) for step in tf.unstack(steps)]

    for found, expected in zip(trial.call_inside(body), (102.0, 105.0, 110.0)):
        trial.close(found, expected, dtype="float32")

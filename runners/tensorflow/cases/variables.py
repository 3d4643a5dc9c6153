"""tf.Variable: the construction is timed, and the result is checked to be a variable."""

from __future__ import annotations

import copy
from typing import Any, Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.checkpoints import new_folder


def holds(trial: Trial, shape: Sequence[int], dtype: str, special: str | None = None) -> None:
    """A variable holds its initial value, accepts another, and does not change the initial tensor."""
    host = trial.random(*shape, dtype=dtype, seed=1)
    other = trial.random(*shape, dtype=dtype, seed=2, special=special)
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


def updates(trial: Trial, dtype: str) -> None:
    """Sums, differences and assignments to slices change the variable one after the other, and return its new value; a
    deep copy and a variable made of it keep theirs."""
    hosts = [trial.random(4, 5, dtype=dtype, seed=8 + part) for part in range(3)]
    first, second, third = map(trial.tensor, hosts)
    variable = trial.call(first, dtype=trial.dtype(dtype))
    copied, other = copy.deepcopy(variable), trial.call(variable)
    expected = hosts[0] + hosts[1]
    trial.close(variable.assign_add(second), expected, dtype=dtype)
    trial.check(variable.assign_sub(third, read_value=False) is None, "an unread update returned a value")
    expected = expected - hosts[2]
    trial.close(variable.read_value(), expected, dtype=dtype)
    variable[1:3, 2:].assign(second[1:3, 2:])
    expected[1:3, 2:] = hosts[1][1:3, 2:]
    trial.close(variable, expected, dtype=dtype)
    trial.close(variable[-1, 3] - 2 * variable, expected[-1, 3] - 2 * expected, dtype=dtype)
    for kept in (copied, other):
        trial.exact(kept, hosts[0], dtype)
    trial.exact(first, hosts[0], dtype)


_ROWS = (4, 1, 3)
_SCATTERS: Mapping[str, Callable[[Any, Any], Any]] = {
    "scatter_sub": lambda old, new: old - new,
    "scatter_update": lambda old, new: new,
    "scatter_max": np.maximum,
    "scatter_min": np.minimum,
    "scatter_mul": lambda old, new: old * new,
    "scatter_div": lambda old, new: old / new,
}


def scatters_by(trial: Trial, dtype: str) -> None:
    """Each sparse update computes the given rows from the old and the new values, and leaves the others."""
    host = trial.random(6, 4, dtype=dtype, seed=11)
    rows = trial.random(3, 4, dtype=dtype, seed=12, low=0.5, high=2.0) * np.asarray([[1], [-1], [1]], dtype)
    variable = trial.call(trial.tensor(host))
    trial.exact(variable, host, dtype)
    slices = tf.IndexedSlices(trial.tensor(rows), trial.tensor(np.asarray(_ROWS, "int32")))
    for name, compute in _SCATTERS.items():
        variable.assign(trial.tensor(host))
        getattr(variable, name)(slices)
        expected = host.astype("float64")
        expected[list(_ROWS)] = compute(expected[list(_ROWS)], rows.astype("float64"))
        trial.close(variable, expected, dtype=dtype)


def reads_places(trial: Trial, dtype: str) -> None:
    """Single elements can be updated and read by their places, and rows read by their numbers."""
    host, added = trial.random(6, 4, dtype=dtype, seed=14), trial.random(2, dtype=dtype, seed=15)
    variable = trial.call(trial.tensor(host))
    trial.exact(variable, host, dtype)
    places = trial.tensor(np.asarray([[5, 0], [2, 3]], "int32"))
    variable.scatter_nd_add(places, trial.tensor(added))
    expected = host.astype("float64")
    expected[[5, 2], [0, 3]] += added
    trial.close(variable, expected, dtype=dtype)
    trial.close(variable.gather_nd(places), expected[[5, 2], [0, 3]], dtype=dtype)
    trial.close(variable.sparse_read(trial.tensor(np.asarray([3, 0, 3], "int32"))), expected[[3, 0, 3]], dtype=dtype)


def configured(trial: Trial) -> None:
    """Name, constraint, synchronization and aggregation are those given; two variables of one name are two; a variable
    of unknown shape takes any; one of text holds text; a module finds its trainable variables."""
    kinds = {"synchronization": tf.VariableSynchronization.ON_READ, "aggregation": tf.VariableAggregation.MEAN}
    host = trial.random(3, dtype="float64", seed=13)
    first = trial.call(host, name="kept", constraint=tf.nn.relu, trainable=False, **kinds)
    second = trial.call(host + 1, name="kept", trainable=True)
    trial.equal([first.name, second.name], ["kept:0", "kept:0"])
    trial.equal((first.synchronization, first.aggregation), tuple(kinds.values()))
    trial.check(first.constraint is tf.nn.relu and second.constraint is None, "another constraint")
    trial.exact(first, host, "float64")
    first.assign(first.constraint(first))
    trial.exact(first, np.maximum(host, 0), "float64")
    trial.exact(second, host + 1, "float64")
    loose = trial.call(1.0, shape=tf.TensorShape(None))
    loose.assign([[2.0, 3.0]])
    trial.close(loose, [[2.0, 3.0]], dtype="float32")
    words = trial.call(["ab", ""])
    words.assign(["c", "longer"])
    trial.equal(words.numpy().tolist(), [b"c", b"longer"])
    module = tf.Module()
    module.held = [first, {"second": second}]
    trial.equal([variable is second for variable in module.trainable_variables], [True])
    trial.equal(len(module.variables), 2)


def refuses_values(trial: Trial, what: str) -> None:
    """A value of another shape or dtype is not assigned, and the variable keeps its own."""
    value, word = {"shape": ([1.0], "shape"), "dtype": (tf.constant([[1, 2], [3, 4]]), "int32")}[what]
    variable = trial.make([[1.5, -2.0], [0.5, 4.0]])
    trial.method_raises(variable, "assign", ["ValueError"], word, value)
    trial.exact(variable, [[1.5, -2.0], [0.5, 4.0]], "float32")


def saved(trial: Trial) -> None:
    """Variables are restored to what they were when they were saved, each from its own entry; one that is made later
    gets its value when it joins. A value of another shape is not restored."""
    hosts = [trial.random(2, 3, seed=number) for number in (1, 2)]
    one, two = (trial.call(trial.tensor(host), name="same") for host in hosts)
    path = tf.train.Checkpoint(one=one, two=two).write(str(new_folder() / "kept"))
    one.assign(two)
    two.assign_add(tf.ones([2, 3]))
    checkpoint = tf.train.Checkpoint(two=two, one=one)
    checkpoint.read(path).assert_consumed()
    for variable, host in ((one, hosts[0]), (two, hosts[1])):
        trial.exact(variable, host, "float32")
    later = tf.train.Checkpoint()
    later.read(path)
    later.one = trial.call(tf.zeros([2, 3]))
    trial.exact(later.one, hosts[0], "float32")
    trial.exact(one, hosts[0], "float32")

    def unfit(variable: Callable[..., Any]) -> None:
        tf.train.Checkpoint(one=variable([1.0])).read(path).expect_partial()

    trial.raises_inside(["ValueError", "InvalidArgumentError"], "shape", unfit)


def updates_wide(trial: Trial, dtype: str, size: int) -> None:
    """Updates keep all digits of the dtype: of the variable, and of what is added, subtracted and assigned."""
    host = np.asarray([size, -size + 1, 3, -size + 2, size - 3], dtype)
    step = np.asarray([-size + 1, size - 4, size - 5, 2, -2], dtype)
    rows = trial.tensor(np.asarray([3, 4], "int32"))
    variable = trial.call(trial.tensor(host))
    trial.exact(variable.assign_add(trial.tensor(step)), host + step, dtype)
    trial.exact(variable.assign_sub(trial.tensor(host)), step, dtype)
    trial.exact(variable.assign(trial.tensor(host)), host, dtype)
    slices = tf.IndexedSlices(trial.tensor(step[1:3]), rows)
    for name, sign in (("scatter_add", 1), ("scatter_sub", -1)):
        variable.assign(trial.tensor(-step))
        getattr(variable, name)(slices)
        expected = -step
        expected[[3, 4]] += sign * step[1:3]
        trial.exact(variable, expected, dtype)

"""tf.Variable: ways to read it, to count its places from the end, to update it, and functions that give its first
value."""

from __future__ import annotations

from typing import Any, Callable, Mapping

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial

_READS: Mapping[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "read_value": (lambda v: v.read_value(), lambda x: x),
    "value": (lambda v: v.value(), lambda x: x),
    "identity": (tf.identity, lambda x: x),
    "convert_to_tensor": (tf.convert_to_tensor, lambda x: x),
    "product": (lambda v: v * 1.0, lambda x: x),
    "slice": (lambda v: v[1:, ::-1], lambda x: x[1:, ::-1]),
    "row": (lambda v: v[-2], lambda x: x[-2]),
    "sparse_read": (lambda v: v.sparse_read([2, 0, 2]), lambda x: x[[2, 0, 2]]),
}


def gradients_of_reads(trial: Trial, dtype: str) -> None:
    """The gradient reaches the variable through each way to read it, at the places that are read, as often as they are;
    after an update it is that of the new values."""
    host = trial.random(4, 3, dtype=dtype, seed=1)
    weights = {name: trial.random(*np.shape(read(host)), dtype=dtype, seed=2) for name, (_, read) in _READS.items()}
    variable = trial.call(trial.tensor(host))
    trial.exact(variable, host, dtype)
    places = np.arange(host.size).reshape(host.shape)
    for value in (host, 2 * host):
        variable.assign(trial.tensor(value))
        for name, (read, on_host) in _READS.items():
            with tf.GradientTape() as tape:
                total = tf.reduce_sum(trial.tensor(weights[name]) * read(variable) ** 2)
            expected = np.zeros(host.size)
            np.add.at(expected, on_host(places).ravel(), (2.0 * weights[name] * on_host(value)).ravel())
            slope = tape.gradient(total, variable)
            trial.check(slope is not None, f"no gradient goes through {name}")
            trial.close(tf.convert_to_tensor(slope), expected.reshape(host.shape), dtype=dtype)


def places_from_the_end(trial: Trial, dtype: str) -> None:
    """Negative places count from the end of their own axis, when they are read and when they are assigned."""
    for shape in ([4, 3], [3, 5, 2]):
        host = trial.random(*shape, dtype=dtype, seed=3, low=-100, high=100)
        variable = trial.call(trial.tensor(host))
        trial.exact(variable, host, dtype)
        keys = [-1, -2, -3, (-2, -1), (Ellipsis, -2), (-1, 0), slice(-2, None), (slice(None, -1), slice(-2, None))]
        for key in keys:
            trial.exact(variable[key], host[key], dtype)
        expected = host.copy()
        for key in (-1, (-2, -1), (Ellipsis, -2)):
            variable[key].assign(trial.tensor(np.zeros_like(host))[key])
            expected[key] = 0
            trial.exact(variable, expected, dtype)


def drawn_by_function(trial: Trial) -> None:
    """Each variable that a function begins calls it, and holds what it returned then."""
    drawn: list[Any] = []

    def draw() -> Any:
        drawn.append(tf.random.normal([40]))
        return drawn[-1]

    trial.repeatable = False
    made = [trial.call(draw), trial.call(draw), trial.call(initial_value=draw, trainable=False)]
    held = [trial.numpy(tf.convert_to_tensor(variable)) for variable in made]
    before = trial.numpy(drawn)
    for number, each in enumerate(held):
        trial.equal(list(each.shape), [40])
        trial.check(any((each == one).all() for one in before), f"variable {number} holds no value of the function")
        for other in held[:number]:
            trial.check((each != other).all(), "two variables begin with the same draws")


def numbers(trial: Trial) -> None:
    """Python numbers and arrays keep all digits in a variable of float64 or int64: as its first value, when they are
    assigned, added and subtracted, and in its operators."""
    third, size = 1 / 3, 2**53 + 1
    for first in ([0.1, -third], np.asarray([0.1, -third])):
        variable = trial.call(first, dtype=tf.float64)
        expected = np.asarray([0.1, -third])
        trial.exact(variable, expected, "float64")
        trial.exact(variable.assign([third, 1e-300]), [third, 1e-300], "float64")
        trial.exact(variable.assign_add([0.1, 1e300]), [third + 0.1, 1e300], "float64")
        trial.exact(variable.assign_sub([0.7, 1e300]), [third + 0.1 - 0.7, 0.0], "float64")
        trial.exact(variable.assign(tf.constant(first, tf.float64)) + 0.7, expected + 0.7, "float64")
        trial.exact(0.7 - variable, 0.7 - expected, "float64")
        trial.exact(variable * third, expected * third, "float64")
        trial.equal(trial.numpy(variable > 0.1), [False, False])
        trial.equal(trial.numpy(variable >= 0.1), [True, False])
    whole = trial.call([size, -size, 3], dtype=tf.int64)
    expected = np.asarray([size, -size, 3])
    trial.exact(whole, expected, "int64")
    trial.exact(whole.assign_add([2, size, -size]), expected + np.asarray([2, size, -size]), "int64")
    trial.exact(whole.assign_sub([2, size, -size]), expected, "int64")
    trial.exact(whole + size, expected + size, "int64")
    trial.exact(-whole, -expected, "int64")
    trial.exact(whole.assign([2**63 - 1, -(2**63), size]), [2**63 - 1, -(2**63), size], "int64")


def updates_of_places(trial: Trial, dtype: str) -> None:
    """Each update of single places computes with the old and the new values there, the last place among them, and
    leaves all others; rows of each member of a batch can be updated too."""
    host, new = trial.random(5, 3, dtype=dtype, seed=4), trial.random(4, dtype=dtype, seed=5)
    rows, columns = np.asarray([4, 0, 2, 4]), np.asarray([2, 0, 1, 0])
    variable = trial.call(trial.tensor(host))
    trial.exact(variable, host, dtype)
    places = trial.tensor(np.stack([rows, columns], 1))
    computed: Mapping[str, Callable[[Any, Any], Any]] = {
        "scatter_nd_update": lambda old, value: value,
        "scatter_nd_add": np.add,
        "scatter_nd_sub": np.subtract,
        "scatter_nd_max": np.maximum,
        "scatter_nd_min": np.minimum,
    }
    for name, compute in computed.items():
        variable.assign(trial.tensor(host))
        getattr(variable, name)(places, trial.tensor(new))
        expected = host.copy()
        expected[rows, columns] = compute(host[rows, columns], new)
        trial.close(variable, expected.astype("float64"), dtype=dtype)
    batch, update = trial.random(2, 4, 3, dtype=dtype, seed=6), trial.random(2, 2, 3, dtype=dtype, seed=7)
    members = trial.call(trial.tensor(batch))
    chosen = np.asarray([[3, 0], [1, 2]])
    members.batch_scatter_update(tf.IndexedSlices(trial.tensor(update), trial.tensor(chosen)))
    for member in range(2):
        batch[member, chosen[member]] = update[member]
    trial.exact(members, batch, dtype)

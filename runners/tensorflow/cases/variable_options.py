"""tf.Variable: options of its updates and of its shape, and how expressions of Python use it."""

from __future__ import annotations

import operator
from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import building, close, run

v1 = tf.compat.v1
_UPDATES: dict[str, Callable[..., Any]] = {
    "assign": lambda old, new: new,
    "assign_add": np.add,
    "assign_sub": np.subtract,
}


def unread(trial: Trial, dtype: str) -> None:
    """An update whose value is not wanted gives nothing, one that is gives the new value, and both change the
    variable; use_locking and name change no value. What was read before stays."""
    host, change = trial.random(3, 2, dtype=dtype, seed=1), trial.random(3, 2, dtype=dtype, seed=2)
    trial.repeatable = False
    for name, computed in _UPDATES.items():
        for options in ({}, {"use_locking": True, "name": "own"}, {"read_value": True}, {"read_value": False}):
            variable = trial.call(trial.tensor(host))
            before = variable.read_value()
            update = getattr(variable, name)(trial.tensor(change), **options)
            expected = computed(host, change)
            trial.exact(variable, expected, dtype)
            trial.exact(before, host, dtype)
            if options.get("read_value", True):
                trial.exact(tf.convert_to_tensor(update), expected, dtype)
            else:
                trial.check(update is None, f"{name} without read_value gave {type(update).__name__}")


def updates_in_graph(trial: Trial) -> None:
    """In a TensorFlow 1 graph an update that is not read is an operation, one that is read gives the new value, and
    each makes its change when a session runs it, not before."""
    host = trial.random(3, seed=3)

    def body(variable: Callable[..., Any]) -> Any:
        with building(trial) as graph:
            made = variable(tf.constant(host), name="made")
            updates = [
                getattr(made, name)([1.0, 2.0, 4.0], read_value=read) for name in _UPDATES for read in (True, False)
            ]
            return graph, made, updates

    trial.repeatable = False
    graph, made, updates = trial.call_inside(body)
    trial.equal([isinstance(update, tf.Operation) for update in updates], [False, True] * 3)
    expected = host.astype("float64")
    with v1.Session(graph=graph) as session:
        run(trial, session, made.initializer)
        close(trial, session.run(made), expected, "float32")
        for number, update in enumerate(updates):
            found = session.run(update)
            expected = list(_UPDATES.values())[number // 2](expected, np.asarray([1.0, 2.0, 4.0]))
            if number % 2 == 0:
                close(trial, found, expected, "float32", 1e-5, 1e-5)
            close(trial, session.run(made), expected, "float32", 1e-5, 1e-5)


def shapes(trial: Trial) -> None:
    """A shape that is wider than that of the first value is the variable's: any value that fits can be assigned, and
    no other one. Without it, or with validate_shape alone, the shape is that of the first value."""
    host, longer = trial.random(2, 3, seed=4), trial.random(5, 3, seed=5)
    given: list[Any] = [tf.TensorShape([None, 3]), [None, 3], tf.TensorShape(None)]
    trial.repeatable = False
    for shape in given:
        made = trial.call(trial.tensor(host), shape=shape)
        trial.equal(str(made.shape), str(tf.TensorShape(shape)))
        trial.exact(made, host, "float32")
        made.assign(trial.tensor(longer))
        trial.equal(str(made.shape), str(tf.TensorShape(shape)))
        trial.exact(made, longer, "float32")
        trial.equal(trial.numpy(tf.shape(made)), [5, 3])
        for member in (lambda function: trial.call(trial.tensor(host), shape=[2, 4]),):
            trial.raises_inside(["ValueError"], "shape", member)
        if shape is not given[-1]:
            trial.raises_inside(["ValueError"], "shape", lambda function, v=made: v.assign(tf.zeros([5, 4])))
    for options in ({}, {"validate_shape": True}, {"validate_shape": False}, {"shape": [2, 3]}):
        made = trial.call(trial.tensor(host), **options)
        trial.exact(made, host, "float32")
        if options.get("validate_shape", True):
            trial.equal(made.shape.as_list(), [2, 3])
            trial.raises_inside(["ValueError"], "shape", lambda function, v=made: v.assign(tf.zeros([5, 3])))


def expressions(trial: Trial, dtype: str) -> None:
    """Operators take the variable's newest value, on either side, with tensors, arrays and numbers, and do not change
    it; a variable cannot be hashed."""
    host, other = (
        trial.random(4, dtype=dtype, seed=6, low=1, high=3),
        trial.random(4, dtype=dtype, seed=7, low=1, high=3),
    )
    made = trial.call(trial.tensor(other))
    made.assign(trial.tensor(host))
    names = ["add", "sub", "mul", "floordiv", "mod", "pow", "lt", "le", "gt", "ge"]
    names += ["truediv"] if dtype.startswith("float") else []
    rounded = 1e-5 if dtype == "float32" else 1e-12
    for name in names:
        work = getattr(operator, name)
        for right, value in ((trial.tensor(other), other), (other, other), (2, np.asarray(2, dtype))):
            trial.close(work(made, right), work(host, value), rounded, rounded)
            if not isinstance(right, np.ndarray):
                trial.close(work(right, made), work(value, host), rounded, rounded)
    trial.close(-made, -host)
    trial.close(abs(-made), abs(host))
    trial.close(made[1:3], host[1:3])
    trial.close(made[..., None] @ tf.ones([1, 2], made.dtype), np.stack([host, host], -1))
    trial.exact(made, host, dtype)
    trial.raises_inside(["TypeError"], "unhashable", lambda function: hash(made))

"""tf.compat.v1.global_variables_initializer: its name, its dependencies and parts of variables; and
tf.compat.v1.is_variable_initialized of eager variables."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import building, call_building, close

v1 = tf.compat.v1


def parts(trial: Trial) -> None:
    """All parts of a variable and those that are not trained get their values. The operation is named in its scope, and
    another one is numbered; it waits for what is around it."""
    host = trial.random(5, 2, seed=1)
    with building(trial) as graph:
        split = v1.fixed_size_partitioner(3)
        whole = v1.get_variable("v", [5, 2], initializer=lambda *_, **__: tf.constant(host), use_resource=True)
        cut = v1.get_variable(
            "w", [5, 2], initializer=v1.constant_initializer(2.5), partitioner=split, use_resource=True, trainable=False
        )
        first = tf.constant(1.0, name="first")
        read = [whole.read_value(), tf.convert_to_tensor(cut)]

    def body(initializer: Callable[..., Any]) -> Any:
        with building(trial, graph):
            with tf.control_dependencies([first]), tf.name_scope("part"):
                inside = initializer()
            return inside, initializer(), initializer()

    trial.repeatable = False
    found = trial.call_inside(body)
    trial.equal([each.name for each in found], ["part/init", "init", "init_1"])
    trial.check(first.op in found[0].control_inputs, "the operation does not wait for what is around it")
    trial.check(first.op not in found[1].control_inputs, "the operation waits for what is not around it")
    for start in found:
        with v1.Session(graph=graph) as session:
            session.run(start)
            for value, expected in zip(session.run(read), (host, 0 * host + 2.5)):
                close(trial, value, expected, "float32")


def eagerly(trial: Trial) -> None:
    """Where there is no graph it does nothing: variables keep their values."""
    variable = tf.Variable(1.5)
    variable.assign(2.5)
    trial.equal(trial.call(), None)
    trial.close(variable, 2.5, dtype="float32")


def extremes(trial: Trial, dtype: str, references: bool) -> None:
    """Negative initial values, and the least and greatest that the dtype holds, are kept as they are; each time."""
    info = np.finfo(dtype) if dtype.startswith("float") else np.iinfo(dtype)
    host = np.asarray([info.min, info.max, 0, 1, info.min + 1, info.max - 1], dtype)
    if info.min < 0:
        host = np.concatenate([host, np.asarray([-1, -2, -100], dtype)])
    with building(trial) as graph:
        many = v1.get_variable("many", initializer=tf.constant(host), use_resource=not references)
        ones = [
            v1.get_variable(f"v{n}", initializer=tf.constant(value), use_resource=True) for n, value in enumerate(host)
        ]
    start = call_building(trial, graph)
    with v1.Session(graph=graph) as session:
        for _ in range(2):
            session.run(start)
            found, singles = session.run([many.value(), ones])
            trial.equal((found.dtype.name, found.tolist()), (dtype, host.tolist()))
            trial.equal([each.item() for each in singles], host.tolist())


def eager_kinds(trial: Trial) -> None:
    """Eager variables of any kind have a value, whatever it is: also one that is not trained, is a text, holds nothing,
    zeros or NaN, was assigned, or has a shape that can change. Asking changes nothing."""
    values = [(3.5, "float32"), (np.zeros([2, 0]), "float64"), (np.zeros(3), "int64"), (np.full(2, np.nan), "float16")]
    values += [(False, "bool"), (np.zeros([1, 1, 2, 1, 1]), "complex64")]
    for value, dtype in values:
        for trainable in (False, True, None):
            given = trial.tensor(np.asarray(value).astype(dtype), dtype)
            variable = tf.Variable(given, trainable=trainable, name="one")
            loose = tf.Variable(given, trainable=trainable, shape=tf.TensorShape(None))
            for each in (variable, loose):
                found = trial.call(each)
                trial.check(isinstance(found, tf.Tensor), f"expected a tensor, got {type(found).__name__}")
                trial.exact(found, np.asarray(True), "bool")
                each.assign(given)
                trial.exact(trial.call(variable=each), np.asarray(True), "bool")
                trial.equal(each.read_value(), given)
    with tf.device(None):
        trial.exact(trial.call(tf.Variable("", trainable=False)), np.asarray(True), "bool")


def asked_in_scopes(trial: Trial) -> None:
    """The question is an operation in the scopes around it, and waits for what is around it."""
    with building(trial) as graph:
        held = v1.get_variable("held", initializer=tf.constant(2.5), use_resource=True)

    def body(is_variable_initialized: Callable[..., Any]) -> Any:
        with building(trial, graph), tf.name_scope("outer"), tf.control_dependencies([held.initializer]):
            return is_variable_initialized(held)

    trial.repeatable = False
    found = trial.call_inside(body)
    trial.check(found.op.name.startswith("outer/"), f"the operation is {found.op.name}")
    trial.equal((found.dtype.name, found.shape.as_list()), ("bool", []))
    with v1.Session(graph=graph) as session:
        trial.equal(session.run(found), True)

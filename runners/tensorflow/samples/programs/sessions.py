"""Functions of ``tf.compat.v1`` in a graph and a session of their own."""

from __future__ import annotations

from typing import Any, Mapping

import tensorflow as tf

from runners.tensorflow.samples.programs.lines import Lines, in_session

_v1 = tf.compat.v1


def _initialized(function: Any, session: Any, x: Any) -> Any:
    variable = _v1.get_variable("variable", initializer=x)
    session.run(function())
    return session.run(variable)


def _listed(function: Any, session: Any, x: Any) -> Any:
    variable = _v1.get_variable("variable", initializer=x)
    session.run(function([variable]))
    return session.run(variable)


def _named(function: Any, session: Any, x: Any) -> Any:
    variable = function("variable", initializer=x)
    session.run(_v1.global_variables_initializer())
    return session.run(variable)


def _derived(function: Any, session: Any, x: Any) -> Any:
    given = tf.constant(x)
    return session.run(function(given * given, given)[0])


def _fed(function: Any, session: Any, x: Any) -> Any:
    given = function(x.dtype, x.shape)
    return session.run(given * 2, {given: x})


def _by_default(function: Any, session: Any, x: Any) -> Any:
    return session.run(function(x, x.shape) + 1)


def _run_by(function: Any, x: Any) -> Any:
    with tf.Graph().as_default(), function() as session:
        found = session.run(tf.constant(x.numpy()) * 2)
    return tf.constant(found)


LINES: Mapping[str, Lines] = {
    "tf.compat.v1.initialize_variables": in_session(_listed),
    "tf.compat.v1.Session": _run_by,
    "tf.compat.v1.get_variable": in_session(_named),
    "tf.compat.v1.global_variables_initializer": in_session(_initialized),
    "tf.compat.v1.gradients": in_session(_derived),
    "tf.compat.v1.initialize_all_variables": in_session(_initialized),
    "tf.compat.v1.placeholder": in_session(_fed),
    "tf.compat.v1.placeholder_with_default": in_session(_by_default),
    "tf.compat.v1.variables_initializer": in_session(_listed),
}

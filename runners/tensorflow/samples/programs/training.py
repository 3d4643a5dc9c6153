"""Functions of ``tf.compat.v1.train`` and ``tf.compat.v1.losses``, and gradients in a graph."""

from __future__ import annotations

from typing import Any, Callable, Mapping

import tensorflow as tf

from runners.tensorflow.samples.programs.lines import Lines, in_session, initialize, new_name

_v1 = tf.compat.v1


def _made_step(function: Any, session: Any, x: Any) -> Any:
    step = function()
    session.run(_v1.global_variables_initializer())
    return session.run(_v1.assign_add(step, 3))


def _found_step(function: Any, session: Any, x: Any) -> Any:
    _v1.train.create_global_step()
    session.run(_v1.global_variables_initializer())
    return session.run(function() + 2)


def _read_step(function: Any, session: Any, x: Any) -> Any:
    step = _v1.train.create_global_step()
    session.run(_v1.global_variables_initializer())
    return int(function(session, step)) + 2


def _checked_step(function: Any, session: Any, x: Any) -> Any:
    step = _v1.train.create_global_step()
    function(step)
    session.run(_v1.global_variables_initializer())
    return session.run(step)


def _saved(function: Any, session: Any, x: Any) -> Any:
    """A variable that was saved, changed and restored."""
    variable = _v1.get_variable("variable", initializer=x)
    saver = function()
    session.run(variable.initializer)
    path = saver.save(session, f"./{new_name()}")
    session.run(_v1.assign(variable, x * 0))
    saver.restore(session, path)
    return session.run(variable)


def _of_gradient(function: Any, session: Any, x: Any) -> Any:
    given = tf.constant(x)
    return session.run(function(given * given * given, given)[0])


def _of_hessian(function: Any, session: Any, x: Any) -> Any:
    given = tf.constant(x[0])
    return session.run(function(tf.reduce_sum(given * given * given), given)[0])


def _losses(lines: Callable[[Any, Any, Any], Any]) -> Lines:
    """Lines in a graph with two losses and a regularization."""

    def all_lines(function: Any, session: Any, x: Any) -> Any:
        value = tf.constant(x)
        _v1.losses.add_loss(tf.reduce_sum(value))
        _v1.losses.add_loss(tf.reduce_sum(value * value))
        _v1.add_to_collection("regularization_losses", tf.reduce_max(value))
        return session.run(lines(function, value, x))

    return in_session(all_lines)


def _added_loss(function: Any, session: Any, x: Any) -> Any:
    function(tf.reduce_sum(tf.constant(x)))
    return session.run(_v1.losses.get_losses())


def _schedule(*given: Any, **more: Any) -> Lines:
    """The rates at two steps."""

    def lines(function: Any, session: Any, x: Any) -> Any:
        found = [function(0.1, step, *given, **more) for step in (3, 12)]
        return session.run([each() if callable(each) else each for each in found])

    return in_session(lines)


def _piecewise(function: Any, session: Any, x: Any) -> Any:
    found = [function(step, [4, 8], [0.1, 0.2, 0.3]) for step in (3, 12)]
    return session.run([each() if callable(each) else each for each in found])


def _stepped(function: Any, session: Any, x: Any) -> Any:
    step = _v1.train.create_global_step()
    variable = _v1.get_variable("variable", initializer=x)
    done = function(0.1, step).minimize(tf.reduce_sum(variable * variable), global_step=step)
    initialize(session)
    session.run(done)
    return session.run(variable)


LINES: Mapping[str, Lines] = {
    "tf.compat.v1.hessians": in_session(_of_hessian),
    "tf.compat.v1.losses.add_loss": in_session(_added_loss),
    "tf.compat.v1.losses.get_losses": _losses(lambda function, value, x: function()),
    "tf.compat.v1.losses.get_regularization_loss": _losses(lambda function, value, x: function()),
    "tf.compat.v1.losses.get_regularization_losses": _losses(lambda function, value, x: function()),
    "tf.compat.v1.losses.get_total_loss": _losses(lambda function, value, x: function()),
    "tf.compat.v1.losses.sigmoid_cross_entropy": in_session(
        lambda function, session, x: session.run(function((x > 0.5).astype(x.dtype), x))
    ),
    "tf.compat.v1.losses.softmax_cross_entropy": in_session(
        lambda function, session, x: session.run(function((x == x.max(1, keepdims=True)).astype(x.dtype), x))
    ),
    "tf.compat.v1.train.AdagradDAOptimizer": in_session(_stepped),
    "tf.compat.v1.train.Saver": in_session(_saved),
    "tf.compat.v1.train.assert_global_step": in_session(_checked_step),
    "tf.compat.v1.train.cosine_decay": _schedule(10),
    "tf.compat.v1.train.cosine_decay_restarts": _schedule(10),
    "tf.compat.v1.train.create_global_step": in_session(_made_step),
    "tf.compat.v1.train.exponential_decay": _schedule(10, 0.9),
    "tf.compat.v1.train.get_global_step": in_session(_found_step),
    "tf.compat.v1.train.get_or_create_global_step": in_session(_made_step),
    "tf.compat.v1.train.global_step": in_session(_read_step),
    "tf.compat.v1.train.inverse_time_decay": _schedule(10, 0.9),
    "tf.compat.v1.train.linear_cosine_decay": _schedule(10),
    "tf.compat.v1.train.natural_exp_decay": _schedule(10, 0.9),
    "tf.compat.v1.train.noisy_linear_cosine_decay": _schedule(10),
    "tf.compat.v1.train.piecewise_constant": in_session(_piecewise),
    "tf.compat.v1.train.polynomial_decay": _schedule(10),
    "tf.gradients": in_session(_of_gradient),
    "tf.hessians": in_session(_of_hessian),
}

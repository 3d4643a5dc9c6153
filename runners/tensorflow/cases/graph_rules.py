"""tf.Graph.as_default: when a graph becomes the default one, in a traced function, and again inside of its own
scopes."""

from __future__ import annotations

from typing import Any, Callable, ContextManager

import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import close

v1 = tf.compat.v1
AsDefault = Callable[[tf.Graph], ContextManager[tf.Graph]]


def only_inside(trial: Trial) -> None:
    """A graph is the default one from where the context is entered to where it is left, not where the context is made;
    it can still grow afterwards, without being entered."""
    graph = tf.Graph()

    def body(as_default: AsDefault) -> Any:
        made = as_default(graph)
        before = tf.executing_eagerly(), v1.get_default_graph() is graph
        with made, tf.device(trial.device):
            first = tf.constant(1.5) + 2.0
        return before, first, tf.executing_eagerly(), v1.get_default_graph() is graph

    trial.repeatable = False
    before, first, after, still = trial.call_inside(body)
    trial.equal((before, after, still), ((True, False), True, False))
    trial.check(first.graph is graph and not graph.finalized, "the graph is another one, or finalized")
    with v1.Session(graph=graph) as session:
        close(trial, session.run(first), 3.5, "float32")


def in_function(trial: Trial) -> None:
    """Entered while a tf.function is traced, the graph gets what is made inside, and the function the rest."""
    graph, found = tf.Graph(), []
    given = trial.tensor(trial.random(3, seed=1))

    def body(as_default: AsDefault) -> Any:
        def traced(x: Any) -> Any:
            with as_default(graph) as inner, tf.device(trial.device):
                found.append((inner, v1.get_default_graph(), tf.constant(2.5) * 2.0))
            return x + 1.0

        return tf.function(traced, autograph=False)(given)

    trial.repeatable = False
    trial.close(trial.call_inside(body), trial.numpy(given).astype("float64") + 1, dtype="float32")
    inner, default, product = found[-1]
    trial.check(inner is graph and default is graph and product.graph is graph, "the function kept what is not its own")
    with v1.Session(graph=graph) as session:
        close(trial, session.run(product), 5.0, "float32")


def inside_itself(trial: Trial) -> None:
    """Entered again inside of its own scopes, a graph keeps them: names, the device, what to wait for, collections and
    variables. A name that was used is numbered."""
    graph = tf.Graph()

    def body(as_default: AsDefault) -> Any:
        with as_default(graph), tf.device(trial.device), graph.name_scope("part"):
            first = tf.constant(1.5, name="own")
            held = v1.get_variable("held", initializer=tf.constant(2.5), use_resource=True)
            with tf.control_dependencies([first]):
                with as_default(graph):
                    second = tf.constant(3.5, name="own")
                third = tf.constant(4.5, name="own")
        with as_default(graph), v1.variable_scope(v1.get_variable_scope(), reuse=True):
            return first, second, third, held, v1.get_variable("held")

    trial.repeatable = False
    first, second, third, held, again = trial.call_inside(body)
    trial.equal([each.op.name for each in (first, second, third)], ["part/own", "part/own_1", "part/own_2"])
    trial.check(first.device, "the scope of the device is not set")
    for each in (second, third):
        trial.equal(each.device, first.device)
        trial.equal([operation.name for operation in each.op.control_inputs], ["part/own"])
    trial.check(again is held, "the variable of the graph was not found again")
    with v1.Session(graph=graph) as session:
        session.run(held.initializer)
        for found, expected in zip(session.run([first, second, third, held]), (1.5, 3.5, 4.5, 2.5)):
            close(trial, found, expected, "float32")

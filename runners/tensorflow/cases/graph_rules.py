"""tf.Graph.as_default: when a graph becomes the default one, in a traced function, and again inside of its own
scopes."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any, Callable, ContextManager

import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import close

v1 = tf.compat.v1
AsDefault = Callable[[tf.Graph], ContextManager[tf.Graph]]
_NUMBERS = itertools.count()
"""A name of a gradient can be registered once."""


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


def left_by_error(trial: Trial) -> None:
    """Left by an exception at any depth, a graph is no longer the default one: the one outside of it is, and can still
    be left itself."""
    outer, inner = tf.Graph(), tf.Graph()

    def body(as_default: AsDefault) -> Any:
        found = []
        before = v1.get_default_graph()
        for graphs in ((outer, inner), (outer, inner, outer), (inner,)):
            with as_default(outer):
                try:
                    with contextlib.ExitStack() as stack:
                        for graph in graphs:
                            stack.enter_context(as_default(graph))
                        raise KeyError("passes through")
                except KeyError:
                    found.append(v1.get_default_graph() is outer and not tf.executing_eagerly())
            found.append(v1.get_default_graph() is before and tf.executing_eagerly())
        return found

    trial.equal(trial.call_inside(body), [True] * 6)


def keeps_settings(trial: Trial) -> None:
    """A graph keeps its seed from one time to the next, also that of its draws, and the gradients that it maps to
    others are those also where it is entered again inside of the map."""
    graph, name = tf.Graph(), f"TimesSeven{next(_NUMBERS)}"
    tf.RegisterGradient(name)(lambda operation, slope: 7.0 * slope)

    def body(as_default: AsDefault) -> Any:
        with as_default(graph), tf.device(trial.device):
            v1.set_random_seed(31)
            own = graph.gradient_override_map({"Square": name})
        with as_default(graph), tf.device(trial.device):
            draw, seed = tf.random.uniform([4]), graph.seed
            x = tf.constant([1.5, -2.0])
            with own, as_default(graph):
                inside = tf.square(x)
            return seed, draw, tf.gradients(inside, x)[0], tf.gradients(tf.square(x), x)[0]

    trial.repeatable = False
    seed, draw, inside, outside = trial.call_inside(body)
    trial.equal((seed, draw.op.get_attr("seed")), (31, 31))
    with v1.Session(graph=graph) as session:
        for found, expected in zip(session.run([inside, outside]), ([7.0, 7.0], [3.0, -4.0])):
            close(trial, found, expected, "float32")


def keeps_session(trial: Trial) -> None:
    """Entering and leaving a graph changes nothing about the default session: it is that of the outside, or none, also
    for a graph that the session does not run; a session that was entered inside is left inside."""

    def body(as_default: AsDefault) -> Any:
        one, two = tf.Graph(), tf.Graph()
        found = []
        with as_default(one):
            found.append(v1.get_default_session())
        session, other = v1.Session(graph=one), v1.Session(graph=two)
        with session.as_default():
            for graph in (one, two):
                with as_default(graph):
                    found.append(v1.get_default_session())
                    with other.as_default():
                        found.append(v1.get_default_session())
                    found.append(v1.get_default_session())
                found.append(v1.get_default_session())
        return found, [None, *[session, other, session, session] * 2], v1.get_default_session()

    found, expected, after = trial.call_inside(body)
    for number, (one, wanted) in enumerate(zip(found, expected)):
        trial.check(one is wanted, f"another default session at place {number}: {one}")
    trial.check(after is None, f"a default session was left: {after}")


def keeps_variable_scopes(trial: Trial) -> None:
    """A graph keeps its own variable scopes where it is entered again: prefix, initializer, dtype and reuse. Another
    graph that is entered there has none of them."""
    one, two = tf.Graph(), tf.Graph()

    def body(as_default: AsDefault) -> Any:
        start = v1.constant_initializer(4.5)
        with as_default(one), tf.device(trial.device):
            with v1.variable_scope("outer", initializer=start, dtype=tf.float64, use_resource=True) as scope:
                held = v1.get_variable("held", [2])
                with as_default(one):
                    again = v1.get_variable_scope(), v1.get_variable("again", [2])
                with as_default(two), tf.device(trial.device):
                    other = v1.get_variable_scope(), v1.get_variable("held", [2], use_resource=True)
                after = v1.get_variable_scope()
            with v1.variable_scope(scope, reuse=True), as_default(one):
                found = v1.get_variable("held", [2])
            return scope, held, again, other, after, found, v1.get_variable_scope()

    trial.repeatable = False
    scope, held, again, other, after, found, last = trial.call_inside(body)
    trial.check(again[0] is scope and after is scope, "the variable scope was left")
    trial.check(found is held, "the variable was not found again")
    trial.equal((again[1].name, again[1].dtype.name), ("outer/again:0", "float64"))
    trial.equal((other[0].name, other[0].initializer is None, other[1].name), ("", True, "held:0"))
    trial.equal((other[1].dtype.name, last.name, last.reuse is True), ("float32", "", False))
    with v1.Session(graph=one) as session:
        session.run([held.initializer, again[1].initializer])
        close(trial, session.run(again[1]), [4.5, 4.5], "float64")

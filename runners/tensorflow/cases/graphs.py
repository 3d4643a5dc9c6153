"""tf.Graph.as_default: the timed call enters and leaves a graph; the graph is run untimed."""

from __future__ import annotations

import threading
from typing import Any, Callable, ContextManager

import numpy as np
import tensorflow as tf

from runners.core.testing.compare import check_dtype
from runners.core.testing.trial import Trial

v1 = tf.compat.v1
AsDefault = Callable[[tf.Graph], ContextManager[tf.Graph]]


def enters(trial: Trial) -> None:
    """Inside, the graph is the default graph and nothing is eager; afterwards both are as before."""
    graph = tf.Graph()

    def body(as_default: AsDefault) -> Any:
        with as_default(graph) as given:
            return given, v1.get_default_graph(), tf.executing_eagerly()

    before = v1.get_default_graph()
    given, default, eager = trial.call_inside(body)
    trial.check(given is graph, "the context did not return the graph itself")
    trial.check(default is graph, "the graph was not the default one inside")
    trial.check(not eager, "TensorFlow stayed eager inside")
    trial.check(tf.executing_eagerly(), "TensorFlow is not eager again afterwards")
    trial.check(v1.get_default_graph() is before, "the default graph is not restored")


def nests(trial: Trial, depth: int) -> None:
    """Graphs nest: each level has its own default graph before and after the deeper one."""
    graphs = [tf.Graph() for _ in range(depth)]

    def body(as_default: AsDefault) -> Any:
        inward, outward = [], []

        def enter(level: int) -> None:
            if level == depth:
                return
            with as_default(graphs[level]):
                inward.append(v1.get_default_graph())
                enter(level + 1)
                outward.append(v1.get_default_graph())

        enter(0)
        return inward, outward

    inward, outward = trial.call_inside(body)
    trial.check([id(graph) for graph in inward] == [id(graph) for graph in graphs], "wrong graphs on the way in")
    trial.check(
        [id(graph) for graph in outward] == [id(graph) for graph in graphs[::-1]], "wrong graphs on the way out"
    )


def leaves_on_error(trial: Trial) -> None:
    """An exception inside passes through, and the graph is left."""
    graph = tf.Graph()

    def body(as_default: AsDefault) -> Any:
        try:
            with as_default(graph):
                inside = v1.get_default_graph()
                raise KeyError("passes through")
        except KeyError:
            return inside, tf.executing_eagerly()

    inside, eager = trial.call_inside(body)
    trial.check(inside is graph, "the graph was not the default one inside")
    trial.check(eager, "the graph was not left")


def collects(trial: Trial, dtype: str) -> None:
    """Operations and variables created inside belong to the graph, and a session without a graph runs it."""
    host = trial.random(5, 4, dtype=dtype, seed=1)
    graph = tf.Graph()

    def body(as_default: AsDefault) -> Any:
        with as_default(graph), tf.device(trial.device):
            weights = v1.get_variable("weights", initializer=tf.constant(host), use_resource=True)
            return tf.matmul(weights, weights, transpose_b=True)

    # A second variable of the same name in the same graph is an error.
    trial.repeatable = False
    product = trial.call_inside(body)
    trial.check(product.graph is graph, "the operation belongs to another graph")
    found = [variable.name for variable in graph.get_collection(v1.GraphKeys.GLOBAL_VARIABLES)]
    trial.equal(found, ["weights:0"])
    with trial.make(graph):
        start = v1.global_variables_initializer()
        with v1.Session() as session:
            trial.check(session.graph is graph, "the session took another graph")
            session.run(start)
            computed = session.run(product)
    check_dtype(computed.dtype.name, dtype)
    wide = host.astype("float64")
    tolerance = 1e-5 if dtype == "float32" else 1e-13
    trial.close(computed, wide @ wide.T, rtol=tolerance, atol=tolerance)


def seeds(trial: Trial) -> None:
    """The seed set inside belongs to that graph: equal seeds give equal numbers, another seed different ones."""
    graphs = {}

    def body(as_default: AsDefault, seed: int) -> Any:
        graph = tf.Graph()
        with as_default(graph), tf.device(trial.device):
            v1.set_random_seed(seed)
            return graph, tf.random.uniform([100], seed=1)

    numbers = []
    for seed in (7, 7, 8):
        graph, uniform = trial.call_inside(body, seed)
        trial.equal(graph.seed, seed)
        graphs[id(graph)] = graph
        with v1.Session(graph=graph) as session:
            numbers.append(session.run(uniform))
    trial.equal(len(graphs), 3)
    trial.equal(numbers[0], numbers[1])
    trial.check((numbers[0] != numbers[2]).any(), "two seeds gave the same numbers")
    trial.check(0 <= np.min(numbers) < 0.1 and 0.9 < np.max(numbers) < 1, "the numbers do not fill [0, 1)")


def differentiates(trial: Trial) -> None:
    """A gradient built inside stays in the graph and matches the closed form: d sum(x^3) / dx = 3 x^2."""
    host = trial.random(11, dtype="float64", seed=2)
    graph = tf.Graph()

    def body(as_default: AsDefault) -> Any:
        with as_default(graph), tf.device(trial.device):
            x = tf.constant(host)
            return v1.gradients(tf.reduce_sum(x * x * x), [x])[0]

    slope = trial.call_inside(body)
    trial.check(slope.graph is graph, "the gradient belongs to another graph")
    with v1.Session(graph=graph) as session:
        computed = session.run(slope)
    check_dtype(computed.dtype.name, "float64")
    trial.close(computed, 3 * host**2)


def per_thread(trial: Trial) -> None:
    """The default graph belongs to the thread: another one does not see it, until it enters the graph itself."""
    graph = tf.Graph()

    def body(as_default: AsDefault) -> Any:
        found: list[Any] = []

        def work() -> None:
            found.append(v1.get_default_graph() is graph)
            found.append(tf.executing_eagerly())
            with as_default(graph):
                found.append(v1.get_default_graph() is graph)
            found.append(v1.get_default_graph() is graph)

        with as_default(graph):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            return [*found, v1.get_default_graph() is graph]

    trial.equal(trial.call_inside(body), [False, True, True, False, True])


def enters_again(trial: Trial) -> None:
    """A graph that is entered again, also inside of itself, goes on with its names; scopes of names and devices that
    were open outside do not apply inside, and do again afterwards."""

    def body(as_default: AsDefault) -> Any:
        graph, other = tf.Graph(), tf.Graph()
        names = []
        for _ in range(2):
            with as_default(graph), v1.name_scope("part"):
                names.append(tf.constant(1.0, name="x").name)
                with as_default(other):
                    names.append(tf.constant(2.0, name="x").name)
                    with as_default(graph):
                        names.append(tf.constant(3.0, name="y").name)
                names.append(tf.constant(4.0, name="x").name)
        return names, [len(each.get_operations()) for each in (graph, other)]

    names, counts = trial.call_inside(body)
    first, second = names[:4], names[4:]
    trial.equal((first[1], second[1]), ("x:0", "x_1:0"))
    trial.equal([first[0], first[3], second[0], second[3]], ["part/x:0", "part/x_1:0", "part_1/x:0", "part_1/x_1:0"])
    trial.equal([name.rsplit("/")[-1] for name in (first[2], second[2])], ["y:0", "y:0"])
    trial.equal(counts, [6, 2])

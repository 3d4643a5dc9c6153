"""Errors that the documentation names, of graphs: what scopes, sessions, hooks, savers and collections refuse."""

from __future__ import annotations

from typing import Any, Callable, Mapping

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.checkpoints import new_folder
from runners.tensorflow.graph_mode import beside, building

v1 = tf.compat.v1

_INVALID = ["InvalidArgumentError", "ValueError"]


def scope(trial: Trial, what: str) -> None:
    """A scope refuses to share a variable of another shape or dtype, a variable without the shape that it needs, and
    getters, partitioners and initializers that are none."""
    start = v1.zeros_initializer()

    def share(variable_scope: Callable[..., Any], *args: Any) -> None:
        with variable_scope("s"):
            v1.get_variable("v", [2], initializer=start)
        with variable_scope("s", reuse=True):
            v1.get_variable("v", *args)

    def create(variable_scope: Callable[..., Any], *args: Any, **options: Any) -> None:
        inside = options.pop("inside", {})
        with variable_scope("s", **options):
            v1.get_variable("v", *args, **inside)

    bodies: Mapping[str, Any] = {
        "shape": ("specified shape", lambda made: share(made, [3])),
        "dtype": ("specified dtype", lambda made: share(made, [2], tf.float64)),
        "getter": ("custom_getter", lambda made: create(made, [2], custom_getter=3)),
        "partitioner": ("partitioner", lambda made: create(made, [2], partitioner=3)),
        "initializer": ("initializer", lambda made: create(made, [2], initializer=3)),
        "constant-and-shape": (
            "shape",
            lambda made: create(made, [2], inside={"initializer": tf.constant([1.0, 2.0])}),
        ),
        "no-shape": ("shape", lambda made: create(made)),
    }
    word, body = bodies[what]

    def inside(variable_scope: Callable[..., Any]) -> None:
        with building(trial):
            body(variable_scope)

    trial.raises_inside(["ValueError"], word, inside)


def run(trial: Trial, what: str) -> None:
    """A session refuses fetches that are none or of another graph, feeds that do not fit, a graph without operations;
    what fails when it runs is an error of its own class."""
    with beside(tf.Graph()) as graph:
        x = v1.placeholder(tf.float32, [2])
        kept = v1.get_variable("v", initializer=tf.constant(1.5), use_resource=True)
        zero, table = v1.placeholder_with_default(0, []), v1.placeholder_with_default([1.0, 2.0], [2])
        stop = tf.debugging.Assert(tf.less(zero, 0), ["not less"])
        parts = tf.constant(7) // zero, tf.gather(table, zero + 5), tf.reshape(table, [zero + 3])
        with tf.Graph().as_default():
            elsewhere = tf.constant(1.0)
    given: Mapping[str, Any] = {
        "none": (["TypeError"], "none", (None,)),
        "none-inside": (["TypeError"], "none", ([x, None],)),
        "other-graph": (["ValueError"], "graph", (elsewhere,)),
        "other-graph-inside": (["ValueError"], "graph", ({"a": [elsewhere]},)),
        "operation": (["ValueError"], "not_here", ("not_here",)),
        "fed-none": (["TypeError", "ValueError"], "feed", (x, {x: None})),
        "fed-elsewhere": (["TypeError", "ValueError"], "graph", (x, {elsewhere: 1.0})),
        "fed-rank": (["ValueError"], "shape", (x, {x: 1.0})),
        "fed-list": (["TypeError", "AttributeError"], "list", (x, [1.0, 2.0])),
        "uninitialized": (["FailedPreconditionError"], "v", (kept,)),
        "division": (["InvalidArgumentError"], "zero", (parts[0],)),
        "index": (["InvalidArgumentError"], "indices", (parts[1],)),
        "size": (["InvalidArgumentError"], "values", (parts[2],)),
        "assertion": (["InvalidArgumentError"], "not less", (stop,)),
        "options": (["AttributeError", "TypeError"], "int", (zero, None, 3)),
    }
    kinds, word, args = given[what]
    trial.raises(kinds, word, v1.Session(graph=graph), *args)


def run_empty(trial: Trial) -> None:
    """A graph without operations cannot be run."""
    trial.raises(["RuntimeError"], "empty", v1.Session(graph=tf.Graph()), [])


def default_graph(trial: Trial, what: str) -> None:
    """A graph that is finalized gets no operation, tensors of two graphs are not mixed, a tensor of a graph is neither
    a condition nor an array nor a list."""

    def mixed(as_default: Callable[..., Any]) -> None:
        with as_default(tf.Graph()):
            first = tf.constant(1.0)
        with as_default(tf.Graph()):
            tf.add(first, tf.constant(2.0))

    def finalized(as_default: Callable[..., Any]) -> None:
        graph = tf.Graph()
        graph.finalize()
        with as_default(graph):
            tf.constant(1.0)

    def used(call: Callable[[Any], Any]) -> Callable[..., None]:
        def body(as_default: Callable[..., Any]) -> None:
            with as_default(tf.Graph()):
                call(tf.constant(1.0))

        return body

    bodies: Mapping[str, Any] = {
        "mixed": (["ValueError"], "graph", mixed),
        "finalized": (["RuntimeError"], "finalized", finalized),
        "condition": (["TypeError"], "bool", used(bool)),
        "array": (["NotImplementedError"], "numpy", used(np.asarray)),
        "list": (["TypeError"], "iterat", used(list)),
    }
    kinds, word, body = bodies[what]
    trial.raises_inside(kinds, word, body)


def average(trial: Trial, what: str) -> None:
    """In a graph too only floating variables and tensors are averaged, and only these have a name."""
    with building(trial) as graph:
        variable = v1.get_variable("v", initializer=tf.constant([1.0]), use_resource=True)

    def body(exponential_moving_average: Callable[..., Any]) -> None:
        with building(trial, graph):
            made = exponential_moving_average(0.5)
            if what == "name":
                made.average_name(3)
            made.apply([variable, tf.constant([1]) if what == "integers" else 3])

    word = "half, float, or double" if what == "integers" else "int"
    trial.raises_inside(["AttributeError", "TypeError"], word, body)


def saver_hook(trial: Trial, what: str) -> None:
    """Without a saver or scaffold, the graph must have just one saver."""
    hook = trial.make(str(new_folder()), save_steps=1)
    with beside(tf.Graph()) as graph:
        step = v1.train.get_or_create_global_step(graph)
        if what == "two":
            for _ in range(2):
                v1.add_to_collection(v1.GraphKeys.SAVERS, v1.train.Saver([step]))
        hook.begin()
        with v1.Session(graph=graph) as session:
            session.run(v1.global_variables_initializer())
            word = {"two": "more than one", "none": "no items"}[what]
            trial.method_raises(hook, "after_create_session", ["RuntimeError"], word, session, None)


def logging_hook(trial: Trial, what: str) -> None:
    """What is logged must be in the graph, and one tensor for each name."""
    with tf.Graph().as_default():
        tf.split(tf.constant([1.0, 2.0]), 2, name="pair")
        with tf.Graph().as_default():
            elsewhere = tf.constant(1.0)
        tensors, kinds, word = {
            "missing": (["nowhere:0"], ["KeyError", "ValueError"], "nowhere"),
            "several": (["pair"], ["ValueError"], "ambiguous"),
            "other-graph": ({"a": elsewhere}, ["ValueError"], "graph"),
        }[what]
        trial.method_raises(trial.make(tensors, every_n_iter=1), "begin", kinds, word)


def saves(trial: Trial, what: str) -> None:
    """Inputs and outputs are tensors by name."""
    with building(trial) as graph:
        x = v1.placeholder(tf.float32, [2])
        y = x * 2
    inputs, outputs, word = {
        "list": ([x], {"y": y}, "list"),
        "none": ({"x": x}, None, "outputs"),
        "number": ({"x": x}, {"y": 3}, "int"),
        "text": ({"x": "x"}, {"y": y}, "str"),
    }[what]
    with graph.as_default():
        kinds = ["AttributeError", "TypeError", "ValueError"]
        trial.raises(kinds, word, v1.Session(graph=graph), str(new_folder() / "new"), inputs, outputs)


def initializers(trial: Trial, what: str) -> None:
    """What initializes fails with the error of its start value; a variable that came later is not initialized."""

    def body(initializer: Callable[..., Any]) -> Any:
        with building(trial) as graph:
            zero = v1.placeholder_with_default(0, [])
            first = v1.get_variable("first", initializer=tf.constant(1.5), use_resource=True)
            if what == "failing":
                v1.get_variable("second", initializer=tf.constant(7) // zero, use_resource=True)
            start = initializer()
            later = v1.get_variable("later", initializer=tf.constant(2.5), use_resource=True)
            with v1.Session(graph=graph) as session:
                session.run(start)
                return session.run([first, later])

    kinds = ["InvalidArgumentError"] if what == "failing" else ["FailedPreconditionError"]
    trial.raises_inside(kinds, "zero" if what == "failing" else "later", body)


def condition(trial: Trial, what: str) -> None:
    """In a graph both functions return as many values, of the same dtypes."""

    def body(smart_cond: Callable[..., Any]) -> Any:
        with building(trial):
            truth, one = v1.placeholder(tf.bool, []), tf.constant(1.0)
            other = tf.constant(1) if what == "dtype" else None
            return smart_cond(truth, lambda: one, lambda: other)

    trial.raises_inside(["TypeError", "ValueError"], "structure" if what == "dtype" else "branch", body)


def step(trial: Trial) -> None:
    """What is in the collection of the global step must be a tensor or variable."""
    with tf.Graph().as_default():
        v1.add_to_collection(v1.GraphKeys.GLOBAL_STEP, "a text")
        trial.raises(["TypeError"], "global_step")


def collection_pattern(trial: Trial) -> None:
    """A scope is a regular expression."""
    with tf.Graph().as_default():
        v1.get_variable("v", initializer=tf.constant(1.0))
        trial.raises(["error"], "subpattern", v1.GraphKeys.GLOBAL_VARIABLES, "(")


def evaluates(trial: Trial, what: str) -> None:
    """A tensor has no value where its operation fails or a variable has none."""
    with building(trial) as graph:
        zero = v1.placeholder_with_default(0, [])
        kept = v1.get_variable("v", initializer=tf.constant(1.5), use_resource=True)
        tensor = tf.constant(7) // zero if what == "division" else kept + 1.0
    session = v1.Session(graph=graph)
    kinds, word, args = {
        "division": (["InvalidArgumentError"], "zero", (None, session)),
        "uninitialized": (["FailedPreconditionError"], "v", (None, session)),
        "feeds": (["AttributeError", "TypeError"], "list", ([1.0], session)),
        "closed": (["RuntimeError"], "closed", (None, session)),
    }[what]
    if what == "closed":
        session.close()
    trial.raises(kinds, word, tensor, *args)

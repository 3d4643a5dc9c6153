"""Variables of a graph: global_variables_initializer and is_variable_initialized."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.collections import random_variable
from runners.tensorflow.graph_mode import building, call_building, close, run

v1 = tf.compat.v1


# tf.compat.v1.global_variables_initializer


def _uninitialized(session: Any, graph: tf.Graph) -> Any:
    with graph.as_default():
        return sorted(session.run(v1.report_uninitialized_variables(graph.get_collection("variables"))).tolist())


def initializes(trial: Trial, shape: Sequence[int], dtype: str) -> None:
    """The operation gives every variable its initial value; before it no variable has one."""
    with building(trial) as graph:
        pairs = [random_variable(trial, f"v{seed}", shape, dtype, seed) for seed in (1, 2, 3)]
    start = call_building(trial, graph)
    trial.check(isinstance(start, tf.Operation), f"expected an operation, got {type(start).__name__}")
    trial.check(start.graph is graph, "the operation belongs to another graph")
    with v1.Session(graph=graph) as session:
        trial.equal(_uninitialized(session, graph), [b"v1", b"v2", b"v3"])
        trial.check(run(trial, session, start) is None, "an operation has no value")
        trial.equal(_uninitialized(session, graph), [])
        for found, (_, host) in zip(session.run([variable for variable, _ in pairs]), pairs):
            wide = host.astype("float32") if dtype == "bfloat16" else host
            close(trial, found, wide, dtype, 0.0, 0.0)


def initializes_again(trial: Trial) -> None:
    """Running it again resets changed values; in another session it does not change the first session's values."""
    with building(trial) as graph:
        variable, host = random_variable(trial, "v", [4], "float64")
        change = variable.assign_add([1.0, 2.0, 3.0, 4.0])
    start = call_building(trial, graph)
    first, second = v1.Session(graph=graph), v1.Session(graph=graph)
    first.run(start)
    close(trial, first.run(change), host + np.arange(1, 5), "float64")
    second.run(start)
    close(trial, first.run(variable), host + np.arange(1, 5), "float64")
    first.run(start)
    close(trial, first.run(variable), host, "float64", 0.0, 0.0)
    first.close()
    second.close()


def initializes_global_only(trial: Trial) -> None:
    """Local variables, and global ones created after the operation, are not initialized."""
    with building(trial) as graph:
        before, host = random_variable(trial, "before", [2, 3], "float32")
        random_variable(trial, "local", [2], "float32", trainable=False, collections=["local_variables"])
    start = call_building(trial, graph)
    with building(trial, graph):
        random_variable(trial, "after", [2], "float32")
        state = [v1.is_variable_initialized(v) for v in (*graph.get_collection("local_variables"), before)]
    with v1.Session(graph=graph) as session:
        session.run(start)
        trial.equal(run(trial, session, state), [False, True])
        trial.equal(_uninitialized(session, graph), [b"after"])
        close(trial, session.run(before), host, "float32", 0.0, 0.0)


def initializes_references(trial: Trial) -> None:
    """Variables of both kinds, of texts, from a function, in a scope, and in the global collection only, are
    initialized."""
    host = trial.random(2, 3, dtype="int32", seed=4)
    with building(trial) as graph:
        with v1.variable_scope("inner"):
            made = v1.get_variable("made", [3], initializer=v1.constant_initializer([1.5, -2.0, 0.25]))
        # XLA's devices have neither texts nor variables of the old kind.
        with tf.device(None):
            old = v1.get_variable("old", initializer=tf.constant(host), use_resource=False)
            words = v1.get_variable("words", initializer=tf.constant(["a", ""]), use_resource=True)
        listed = v1.Variable(tf.constant(host) * 2, trainable=False, collections=[v1.GraphKeys.GLOBAL_VARIABLES])
    start = call_building(trial, graph)
    with v1.Session(graph=graph) as session:
        run(trial, session, start)
        found = session.run([old, made, words, listed])
    close(trial, found[0], host, "int32")
    close(trial, found[1], [1.5, -2.0, 0.25], "float32")
    trial.equal(found[2].tolist(), [b"a", b""])
    close(trial, found[3], 2 * host, "int32")


def initializes_dependent(trial: Trial, length: int) -> None:
    """A variable that starts from another's initial value, or from random numbers, is initialized by the same
    operation."""
    with building(trial) as graph:
        first, host = random_variable(trial, "first", [length], "float32")
        second = v1.get_variable("second", initializer=first.initial_value * 2.0, use_resource=True)
        third = v1.get_variable(
            "third", [length], initializer=v1.random_uniform_initializer(2.0, 3.0, seed=5), use_resource=True
        )
    start = call_building(trial, graph)
    with v1.Session(graph=graph) as session:
        session.run(start)
        found = session.run([first, second, third])
    wide = host.astype("float64")
    close(trial, found[0], wide, "float32", 0.0, 0.0)
    close(trial, found[1], wide * 2, "float32")
    trial.check(found[2].min() >= 2 and found[2].max() < 3, "the random numbers lie outside of [2, 3)")
    # Five standard errors of the mean of uniform numbers.
    bound = 5 * (1 / 12 / length) ** 0.5
    trial.check(abs(found[2].mean() - 2.5) < bound, f"the mean is {found[2].mean()}, expected 2.5 within {bound:.3g}")


def initializes_nothing(trial: Trial) -> None:
    """Without variables it still returns an operation that can be run."""
    graph = tf.Graph()
    start = call_building(trial, graph)
    trial.check(isinstance(start, tf.Operation), f"expected an operation, got {type(start).__name__}")
    trial.equal(start.type, "NoOp")
    trial.check(start.graph is graph, "the operation belongs to another graph")
    with v1.Session(graph=graph) as session:
        trial.check(run(trial, session, start) is None, "an operation has no value")


def trains(trial: Trial) -> None:
    """It also initializes an optimizer's variables: momentum's first two steps match the closed form."""
    host, slope = trial.random(5, seed=1), trial.random(5, seed=3)
    with building(trial) as graph:
        weights = v1.get_variable("weights", initializer=tf.constant(host), use_resource=True)
        step = v1.train.MomentumOptimizer(0.1, 0.5).minimize(tf.reduce_sum(weights * slope))
    start = call_building(trial, graph)
    with v1.Session(graph=graph) as session:
        session.run(start)
        session.run(step)
        session.run(step)
        found = session.run(weights)
    # The momentum is g after the first step, 1.5 g after the second.
    close(trial, found, host.astype("float64") - 0.1 * 2.5 * slope.astype("float64"), "float32")


# tf.compat.v1.is_variable_initialized


def _truth(trial: Trial, found: Any, expected: bool) -> None:
    close(trial, found, expected, "bool")


def before_and_after(trial: Trial, dtype: str, resource: bool) -> None:
    """It is false until the variable's initializer has run, and true afterwards, in this session only."""
    host = trial.random(2, 3, dtype=dtype, seed=1).astype(trial.dtype(dtype).as_numpy_dtype)
    with building(trial) as graph:
        variable = v1.get_variable("v", initializer=tf.constant(host), use_resource=resource)
    answer = call_building(trial, graph, variable)
    trial.equal((answer.dtype.name, answer.shape.as_list()), ("bool", []))
    trial.check(answer.graph is graph, "the result belongs to another graph")
    with v1.Session(graph=graph) as session, v1.Session(graph=graph) as other:
        _truth(trial, run(trial, session, answer), False)
        session.run(variable.initializer)
        _truth(trial, run(trial, session, answer), True)
        _truth(trial, other.run(answer), False)


def before_and_after_of_text(trial: Trial) -> None:
    """Variables of texts are tested too, of both kinds, and it does not initialize what it tests."""
    graph = tf.Graph()
    with graph.as_default(), tf.device(None):
        pair = [v1.get_variable(f"v{kind}", initializer=tf.constant(["a"]), use_resource=kind) for kind in (0, 1)]

    def body(is_variable_initialized: Callable[..., Any]) -> Any:
        with graph.as_default(), tf.device(None):
            return [is_variable_initialized(variable) for variable in pair]

    answers = trial.call_inside(body)
    with v1.Session(graph=graph) as session:
        for starts, expected in (([], (0, 0)), ([], (0, 0)), ([0], (1, 0)), ([1], (1, 1))):
            session.run([pair[number].initializer for number in starts])
            for found, wanted in zip(run(trial, session, answers), expected):
                _truth(trial, found, bool(wanted))


def each_of_several(trial: Trial, shape: Sequence[int]) -> None:
    """Each variable has its own result: with one of two initialized they differ."""
    with building(trial) as graph:
        first, _ = random_variable(trial, "first", shape, "float32")
        second, _ = random_variable(trial, "second", shape, "float32")
    answers = [call_building(trial, graph, variable) for variable in (first, second)]
    with v1.Session(graph=graph) as session:
        for variable, expected in ((second, (False, True)), (first, (True, True))):
            session.run(variable.initializer)
            for found, wanted in zip(run(trial, session, answers), expected):
                _truth(trial, found, wanted)


def by_assignment(trial: Trial) -> None:
    """An assignment initializes too, without the initializer."""
    with building(trial) as graph:
        variable, _ = random_variable(trial, "v", [3], "float32")
        assign = variable.assign([1.0, 2.0, 3.0])
    answer = call_building(trial, graph, variable)
    with v1.Session(graph=graph) as session:
        _truth(trial, run(trial, session, answer), False)
        session.run(assign)
        _truth(trial, run(trial, session, answer), True)


def decides(trial: Trial) -> None:
    """The result can select in the graph: a variable is read only if it has a value."""
    with building(trial) as graph:
        variable, host = random_variable(trial, "v", [4], "float32")
    answer = call_building(trial, graph, variable)
    with building(trial, graph):
        value = tf.cond(answer, lambda: variable.read_value(), lambda: tf.fill([4], -1.0))
    with v1.Session(graph=graph) as session:
        for has_value, expected in ((False, np.full(4, -1.0)), (True, host)):
            found, chosen = run(trial, session, [answer, value])
            _truth(trial, found, has_value)
            close(trial, chosen, expected, "float32", 0.0, 0.0)
            session.run(variable.initializer)


def eager_variable(trial: Trial, dtype: str) -> None:
    """An eager variable always has a value: the result is true, as a tensor, also in a tf.function."""
    variable = tf.Variable(trial.tensor(trial.random(3, dtype=dtype, seed=1), dtype))
    trial.close(trial.call(variable), True, dtype="bool")

    def body(is_variable_initialized: Callable[..., Any]) -> Any:
        return tf.function(lambda: is_variable_initialized(variable))()

    trial.close(trial.call_inside(body), True, dtype="bool")


def side_by_side(trial: Trial) -> None:
    """Whether variables have values is known for each session and each variable apart."""
    with building(trial) as graph:
        one, two = (random_variable(trial, name, [2], "float32")[0] for name in ("one", "two"))
        starts = [v1.variables_initializer([variable]) for variable in (one, two)]
    asked = [call_building(trial, graph, variable) for variable in (one, two)]
    with v1.Session(graph=graph) as first, v1.Session(graph=graph) as second:
        trial.equal(run(trial, first, asked), [False, False])
        first.run(starts[1])
        trial.equal([session.run(asked) for session in (first, second)], [[False, True], [False, False]])
        second.run(starts[0])
        trial.equal([session.run(asked) for session in (first, second)], [[False, True], [True, False]])
        first.run(starts)
        trial.equal([session.run(asked) for session in (first, second)], [[True, True], [True, False]])

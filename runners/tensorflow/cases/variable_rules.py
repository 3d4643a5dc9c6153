"""tf.Variable: names in scopes, copies, creators and constraints, how Python reads it, and its place in a graph."""

from __future__ import annotations

import copy
from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import building, close

v1 = tf.compat.v1


def copied(trial: Trial) -> None:
    """A deep copy has the name, the constraint and the role in training of its variable, and values of its own. An
    assigned value is not constrained. A variable that is synchronized when it is read is not trainable by default."""
    host = trial.random(3, 2, dtype="float64", seed=1)
    made = trial.call(trial.tensor(host), name="kept", trainable=False, constraint=tf.nn.relu)
    again = copy.deepcopy(made)
    made.assign(trial.tensor(-host))
    trial.exact(made, -host, "float64")
    trial.exact(again, host, "float64")
    again.assign_add(trial.tensor(host))
    trial.exact(again, host + host, "float64")
    trial.exact(made, -host, "float64")
    for each in (made, again):
        trial.equal((each.name, each.trainable, each.constraint is tf.nn.relu), ("kept:0", False, True))
    auto, none = tf.VariableSynchronization.AUTO, tf.VariableAggregation.NONE
    trial.equal((made.synchronization, made.aggregation), (auto, none))
    read = tf.VariableSynchronization.ON_READ
    trial.equal(
        [trial.call(1.0, synchronization=read, trainable=given).trainable for given in (None, True)], [False, True]
    )


def created(trial: Trial) -> None:
    """The name has the scopes around; a creator gets the arguments and can change them, also inside of another one."""
    calls: list[Any] = []

    def named(next_creator: Callable[..., Any], **options: Any) -> Any:
        calls.append((options["name"], options["trainable"]))
        return next_creator(**{**options, "name": f"{options['name']}-again", "trainable": False})

    def body(variable: Callable[..., Any]) -> Any:
        with tf.name_scope("part"), tf.name_scope("deep"):
            plain = variable(1.5, name="own"), variable(2.5)
        with tf.variable_creator_scope(named), tf.variable_creator_scope(named):
            return [*plain, variable(3.5, name="own", trainable=True), variable(4.5)]

    made = trial.call_inside(body)
    trial.equal([each.name for each in made[:3]], ["part/deep/own:0", "part/deep/Variable:0", "own-again-again:0"])
    trial.equal([each.trainable for each in made], [True, True, False, False])
    trial.equal(calls[:2], [("own", True), ("own-again", False)])
    for each, value in zip(made, (1.5, 2.5, 3.5, 4.5)):
        trial.close(each, value, dtype="float32")


def read_by_python(trial: Trial, dtype: str) -> None:
    """Iteration gives all rows, comparisons are those of the elements, and numbers and arrays have the newest value; an
    array is the caller's own. A reference is equal to those of the same variable only."""
    host = trial.random(5, 2, dtype=dtype, seed=2)
    made, other = trial.call(trial.tensor(host)), trial.call(trial.tensor(host))
    rows = list(made)
    trial.equal(len(rows), 5)
    for row, wanted in zip(rows, host):
        trial.exact(row, wanted, dtype)
    changed = host.copy()
    changed[-1, 0] += 1
    trial.close(made == changed, host == changed, dtype="bool")
    trial.close(made != changed, host != changed, dtype="bool")
    first, second = made.numpy(), np.asarray(made)
    made.assign(trial.tensor(changed))
    trial.equal([first, second, made.numpy(), np.asarray(made)], [host, host, changed, changed])
    array = made.numpy()
    if array.flags.writeable:
        array[...] = 0
    trial.exact(made, changed, dtype)
    single = trial.call(trial.tensor(host[0, 0]))
    trial.equal((float(single), bool(single), int(single)), (float(host[0, 0]), bool(host[0, 0]), int(host[0, 0])))
    trial.equal((made.ref() == made.ref(), made.ref() == other.ref(), made.ref().deref() is made), (True, False, True))
    trial.equal({made.ref(): "one", other.ref(): "two"}[made.ref()], "one")


def watched_by_hand(trial: Trial) -> None:
    """A tape that watches a variable which is not trainable gives its gradient, also through an update; one
    that watches nothing by itself gives none."""
    host = trial.random(4, seed=3)
    made = trial.call(trial.tensor(host), trainable=False)
    with tf.GradientTape() as tape:
        tape.watch(made)
        total = tf.reduce_sum(made * made)
    trial.close(tape.gradient(total, made), 2 * host.astype("float64"), dtype="float32")
    free = trial.call(trial.tensor(host))
    with tf.GradientTape(watch_accessed_variables=False, persistent=True) as tape:
        tape.watch(made)
        total = tf.reduce_sum(made * free)
    trial.close(tape.gradient(total, made), host, dtype="float32")
    trial.check(tape.gradient(total, free) is None, "a variable that is not watched has a gradient")


def in_graph(trial: Trial) -> None:
    """In a graph a variable is in the collection of global variables, and in that of trainable ones if it is. A second
    one of its name is numbered. Its first value is what its initializer gives, and updates are run by a session."""
    host = trial.random(3, seed=4)
    moved = host.astype("float64") + np.arange(1, 4)

    def body(variable: Callable[..., Any]) -> Any:
        with building(trial) as graph:
            with tf.name_scope("part"):
                made = variable(tf.constant(host), name="own"), variable([1.5, 2.5], trainable=False, name="own")
            return graph, made, made[0].assign_add([1.0, 2.0, 3.0]), made[1].assign([-1.0, -2.0], read_value=False)

    trial.repeatable = False
    graph, (first, second), added, assigned = trial.call_inside(body)
    names = ["part/own:0", "part/own_1:0"]
    trial.equal([each.name for each in (first, second)], names)
    trial.equal([each.name for each in graph.get_collection("variables")], names)
    trial.equal([each.name for each in graph.get_collection("trainable_variables")], names[:1])
    trial.check(isinstance(assigned, tf.Operation), f"an update that is not read is {type(assigned).__name__}")
    trial.check(first.graph is graph, "the variable belongs to another graph")
    with v1.Session(graph=graph) as session:
        close(trial, session.run(first.initial_value), host, "float32")
        session.run([first.initializer, second.initializer])
        close(trial, session.run(added), moved, "float32")
        trial.equal(session.run(assigned), None)
        for found, expected in zip(session.run([first, second]), (moved, [-1.0, -2.0])):
            close(trial, found, expected, "float32")

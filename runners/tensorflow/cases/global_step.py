"""tf.compat.v1.train.get_global_step: which variable counts the steps of a graph."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import building, call_building, close, run

v1 = tf.compat.v1


def step_absent(trial: Trial) -> None:
    """A graph without a global step gives None; after it is created, the result is that variable."""
    graph = tf.Graph()
    trial.check(call_building(trial, graph) is None, "there is no global step yet")
    with building(trial, graph):
        made = v1.train.create_global_step()
    trial.check(call_building(trial, graph) is made, "the global step is not the created variable")


def step_counts(trial: Trial, steps: int, before: int = 0) -> None:
    """The step is an int64 scalar that starts at 0, or goes on from another number, and each training step adds 1."""
    with building(trial) as graph:
        made = v1.train.get_or_create_global_step()
    found = call_building(trial, graph)
    trial.check(found is made, "the global step is not the created variable")
    trial.equal((found.name, found.dtype.base_dtype.name, found.shape.as_list()), ("global_step:0", "int64", []))
    with building(trial, graph):
        weight = v1.get_variable("w", initializer=tf.constant(5.0), use_resource=True)
        train = v1.train.GradientDescentOptimizer(0.1).minimize(tf.square(weight), global_step=found)
        start = v1.global_variables_initializer()
        move = found.assign(before)
    with v1.Session(graph=graph) as session:
        session.run(start)
        close(trial, run(trial, session, found), 0, "int64")
        session.run(move)
        for count in range(before + 1, before + steps + 1):
            session.run(train)
            close(trial, run(trial, session, found), count, "int64")
        trial.equal(v1.train.global_step(session, found), before + steps)


def step_of_graph(trial: Trial) -> None:
    """The graph can be given: each has its own step, also if it is not the default graph."""
    graphs = [tf.Graph(), tf.Graph(), tf.Graph()]
    made = []
    for graph in graphs[:2]:
        with building(trial, graph):
            made.append(v1.train.create_global_step())
    trial.check(trial.call(graphs[0]) is made[0], "the first graph has another global step")
    trial.check(trial.call(graph=graphs[1]) is made[1], "the second graph has another global step")
    trial.check(call_building(trial, graphs[0], graphs[1]) is made[1], "the given graph is not used")
    trial.check(trial.call(graphs[2]) is None, "the third graph has no global step")


def step_found(trial: Trial, by: str, dtype: str) -> None:
    """An integer variable or tensor is the step if it is in the step's collection or has its name."""
    with building(trial) as graph:
        if by == "collection":
            host = np.asarray(41, dtype)
            step = v1.get_variable("another_name", initializer=tf.constant(host), trainable=False, use_resource=True)
            v1.add_to_collection(v1.GraphKeys.GLOBAL_STEP, step)
            # The name alone counts only if the collection is empty.
            tf.constant(-1, tf.int64, name="global_step")
        else:
            step = tf.constant(41, trial.dtype(dtype), name="global_step")
        start = v1.global_variables_initializer()
    found = call_building(trial, graph)
    trial.check(found is step, f"expected {step}, got {found}")
    with v1.Session(graph=graph) as session:
        session.run(start)
        close(trial, run(trial, session, found), 41, dtype)


def step_ambiguous(trial: Trial) -> None:
    """With two steps in the collection the result is None, with an error in the log; without the second it is the
    first."""
    with building(trial) as graph:
        first = v1.train.create_global_step()
        v1.add_to_collection(v1.GraphKeys.GLOBAL_STEP, tf.constant(1, tf.int64))
    verbosity = v1.logging.get_verbosity()
    v1.logging.set_verbosity(v1.logging.FATAL)
    try:
        trial.check(call_building(trial, graph) is None, "one of two global steps was chosen")
    finally:
        v1.logging.set_verbosity(verbosity)
    del graph.get_collection_ref(v1.GraphKeys.GLOBAL_STEP)[1]
    trial.check(call_building(trial, graph) is first, "the remaining global step was not found")


def step_drives(trial: Trial) -> None:
    """What is computed from the step follows its value: a learning rate that decays."""
    with building(trial) as graph:
        v1.train.create_global_step()
    found = call_building(trial, graph)
    with building(trial, graph):
        rate = v1.train.exponential_decay(0.5, found, decay_steps=2, decay_rate=0.25, staircase=True)
        rate = rate() if callable(rate) else rate
        add = found.assign_add(1)
        start = v1.global_variables_initializer()
    with v1.Session(graph=graph) as session:
        session.run(start)
        rates = []
        for _ in range(5):
            rates.append(session.run(rate))
            session.run(add)
    close(trial, np.asarray(rates), [0.5, 0.5, 0.125, 0.125, 0.03125], "float32")


def step_elsewhere(trial: Trial) -> None:
    """A variable of that name in a scope, one with another name, and a tensor are not the step of a graph; the step is
    found beside them by its own name."""
    with building(trial) as graph:
        with v1.variable_scope("scope"):
            v1.get_variable("global_step", initializer=tf.constant(3, tf.int64), use_resource=True)
        v1.get_variable("global_step_1", initializer=tf.constant(4, tf.int64), use_resource=True)
        with tf.name_scope("other"):
            tf.constant(5, tf.int64, name="global_step")
    trial.check(call_building(trial, graph) is None, "a variable of a scope is taken for the global step")
    with building(trial, graph):
        made = tf.constant(-7, tf.int64, name="global_step")
    found = call_building(trial, graph)
    trial.check(found is made, f"expected {made}, got {found}")
    with v1.Session(graph=graph) as session:
        close(trial, run(trial, session, found), -7, "int64")

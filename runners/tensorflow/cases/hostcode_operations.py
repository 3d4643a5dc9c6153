"""tf.numpy_function: the operation that it adds to a graph, and functions that return nothing."""

from __future__ import annotations

import random
from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import beside

v1 = tf.compat.v1


def in_graph(trial: Trial) -> None:
    """The runtime may treat a function as one without state only if that was said. Without outputs there is an
    operation, which runs when a session does; a list of one dtype gives a list of one tensor. The arrays that the
    function gets can be changed without a change of the tensors."""
    seen: list[float] = []

    def note(x: Any) -> None:
        seen.append(float(np.sum(x)))

    def change(x: Any) -> Any:
        array = np.array(x)
        array += 1
        return array

    def body(numpy_function: Callable[..., Any]) -> Any:
        with beside(tf.Graph()) as graph:
            x = v1.placeholder(tf.float32, [3])
            plain = numpy_function(change, [x], tf.float32)
            pure = numpy_function(change, [x], tf.float32, stateful=False)
            listed = numpy_function(change, [x], [tf.float32])
            return graph, (x, plain, pure, listed), numpy_function(note, [x], [])

    graph, (x, plain, pure, listed), operation = trial.call_inside(body)
    trial.equal([each.op.op_def.is_stateful for each in (plain, pure)], [True, False])
    trial.check(isinstance(operation, tf.Operation), f"expected an operation, got {operation!r}")
    trial.check(isinstance(listed, list) and len(listed) == 1, f"expected a list of one tensor, got {listed!r}")
    del seen[:]
    host = trial.random(3, seed=1)
    with v1.Session(graph=graph) as session:
        *found, same = session.run([plain, pure, listed[0], x], {x: host})
        trial.equal(seen, [])
        session.run(operation, {x: [1.0, 2.0, 4.0]})
    trial.equal(seen, [7.0])
    trial.equal(same, host)
    for each in found:
        trial.equal(np.asarray(each), host + np.float32(1))


def moves_generators(trial: Trial) -> None:
    """What Python draws in one call, from NumPy's or Python's general generator, is not drawn again in the next,
    in a tf.function neither: the generators go on as if they were used outside."""

    def on_host() -> Any:
        return np.asarray([np.random.uniform(), random.random(), np.random.normal()])

    def body(numpy_function: Callable[..., Any]) -> Any:
        traced = tf.function(lambda: numpy_function(on_host, [], tf.float64))
        np.random.seed(31)
        random.seed(31)
        return [each() for each in (lambda: numpy_function(on_host, [], tf.float64), traced) for _ in range(3)]

    states = np.random.get_state(), random.getstate()
    trial.repeatable = False
    try:
        found = trial.call_inside(body)
        after = on_host()
        np.random.seed(31)
        random.seed(31)
        expected = [on_host() for _ in range(7)]
    finally:
        np.random.set_state(states[0])
        random.setstate(states[1])
    for each, wanted in zip([*found, after], expected):
        trial.equal(np.asarray(each).tolist(), wanted.tolist())

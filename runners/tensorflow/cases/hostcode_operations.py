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


def shapes_unknown(trial: Trial) -> None:
    """While a graph or a tf.function is built, nothing is known of the shape of an output, whatever the inputs are,
    until it is set; its dtype is. The value has the shape that Python gave it, another one at each call."""
    given = [np.arange(3, dtype="float32"), np.float32(2.5), np.zeros([2, 0], "float32"), np.ones([1, 2, 1], "float32")]
    static: list[Any] = []

    def body(numpy_function: Callable[..., Any]) -> Any:
        def calls(x: Any) -> list[Any]:
            one = numpy_function(lambda a: a + np.float32(1), [x], tf.float32)
            several = numpy_function(lambda a: (a.sum(), np.stack([a, a])), [x], [tf.float32, tf.float32])
            if not tf.executing_eagerly():
                static.extend([each.shape.rank, each.dtype.name] for each in (one, *several))
                several[0].set_shape([])
                static.append([several[0].shape.rank, "set"])
            return [one, *several, tf.shape(one), tf.rank(several[1])]

        traced = tf.function(calls, input_signature=[tf.TensorSpec(None, tf.float32)])
        exact = [tf.function(calls), calls]
        found = [[each(tf.constant(array)) for array in given] for each in (traced, *exact)]
        with beside(tf.Graph()) as graph:
            made = calls(v1.placeholder(tf.float32, [3]))
        return found, graph, made

    trial.repeatable = False
    found, graph, made = trial.call_inside(body)
    trial.check(len(static) % 4 == 0 and len(static) >= 4 * 6, f"expected six traces, got {len(static) / 4}")
    trial.equal(static, ([[None, "float32"]] * 3 + [[0, "set"]]) * (len(static) // 4))
    for row in found:
        for array, (one, total, pair, shape, rank) in zip(given, row):
            trial.exact(one, np.asarray(array) + np.float32(1), "float32")
            trial.exact(total, np.asarray(array.sum()), "float32")
            trial.exact(pair, np.stack([array, array]), "float32")
            trial.equal((shape.numpy().tolist(), int(rank)), (list(array.shape), array.ndim + 1))
    with v1.Session(graph=graph) as session:
        trial.equal(session.run(made[0], {graph.get_operations()[0].outputs[0]: given[0]}), given[0] + 1)


def outputs_in_memory(trial: Trial) -> None:
    """Outputs that are not contiguous have their values; dtypes can be given by name."""
    host = trial.random(5, 7, seed=1)
    for array in (host.T, host[::2, ::-1], np.asfortranarray(host), np.broadcast_to(host[:1], [3, 7])):
        trial.exact(trial.call(lambda array=array: array, [], "float32"), np.array(array), "float32")
        one, two = trial.call(lambda array=array: (array, array.T), [], ["float32", tf.float32])
        trial.exact(one, np.array(array), "float32")
        trial.exact(two, np.array(array.T), "float32")

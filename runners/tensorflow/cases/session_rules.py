"""tf.compat.v1.Session.run: what it leaves to the caller, what runs once, kinds of results, and time limits."""

from __future__ import annotations

import collections
from typing import Any, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import building, close

v1 = tf.compat.v1

_Point = collections.namedtuple("_Point", "x y")


def run_once(trial: Trial) -> None:
    """An operation runs once in a run, however often it is fetched, and all fetches belong to one step. The structures
    of fetches and feeds stay as they were, and feeds hold for one run only."""
    with building(trial) as graph:
        total, start = v1.Variable(0.0, use_resource=True), v1.placeholder_with_default(1.0, [], "start")
        add = total.assign_add(start)
        draw = v1.random_uniform([], dtype=tf.float64)
        pair = draw, draw * 2.0
    session = v1.Session(graph=graph)
    session.run(total.initializer)
    trial.repeatable = False
    fetches: Any = [add.op, [add, add.op], {"a": add, "b": add}]
    parts, feeds = list(fetches), {start: 2.5}
    found = trial.call(session, fetches, feeds)
    trial.equal(found, [None, [2.5, None], {"a": 2.5, "b": 2.5}])
    trial.check(all(one is other for one, other in zip(fetches, parts)), f"the fetches became {fetches}")
    trial.equal((list(feeds.values()), [key is start for key in feeds]), ([2.5], [True]))
    close(trial, trial.call(session, add), 3.5, "float32")
    one, two = trial.call(session, list(pair))
    trial.equal(one * 2, two)


def kinds_of_results(trial: Trial) -> None:
    """Numbers and texts without axes are no arrays; named tuples, default dictionaries, slices and sparse tensors keep
    their types, also if they are all that is fetched, and what was fed is fetched."""
    with building(trial) as graph:
        number, whole = tf.constant(1.5), tf.constant(7, tf.int64)
        slices = tf.IndexedSlices(tf.constant([[1.5, 2.0]]), tf.constant([3]), tf.constant([5, 2]))
        sparse = tf.SparseTensor([[1, 0]], tf.constant([2.5]), [3, 4])
        with tf.device(None):
            words = tf.constant("é"), tf.constant(["a"])
        more = number + 1.0
        large = more > 2.0
    fetches = _Point([number, more], {"n": whole, "b": large})
    found = trial.call(v1.Session(graph=graph), [fetches, words, slices, collections.defaultdict(list, k=number)])
    point, (single, row), rows, named = found
    trial.equal((type(point), type(found), type(named)), (_Point, list, collections.defaultdict))
    trial.equal([type(each) for each in (*point.x, *point.y.values())], [np.float32, np.float32, np.int64, np.bool_])
    trial.equal([*point.x, point.y["n"], bool(point.y["b"])], [1.5, 2.5, 7, True])
    trial.equal((single, row.tolist(), named["k"]), ("é".encode(), [b"a"], 1.5))
    trial.equal(type(rows).__name__, "IndexedSlicesValue")
    trial.equal([rows.values, rows.indices, rows.dense_shape], [[[1.5, 2.0]], [3], [5, 2]])
    alone = [trial.call(v1.Session(graph=graph), each) for each in (slices, sparse, words[0], number)]
    kinds = ["IndexedSlicesValue", "SparseTensorValue", "bytes", "float32"]
    trial.equal([type(each).__name__ for each in alone], kinds)
    trial.equal([alone[0].values, *alone[1]], [[[1.5, 2.0]], [[1, 0]], [2.5], [3, 4]])
    fed = trial.call(v1.Session(graph=graph), [number, more], {number: np.float32(4.5)})
    trial.equal([float(each) for each in fed], [4.5, 5.5])


def refuses_feeds(trial: Trial, dtype: str, value: float) -> None:
    """A number that the dtype does not hold is not fed."""
    with building(trial) as graph:
        x = v1.placeholder(trial.dtype(dtype), [])
        y = tf.identity(x)
    trial.raises(["OverflowError", "TypeError", "ValueError"], str(value), v1.Session(graph=graph), y, {x: value})


def refuses_to_wait(trial: Trial) -> None:
    """A run that takes longer than its options allow ends with an error; the session runs on."""
    with building(trial) as graph:
        number = tf.constant(1.5) * 2.0
        with tf.device(None):
            nothing = v1.FIFOQueue(1, [tf.int32]).dequeue()
    session = v1.Session(graph=graph)
    options = v1.RunOptions(timeout_in_ms=20)
    trial.raises(["DeadlineExceededError"], "timed out", session, nothing, options=options)
    close(trial, session.run(number), 3.0, "float32")


def refuses_shapes(trial: Trial, how: str, dtype: str, given: Sequence[int]) -> None:
    """An array of another shape is not fed, though it has as many elements; neither to a placeholder nor to another
    tensor. The session runs on."""
    with building(trial) as graph:
        x = v1.placeholder(trial.dtype(dtype), [2, 3])
        y = x + x
        z = y + x
    session = v1.Session(graph=graph)
    fit, unfit = np.ones([2, 3], dtype), np.ones(given, dtype)
    trial.repeatable = False
    for feeds in ({x: unfit}, {x: unfit.tolist()}, {x: fit, y: unfit}):
        args = (z, feeds, session) if how == "eval" else (session, z, feeds)
        trial.raises(["InvalidArgumentError", "ValueError"], "shape", *args)
    close(trial, session.run(z, {x: fit}), fit * 3, dtype)

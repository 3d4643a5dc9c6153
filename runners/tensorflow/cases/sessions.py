"""tf.compat.v1.Session.run: a graph is built on the target, and only ``run`` is timed.

``run`` returns NumPy arrays. Sessions stay open, because their calls are repeated after the case has ended.
"""

from __future__ import annotations

import collections
import contextlib
from typing import Any, Iterator, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.compare import TOLERANCES, check_dtype
from runners.core.testing.trial import Trial

v1 = tf.compat.v1

_Pair = collections.namedtuple("_Pair", "first second")


@contextlib.contextmanager
def _graph(trial: Trial) -> Iterator[tf.Graph]:
    # The device is set inside: entering a graph resets the outer scopes.
    graph = tf.Graph()
    with graph.as_default(), tf.device(trial.device):
        yield graph


def _check(trial: Trial, found: Any, expected: Any, dtype: str) -> None:
    array = np.asarray(found)
    check_dtype(array.dtype.name, dtype)
    wide = array.astype("complex128" if dtype.startswith("complex") else "float64")
    rtol, atol = TOLERANCES.get(dtype, (0.0, 0.0))
    trial.close(wide, expected, rtol, atol)


def elementwise(trial: Trial, dtype: str) -> None:
    """A fed placeholder is computed with: x x + x."""
    host = trial.random(4, 33, dtype=dtype, seed=1).astype(trial.dtype(dtype).as_numpy_dtype)
    with _graph(trial) as graph:
        x = v1.placeholder(trial.dtype(dtype), [4, 33])
        y = x * x + x
    found = trial.call(v1.Session(graph=graph), y, feed_dict={x: host})
    wide = host.astype("complex128" if dtype.startswith("complex") else "float64")
    narrow = dtype in ("float16", "bfloat16")
    check_dtype(np.asarray(found).dtype.name, dtype)
    if narrow:
        # Two roundings: of the product and of the sum.
        trial.close(found.astype("float64"), wide * wide + wide, 2 * TOLERANCES[dtype][0], 2 * TOLERANCES[dtype][0])
    else:
        _check(trial, found, wide * wide + wide, dtype)


def structures(trial: Trial) -> None:
    """The values have the nesting of the fetches; a name means its tensor, an operation gives None."""
    with _graph(trial) as graph:
        one = tf.constant([1.5, -2.0], name="one")
        two = tf.constant(7, tf.int64)
        nothing = tf.no_op()
    found = trial.call(v1.Session(graph=graph), {"a": [one, (two, nothing)], "b": "one:0"})
    trial.equal(sorted(found), ["a", "b"])
    first, pair = found["a"]
    _check(trial, first, [1.5, -2.0], "float32")
    trial.check(isinstance(pair, tuple) and len(pair) == 2, f"expected a pair, got {pair!r}")
    _check(trial, pair[0], 7, "int64")
    trial.check(pair[1] is None, "an operation has no value")
    _check(trial, found["b"], [1.5, -2.0], "float32")


def keeps_state(trial: Trial) -> None:
    """A variable lives as long as its session, each session has its own, and what is not fetched does not run."""
    with _graph(trial) as graph:
        total = v1.Variable(10.0, use_resource=True)
        add = total.assign_add(2.5)
        _unfetched = total.assign(-1.0)
        start = v1.global_variables_initializer()
    first, second = v1.Session(graph=graph), v1.Session(graph=graph)
    trial.repeatable = False
    for session in (first, second):
        trial.check(trial.call(session, start) is None, "an operation has no value")
    for expected in (12.5, 15.0, 17.5):
        _check(trial, trial.call(first, add), expected, "float32")
    _check(trial, trial.call(first, total), 17.5, "float32")
    _check(trial, trial.call(second, total), 10.0, "float32")


def unknown_shape(trial: Trial) -> None:
    """One placeholder of unknown shape accepts arrays of any shape, also an empty one."""
    with _graph(trial) as graph:
        x = v1.placeholder(tf.float32, [None, None])
        y = tf.reduce_sum(x, axis=0), tf.shape(x)
    session = v1.Session(graph=graph)
    for shape in ((3, 4), (50, 1), (0, 2)):
        host = trial.random(*shape, seed=2)
        total, found_shape = trial.call(session, y, feed_dict={x: host})
        _check(trial, total, host.astype("float64").sum(axis=0), "float32")
        _check(trial, found_shape, shape, "int32")


def feeds_override(trial: Trial) -> None:
    """A tensor in the middle of the graph can be fed: later operations use it, earlier ones do not run."""
    with _graph(trial) as graph:
        x = v1.placeholder(tf.float32, [3])
        middle = x + 1.0
        y = middle * 10.0
    found = trial.call(v1.Session(graph=graph), [middle, y], feed_dict={middle: np.asarray([1.0, 2.0, 4.0], "float32")})
    _check(trial, found[0], [1.0, 2.0, 4.0], "float32")
    _check(trial, found[1], [10.0, 20.0, 40.0], "float32")


def while_loop(trial: Trial, steps: int) -> None:
    """A loop in the graph sums the first numbers: n (n + 1) / 2."""
    with _graph(trial) as graph:
        last = v1.placeholder(tf.int32, [])
        _, total = tf.while_loop(lambda i, total: i <= last, lambda i, total: (i + 1, total + i), (1, 0))
    found = trial.call(v1.Session(graph=graph), total, feed_dict={last: steps})
    _check(trial, found, steps * (steps + 1) // 2, "int32")


def gradients(trial: Trial, dtype: str) -> None:
    """The symbolic gradient of sum(A x)^2 / 2 for x is A^T A x."""
    host_a, host_x = trial.random(30, 20, dtype=dtype, seed=3), trial.random(20, 1, dtype=dtype, seed=4)
    with _graph(trial) as graph:
        a, x = v1.placeholder(trial.dtype(dtype), [30, 20]), v1.placeholder(trial.dtype(dtype), [20, 1])
        (slope,) = v1.gradients(tf.reduce_sum(tf.square(a @ x)) / 2, [x])
    found = trial.call(v1.Session(graph=graph), slope, feed_dict={a: host_a, x: host_x})
    wide = host_a.astype("float64")
    check_dtype(np.asarray(found).dtype.name, dtype)
    tolerance = 1e-4 if dtype == "float32" else 1e-10
    trial.close(np.asarray(found, "float64"), wide.T @ (wide @ host_x.astype("float64")), tolerance, tolerance)


def training(trial: Trial) -> None:
    """Gradient descent on a linear least-squares problem: the first step matches the closed form, the loss falls."""
    host_x, truth = trial.random(64, 3, seed=5), np.asarray([[1.0], [-2.0], [0.5]])
    host_y = (host_x.astype("float64") @ truth).astype("float32")
    with _graph(trial) as graph:
        x, y = v1.placeholder(tf.float32, [None, 3]), v1.placeholder(tf.float32, [None, 1])
        weights = v1.Variable(tf.zeros([3, 1]), use_resource=True)
        loss = tf.reduce_mean(tf.square(x @ weights - y))
        step = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        start = v1.global_variables_initializer()
    session = v1.Session(graph=graph)
    trial.repeatable = False
    feed = {x: host_x, y: host_y}
    trial.call(session, start)
    before = trial.call(session, loss, feed_dict=feed)
    _check(trial, before, np.mean(host_y.astype("float64") ** 2), "float32")
    trial.check(trial.call(session, step, feed_dict=feed) is None, "an operation has no value")
    wide = host_x.astype("float64")
    _check(trial, trial.call(session, weights), 0.1 * 2 / 64 * wide.T @ host_y.astype("float64"), "float32")
    for _ in range(20):
        session.run(step, feed_dict=feed)
    after = trial.call(session, loss, feed_dict=feed)
    trial.check(after < 0.1 * before, f"the loss fell only from {before:.4g} to {after:.4g} in 21 steps")


def sparse(trial: Trial) -> None:
    """A sparse tensor is fed and fetched as indices, values and shape, in any nesting; a ragged one as values and
    splits."""
    indices, shape = np.asarray([[0, 1], [2, 0]]), np.asarray([3, 4])
    values = trial.random(2, dtype="float64", seed=6)
    with _graph(trial) as graph:
        x = v1.sparse_placeholder(tf.float64)
        doubled = x.with_values(x.values * 2.0)
        rows = tf.RaggedTensor.from_row_splits(x.values, tf.constant([0, 0, 2], tf.int64), validate=False)
    feeds = {x: v1.SparseTensorValue(indices, values, shape)}
    found = trial.call(v1.Session(graph=graph), _Pair({"a": doubled}, [rows, x.dense_shape]), feeds)
    trial.check(type(found) is _Pair, f"a named tuple became {type(found)}")
    part = found.first["a"]
    trial.check(isinstance(part, v1.SparseTensorValue), f"a sparse tensor became {type(part)}")
    _check(trial, part.indices, indices, "int64")
    _check(trial, part.values, 2 * values, "float64")
    _check(trial, part.dense_shape, shape, "int64")
    trial.equal([found.second[0].values, found.second[0].row_splits, found.second[1]], [values, [0, 0, 2], shape])


def kinds_of_feeds(trial: Trial) -> None:
    """Numbers, lists, texts and arrays of another dtype are converted; a tuple of tensors takes a tuple; a fetch can
    be there twice, be a variable or the name of an operation, and the types of the nesting stay."""
    with _graph(trial) as graph:
        one, pair = v1.placeholder(tf.float32, [], name="one"), v1.placeholder(tf.int32, [2])
        with tf.device(None):
            words = v1.placeholder(tf.string, [None])
            same = tf.identity(words)
        held = v1.Variable(3.5, use_resource=True, name="held")
        half = tf.multiply(one, 0.5, name="half")
        start = held.initializer
    session = v1.Session(graph=graph)
    session.run(start)
    feeds = {(one, pair): (3, np.asarray([4.0, -5.0])), words: ["é", b"b"]}
    fetches = collections.OrderedDict([("z", [half, half, "half:0", "half"]), ("a", (pair, same)), ("held", held)])
    found = trial.call(session, fetches, feeds)
    trial.check(type(found) is collections.OrderedDict, f"an ordered dictionary became {type(found)}")
    trial.equal(list(found), ["z", "a", "held"])
    trial.equal(found["z"], [1.5, 1.5, 1.5, None])
    _check(trial, found["a"][0], [4, -5], "int32")
    trial.equal(found["a"][1].tolist(), ["é".encode(), b"b"])
    _check(trial, found["held"], 3.5, "float32")
    _check(trial, trial.call(session, one, {"one:0": True}), 1.0, "float32")
    trial.equal(trial.call(session, ()), ())


def traced(trial: Trial) -> None:
    """With options that ask for a trace, the metadata has it; without, it stays empty."""
    host = trial.random(3, seed=7)
    with _graph(trial) as graph:
        x = v1.placeholder(tf.float32, [3])
        y = tf.add(x, x, name="sum")
    session, kept, empty = v1.Session(graph=graph), v1.RunMetadata(), v1.RunMetadata()
    trial.repeatable = False
    options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
    found = trial.call(session, y, {x: host}, options=options, run_metadata=kept)
    _check(trial, found, 2 * host.astype("float64"), "float32")
    names = {node.node_name.split(":")[0] for device in kept.step_stats.dev_stats for node in device.node_stats}
    trial.check("sum" in names, f"the trace has no operation named sum, only {sorted(names)}")
    _check(trial, trial.call(session, y, {x: host}, run_metadata=empty), 2 * host.astype("float64"), "float32")
    trial.equal(len(empty.step_stats.dev_stats), 0)


def array_fed_again(trial: Trial, shape: Sequence[int], dtype: str) -> None:
    """An array that was changed in place and is fed again is read again, to each of two tensors; what was fetched
    before stays."""
    host, other = (trial.random(*shape, dtype=dtype, seed=seed) for seed in (8, 9))
    with _graph(trial) as graph:
        x, y = (v1.placeholder(trial.dtype(dtype), shape) for _ in range(2))
        z = x - y * 2
    session = v1.Session(graph=graph)
    trial.repeatable = False
    kept = []
    for change in (
        lambda: None,
        lambda: host.put(-1, 3),
        lambda: host.put(0, 5),
        lambda: np.negative(other, out=other),
    ):
        change()
        expected = host.astype("float64") - 2 * other.astype("float64")
        kept.append((trial.call(session, z, {x: host, y: other}), expected))
    kept.append((trial.call(session, z, {x: other, y: host}), other.astype("float64") - 2 * host.astype("float64")))
    for found, expected in kept:
        _check(trial, found, expected, dtype)

"""tf.compat.v1.placeholder and Tensor.eval: the tensor is checked as part of its graph and fed in a session."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.asserts import error_of
from runners.tensorflow.graph_mode import building, call_building, close, run

v1 = tf.compat.v1


def _check(trial: Trial, made: Any, graph: tf.Graph, name: str, dtype: str, shape: Any) -> None:
    # A tensor that only forwards a placeholder could be fed too; the operation's type distinguishes them.
    trial.equal((made.op.type, made.name, made.dtype.name), ("Placeholder", name, dtype))
    trial.check(made.graph is graph, "the placeholder belongs to another graph")
    found = None if made.shape.rank is None else made.shape.as_list()
    trial.check(found == shape, f"shape: expected {shape}, got {found}")


def fed(trial: Trial, shape: Sequence[int], dtype: str, special: str | None = None) -> None:
    """A value fed by the placeholder or by its name is returned unchanged, in its dtype and shape."""
    host = trial.random(*shape, dtype=dtype, seed=1, special=special).astype(trial.dtype(dtype).as_numpy_dtype)
    graph = tf.Graph()
    made = call_building(trial, graph, trial.dtype(dtype), shape, name="x")
    _check(trial, made, graph, "x:0", dtype, list(shape))
    with building(trial, graph):
        passed_on = tf.identity(made)
    with v1.Session(graph=graph) as session:
        for feed in ({made: host}, {"x:0": host}):
            close(trial, run(trial, session, passed_on, feed), host.astype(_wide(dtype)), dtype, 0.0, 0.0)


def _wide(dtype: str) -> str:
    return {"bfloat16": "float32"}.get(dtype, dtype)


def partial_shape(trial: Trial, declared: Any, fed_shapes: Sequence[Sequence[int]]) -> None:
    """Unknown dimensions accept arrays of any size; sums and shapes are those of the fed value."""
    graph = tf.Graph()
    made = call_building(trial, graph, tf.float32, declared)
    _check(trial, made, graph, "Placeholder:0", "float32", declared)
    with building(trial, graph):
        outputs = tf.reduce_sum(made), tf.shape(made)
    with v1.Session(graph=graph) as session:
        for shape in fed_shapes:
            host = trial.random(*shape, seed=2)
            total, found = run(trial, session, outputs, {made: host})
            # Sums of some hundred numbers whose terms cancel.
            close(trial, total, host.astype("float64").sum(), "float32", 1e-5, 1e-4)
            close(trial, found, np.asarray(shape, "int32"), "int32")


def strings(trial: Trial) -> None:
    """A placeholder of strings accepts bytes and text, also empty and non-ASCII ones."""
    graph = tf.Graph()
    made = call_building(trial, graph, tf.string, [None])
    _check(trial, made, graph, "Placeholder:0", "string", [None])
    with building(trial, graph):
        outputs = made + "!", tf.strings.length(made)
    with v1.Session(graph=graph) as session:
        found, lengths = run(trial, session, outputs, {made: ["ab", "", "é", b"\x00\xff"]})
    trial.equal(list(found), [b"ab!", b"!", "é!".encode(), b"\x00\xff!"])
    close(trial, lengths, [2, 0, 2, 2], "int32")


def names(trial: Trial) -> None:
    """Names are unique in their graph and start with the scope in which they are created."""
    graph = tf.Graph()

    def body(placeholder: Callable[..., Any]) -> Any:
        with building(trial, graph), v1.name_scope("inputs"):
            return [placeholder(tf.int32, [], name="x") for _ in range(2)]

    # Names that are used again get the next numbers.
    trial.repeatable = False
    first, second = trial.call_inside(body)
    trial.repeatable = True
    third = call_building(trial, graph, tf.int64, [2], name="x")
    _check(trial, first, graph, "inputs/x:0", "int32", [])
    _check(trial, second, graph, "inputs/x_1:0", "int32", [])
    _check(trial, third, graph, "x:0", "int64", [2])
    device, wanted = (tf.DeviceSpec.from_string(name).to_string() for name in (first.device, trial.device))
    trial.equal(device, wanted)


def refused(trial: Trial) -> None:
    """Without a value, with one of another shape or rank, or with one that has no conversion, running fails."""
    graph = tf.Graph()
    made = call_building(trial, graph, tf.int32, (2, None), "x")
    _check(trial, made, graph, "x:0", "int32", [2, None])
    with building(trial, graph):
        doubled = made * 2
    unfit = [
        ({}, tf.errors.InvalidArgumentError),
        ({made: np.zeros((3, 2), "int32")}, ValueError),
        ({made: np.zeros((1, 2), "int32")}, ValueError),
        ({made: [1, 2]}, ValueError),
        ({made: [["a"], ["b"]]}, ValueError),
    ]
    with v1.Session(graph=graph) as session:
        for feeds, kind in unfit:
            error = error_of(session.run, doubled, feeds)
            trial.check(isinstance(error, kind), f"the feeds {feeds} gave {error!r}, expected {kind.__name__}")
        close(trial, run(trial, session, doubled, {made: [[1.0], [-3.0]]}), [[2], [-6]], "int32")


def differentiated(trial: Trial, dtype: str) -> None:
    """A gradient for a placeholder is computed at the fed value: for sum(x^3) it is 3 x^2."""
    host = trial.random(4, 5, dtype=dtype, seed=3)
    graph = tf.Graph()
    made = call_building(trial, graph, trial.dtype(dtype), [None, 5])
    _check(trial, made, graph, "Placeholder:0", dtype, [None, 5])
    with building(trial, graph):
        (slope,) = v1.gradients(tf.reduce_sum(made * made * made), [made])
    with v1.Session(graph=graph) as session:
        close(trial, run(trial, session, slope, {made: host}), 3 * host.astype("float64") ** 2, dtype)


def eval_moved(trial: Trial, shape: Sequence[int], dtype: str, special: str | None = None) -> None:
    """The value of a transposition is exact in every dtype, as a NumPy array or scalar."""
    host = trial.random(*shape, dtype=dtype, seed=1, special=special).astype(trial.dtype(dtype).as_numpy_dtype)
    with building(trial) as graph:
        x = v1.placeholder(trial.dtype(dtype), [None] * len(shape))
        y = tf.transpose(x)
    found = trial.call(y, feed_dict={x: host}, session=v1.Session(graph=graph))
    trial.check(isinstance(found, (np.ndarray, np.generic)), f"expected a NumPy array, got {type(found).__name__}")
    close(trial, found, host.astype(_wide(dtype)).T, dtype, 0.0, 0.0)


def eval_product(trial: Trial, size: int, dtype: str) -> None:
    """The value of a matrix product matches NumPy's."""
    host = trial.random(size, size + 1, dtype=dtype, seed=2)
    with building(trial) as graph:
        x = v1.placeholder(trial.dtype(dtype), [size, size + 1])
        y = tf.matmul(x, x, adjoint_b=True)
    found = trial.call(y, {x: host}, v1.Session(graph=graph))
    wide = host.astype("complex128" if dtype.startswith("complex") else "float64")
    narrow = dtype in ("float32", "complex64")
    # Sums of products cancel: the error is that of the largest terms.
    tolerance = 1e-6 * size if narrow else 1e-15 * size
    close(trial, found, wide @ wide.conj().T, dtype, tolerance, 10 * tolerance)


def eval_default_session(trial: Trial) -> None:
    """Without a session it uses the entered one, and a feed in the middle of the graph is used from there on."""
    with building(trial) as graph:
        x = tf.constant([1.5, -2.0, 4.0])
        middle = x * 10.0
        y = middle + 1.0
    session = v1.Session(graph=graph)

    def body(evaluate: Callable[..., Any]) -> Any:
        with session.as_default():
            return evaluate(y), evaluate(y, feed_dict={middle: np.asarray([7.0, 8.0, 9.0], "float32")})

    computed, overridden = trial.call_inside(body)
    close(trial, computed, [16.0, -19.0, 41.0], "float32")
    close(trial, overridden, [8.0, 9.0, 10.0], "float32")


def eval_state(trial: Trial) -> None:
    """The given session determines the variables' values; each evaluation of an addition adds once."""
    with building(trial) as graph:
        total = v1.get_variable("total", initializer=tf.constant([10, 20], tf.int64), use_resource=True)
        add = total.assign_add([1, 2])
        held = tf.identity(total.read_value())
        start = v1.global_variables_initializer()
    first, second = v1.Session(graph=graph), v1.Session(graph=graph)
    for session in (first, second):
        session.run(start)
    trial.repeatable = False
    for count in (1, 2, 3):
        close(trial, trial.call(add, session=first), [10 + count, 20 + 2 * count], "int64")
    close(trial, trial.call(held, session=first), [13, 26], "int64")
    close(trial, trial.call(held, session=second), [10, 20], "int64")


def eval_dynamic(trial: Trial, length: int) -> None:
    """The length of a selection depends on the values: one tensor gives results of several shapes."""
    with building(trial) as graph:
        x = v1.placeholder(tf.float32, [None])
        kept = tf.boolean_mask(x, x > 0)
        unique, index = tf.unique(tf.cast(x, tf.int32))
    session = v1.Session(graph=graph)
    for seed, low, high in ((3, -2.0, 2.0), (4, -3.0, -1.0)):
        host = trial.random(length, seed=seed, low=low, high=high)
        close(trial, trial.call(kept, {x: host}, session), host[host > 0], "float32")
        whole = host.astype("int32")
        found = trial.call(unique, {x: host}, session)
        _, first = np.unique(whole, return_index=True)
        close(trial, found, whole[np.sort(first)], "int32")
        close(trial, found[trial.call(index, {x: host}, session)], whole, "int32")


def eval_strings(trial: Trial) -> None:
    """A string is returned as bytes, an array of strings as an array of objects."""
    with building(trial) as graph:
        words = tf.constant([["ab", ""], ["é", "xyz"]])
        joined = tf.strings.reduce_join(words)
    session = v1.Session(graph=graph)
    found = trial.call(words, session=session)
    trial.equal((found.dtype.name, found.shape), ("object", (2, 2)))
    trial.equal(found.tolist(), [[b"ab", b""], ["é".encode(), b"xyz"]])
    trial.equal(trial.call(joined, session=session), "abéxyz".encode())


def eval_given_session(trial: Trial) -> None:
    """A given session is used, not the entered one; several tensors can be fed, also the evaluated one, and values are
    converted to their dtypes."""
    with building(trial) as graph:
        x, y = v1.placeholder(tf.float64, [2]), v1.placeholder_with_default(np.int32(7), [])
        held = v1.get_variable("held", initializer=tf.constant(2.0, tf.float64), use_resource=True)
        output = x * tf.cast(y, tf.float64) + held
        change = held.assign(5.0)
        start = v1.global_variables_initializer()
    entered, given = v1.Session(graph=graph), v1.Session(graph=graph)
    for session in (entered, given):
        session.run(start)
    given.run(change)

    def body(evaluate: Callable[..., Any]) -> Any:
        with entered.as_default():
            first = evaluate(output, {x: [1, -2]}), evaluate(output, {x: (0.5, 3), y: 4}, given)
            return (*first, evaluate(output, session=given, feed_dict={output: np.asarray([9, 8])}), evaluate(y))

    found = trial.call_inside(body)
    for array, wanted in zip(found, ([9.0, -12.0], [7.0, 17.0], [9.0, 8.0])):
        close(trial, array, wanted, "float64")
    close(trial, found[3], 7, "int32")


def eval_edges(trial: Trial, dtype: str) -> None:
    """NaN, infinities, zeros of both signs and the ends of the dtype are returned as they were fed."""
    host = trial.random(3, 31, dtype=dtype, seed=5, special="edges").astype(trial.dtype(dtype).as_numpy_dtype)
    with building(trial) as graph:
        x = v1.placeholder(trial.dtype(dtype), [None, 31])
        y = tf.reverse(x, [0])
    found = trial.call(y, {x: host}, v1.Session(graph=graph))
    trial.equal((found.dtype, found.shape), (host.dtype, host.shape))
    trial.check(found.tobytes() == host[::-1].tobytes(), "some bits are others")


def eval_refuses(trial: Trial, what: str) -> None:
    """A placeholder without a value, a value of another shape, and a session of another graph are errors."""
    with building(trial) as graph:
        x = v1.placeholder(tf.float32, [2])
        y = x * 2
    other = v1.Session(graph=tf.Graph())
    kinds, word, args = {
        "unfed": (["InvalidArgumentError"], "feed", (None, v1.Session(graph=graph))),
        "shape": (["ValueError"], "shape", ({x: [1.0, 2.0, 3.0]}, v1.Session(graph=graph))),
        "graph": (["ValueError"], "graph", ({}, other)),
    }[what]
    trial.raises(kinds, word, y, *args)

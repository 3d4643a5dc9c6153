"""One plain use of a function whose arguments are numbers, lists or objects: how it is called, and what it returns.

For cases that check the same promise for many functions, such as that a call changes nothing else.
"""

from __future__ import annotations

import tempfile
from typing import Any, Callable, Mapping, NamedTuple, Sequence

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1


class Use(NamedTuple):
    """``given`` are the lists, dictionaries and arrays that the function gets, ``call`` gets the function and them, and
    returns plain values and tensors, which are ``expected``. It may add to the collections ``collects`` of a graph."""

    given: Any
    call: Callable[[Callable[..., Any], Any], Any]
    expected: Any
    collects: Sequence[str] = ()


def _records() -> Any:
    example = tf.train.SequenceExample()
    example.context.feature["a"].int64_list.value.extend([3, -4])
    example.feature_lists.feature_list["b"].feature.add().float_list.value.append(1.5)
    return [
        example.SerializeToString(),
        {"a": tf.io.FixedLenFeature([2], tf.int64)},
        {"b": tf.io.FixedLenSequenceFeature([], tf.float32)},
    ]


def _read(parse: Callable[..., Any], given: Any) -> Any:
    context, lists = parse(given[0], given[1], given[2])
    return [context["a"], lists["b"]]


def _found(make: Callable[..., Any], given: Any) -> Any:
    table = tf.lookup.StaticHashTable(make(given[0], given[1], tf.int64, tf.int64), -1)
    return table.lookup(tf.constant([2, 5, 1], tf.int64))


def _averaged(average: Callable[..., Any], given: Any) -> Any:
    variables = [tf.Variable(given[0]), tf.Variable(given[1])]
    averages = average(0.5)
    averages.apply(variables)
    for variable in variables:
        variable.assign_add(tf.ones_like(variable))
    averages.apply(variables)
    return [averages.average(variable) for variable in variables]


def _in_graph(call: Callable[[Callable[..., Any], Any], Any]) -> Callable[[Callable[..., Any], Any], Any]:
    def run(function: Callable[..., Any], given: Any) -> Any:
        with tf.Graph().as_default(), v1.Session() as session:
            fetches, feeds = call(function, given)
            session.run([v1.global_variables_initializer(), v1.local_variables_initializer()])
            return [session.run(fetch, feeds) for fetch in fetches]

    return run


def _fed(placeholder: Callable[..., Any], given: Any) -> Any:
    made = placeholder(tf.float32, given[0])
    return [made * 2.0], {made: given[1]}


def _measured(accuracy: Callable[..., Any], given: Any) -> Any:
    value, update = accuracy(given[0], given[1], weights=given[2], metrics_collections=given[3])
    return [update, value], None


def _stepped(get_global_step: Callable[..., Any], given: Any) -> Any:
    v1.train.create_global_step()
    return [get_global_step()], None


def _asked(is_initialized: Callable[..., Any], given: Any) -> Any:
    return [is_initialized(v1.get_variable("asked", initializer=given))], None


def _started(initializer: Callable[..., Any], given: Any) -> Any:
    with tf.Graph().as_default(), v1.Session() as session:
        variable = v1.get_variable("started", initializer=given)
        session.run(initializer())
        return session.run(variable)


def _run(run: Callable[..., Any], given: Any) -> Any:
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [2], name="x")
        feeds = {x: given[0]}
        found = run(session, {"double": x * 2.0, "parts": (x[0], [x[1]])}, feeds)
        if list(feeds) != [x] or feeds[x] is not given[0]:
            raise AssertionError("the dictionary of feeds has changed")
        return [found["double"], *found["parts"][1], found["parts"][0]]


def _flushed(flush: Callable[..., Any], given: Any) -> Any:
    writer = tf.summary.create_file_writer(tempfile.mkdtemp(prefix="summaries-"))
    with writer.as_default(step=given[0]):
        tf.summary.write("a", tf.constant(1.0))
    flushed = [flush(writer), flush()]
    writer.close()
    return [each is None for each in flushed]


def _shape(get_shape: Callable[..., Any], given: Any) -> Any:
    return get_shape(tf.zeros(given)).as_list()


def _kept(data_set: Any) -> Any:
    return [np.asarray(each) for each in data_set.as_numpy_iterator()]


def _batched(ragged: Callable[..., Any], given: Any) -> Any:
    rows = tf.data.Dataset.range(1, 4).map(tf.range)
    return [batch.to_list() for batch in rows.apply(ragged(given[0]))]


USES: Mapping[str, Callable[[], Use]] = {
    "accuracy": lambda: Use(
        [[1, 2, 3], [1, 2, 4], [1.0, 0.0, 1.0], ["kept"]], _in_graph(_measured), [np.float32(0.5), np.float32(0.5)]
    ),
    "asked": lambda: Use(np.asarray([1.0, 2.0], "float32"), _in_graph(_asked), [True]),
    "assert-less": lambda: Use([[1, 2], [2, 3]], lambda f, given: f(given[0], given[1]) is None, True),
    "averages": lambda: Use(
        [[1.0, 2.0], [3.0]], _averaged, [[1.5, 2.5], [3.5]], [v1.GraphKeys.MOVING_AVERAGE_VARIABLES]
    ),
    "batch-size": lambda: Use(24, lambda f, given: f(tf.distribute.InputContext(2, 1, 3), given), 8),
    "fed": lambda: Use([[2, None], [[1.0], [-2.0]]], _in_graph(_fed), [[[2.0], [-4.0]]]),
    "flushed": lambda: Use([3], _flushed, [True, True]),
    "intersection": lambda: Use(
        [[[1, 2, 3]], [[3, 1, 5]]], lambda f, given: f(given[0], given[1]).values, np.asarray([1, 3], "int32")
    ),
    "listed": lambda: Use([[1, 2], [3, 4]], lambda f, given: _kept(f(given)), [[1, 2], [3, 4]]),
    "mask": lambda: Use([1, 3], lambda f, given: f(given, 3), [[True, False, False], [True, True, True]]),
    "nest": lambda: Use(
        [[1, [2]], {"a": [5]}],
        lambda f, given: [f(given[0], lambda a, b: a + b, given[0], [10, [20]]), f({"a": 0}, len, given[1])["a"]],
        [[11, [22]], 1],
    ),
    "ragged": lambda: Use([2], _batched, [[[0], [0, 1]], [[0, 1, 2]]]),
    "range": lambda: Use([3, 18, 4], lambda f, given: f(*given), np.asarray([3, 7, 11, 15], "int32")),
    "read": lambda: Use(_records(), _read, [[3, -4], [1.5]]),
    "run": lambda: Use([np.asarray([1.0, -2.0], "float32")], _run, [[2.0, -4.0], np.float32(-2), np.float32(1)]),
    "shape": lambda: Use([2, 0, 3], _shape, [2, 0, 3]),
    "shard": lambda: Use([3, 1], lambda f, given: _kept(f(tf.data.Dataset.range(8), *given)), [1, 4, 7]),
    "started": lambda: Use(np.asarray([1.0, 2.0], "float32"), _started, [1.0, 2.0]),
    "stepped": lambda: Use(None, _in_graph(_stepped), [0]),
    "table": lambda: Use([[1, 2], [10, 20]], _found, [20, -1, 10], [v1.GraphKeys.TABLE_INITIALIZERS]),
    "zeros": lambda: Use([2, 3], lambda f, given: f(given), np.zeros([2, 3], "float32")),
}

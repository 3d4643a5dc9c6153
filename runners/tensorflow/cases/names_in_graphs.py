"""Names and static shapes of what a function adds to a TensorFlow 1 graph."""

from __future__ import annotations

import functools
from typing import Any, Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.subjects import SUBJECTS, Given, Subject
from runners.tensorflow.graph_mode import beside, building, close
from runners.tensorflow.printed import check_written, new_file

v1 = tf.compat.v1
_TEXT = tf.train.SequenceExample().SerializeToString()

_OTHERS: Mapping[str, Subject] = {
    "gamma": Subject([Given([3], 1, 2)], lambda f, a: f([2], a, 2.0 * a), lambda a: a),
    "parameter-shapes": Subject([], lambda f: f([2, 3])["scale"], lambda: np.ones(2)),
    "sequence": Subject(
        [], lambda f: f(_TEXT, {"a": tf.io.FixedLenFeature([1], tf.float32, [2.0])})[0]["a"], lambda: np.ones(1)
    ),
    "smart-cond-of-tensor": Subject(
        [Given([])], lambda f, x: f(x > 0.0, lambda: tf.identity(x), lambda: -x), lambda x: abs(x)
    ),
}


def results(
    trial: Trial, args: Sequence[Any], expected: Any, options: Mapping[str, Any] = {}, dtype: str = "float32"
) -> None:
    """The operation, or all operations of a function that needs several, has the given name inside of the scope around
    the call; a second call with this name is numbered. The shape is known before the graph is run."""

    def body(function: Callable[..., Any]) -> Any:
        with building(trial) as graph, tf.name_scope("part"):
            return graph, [function(*args, name="own", **options) for _ in range(2)]

    graph, found = trial.call_inside(body)
    for tensor, name in zip(found, ("part/own", "part/own_1")):
        path = tensor.op.name
        trial.check(path == name or path.startswith(name + "/"), f"the result is named {path}, expected {name}")
        trial.equal(tensor.shape.as_list(), list(np.shape(expected)))
    with v1.Session(graph=graph) as session:
        for value in session.run(found):
            close(trial, value, expected, dtype)


def subjects(trial: Trial, subject: str) -> None:
    """The output's name begins with the scope and the given name, which a second call makes unique; without a name it
    has another one. The static shape, type and graph of the output do not depend on the name."""
    called = {**SUBJECTS, **_OTHERS}[subject]
    hosts = called.hosts(trial, "float32")

    def body(function: Callable[..., Any]) -> Any:
        with building(trial) as graph:
            inputs = [v1.placeholder(tf.float32, host.shape) for host in hosts]
            with tf.name_scope("outer"):
                kept = functools.partial(function, name="kept")
                return graph, [called.call(each, *inputs) for each in (kept, kept, function)]

    graph, (first, second, plain) = trial.call_inside(body)
    parts = [output.op.name.split("/")[:2] for output in (first, second)]
    trial.equal(parts, [["outer", "kept"], ["outer", "kept_1"]])
    trial.check(plain.op.name.startswith("outer/"), f"the scope is left out: {plain.op.name}")
    trial.check("kept" not in plain.op.name, f"a name was kept from the call before: {plain.op.name}")
    for output in (first, second):
        trial.check(output.graph is graph, "the output is in another graph")
        trial.equal((output.dtype, str(output.shape)), (plain.dtype, str(plain.shape)))


def prints(trial: Trial) -> None:
    """An operation that prints has the given name, inside of the scope around, and a second one is numbered; without
    anything to print it writes the end of a line."""
    file, graph = new_file(), tf.Graph()

    def body(function: Callable[..., Any]) -> Any:
        with beside(graph), tf.name_scope("part"):
            options = {"output_stream": f"file://{file}", "name": "own"}
            return function("a {} %s", 1.5, **options), function(**options)

    # A second call would print more.
    trial.repeatable = False
    found = trial.call_inside(body)
    trial.equal([each.name for each in found], ["part/own", "part/own_1"])
    with v1.Session(graph=graph) as session:
        for each in found:
            session.run(each)
    check_written(trial, file, "a {} %s 1.5\n\n")


def diagonals(trial: Trial, shape: Sequence[int | None], k: int, expected: Sequence[int | None]) -> None:
    """While a tf.function is traced the shape of a matrix with this diagonal is known as far as that of the diagonal
    is."""
    host = trial.random(*(3 if size is None else size for size in shape), seed=1)
    given, found = trial.tensor(host), []

    def body(diagflat: Callable[..., Any]) -> Any:
        def traced(x: Any) -> Any:
            output = diagflat(x, k)
            found.append(output.shape.as_list())
            return output

        return tf.function(traced, autograph=False, input_signature=[tf.TensorSpec(shape, tf.float32)])(given)

    trial.close(trial.call_inside(body), np.diagflat(host, k), dtype="float32")
    trial.equal(found[-1], list(expected))

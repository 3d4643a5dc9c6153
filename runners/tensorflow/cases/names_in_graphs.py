"""Names and static shapes of what a function adds to a TensorFlow 1 graph."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import beside, building, close
from runners.tensorflow.printed import check_written, new_file

v1 = tf.compat.v1


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

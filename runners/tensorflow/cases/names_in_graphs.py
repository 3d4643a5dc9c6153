"""Names and static shapes of what a function adds to a TensorFlow 1 graph."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import building, close

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

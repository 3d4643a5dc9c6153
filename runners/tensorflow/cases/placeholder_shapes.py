"""tf.compat.v1.placeholder: shapes that are given in several ways."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import building, call_building

v1 = tf.compat.v1


def given_as(trial: Trial) -> None:
    """A shape can be a TensorShape, whole, partly known or unknown, a tuple, or numbers of NumPy; the list that was
    given can change afterwards. Each placeholder can be fed."""
    changed: list[Any] = [2, None]
    shapes: list[tuple[Any, Any]] = [
        (tf.TensorShape([2, None]), [2, None]),
        (tf.TensorShape([]), []),
        (tf.TensorShape(None), None),
        ((np.int64(2), 3), [2, 3]),
        (np.asarray([2, 0]), [2, 0]),
        ([tf.compat.v1.Dimension(2), None], [2, None]),
        (changed, [2, None]),
    ]
    trial.repeatable = False
    for (shape, expected), name in itertools.product(shapes, ("kept", None)):
        graph = tf.Graph()
        changed[:] = [2, None]
        made = call_building(trial, graph, tf.float32, shape, name=name)
        changed[:] = [7]
        trial.equal((made.dtype, made.graph is graph), (tf.float32, True))
        trial.equal((made.op.type, made.op.name), ("Placeholder", name or "Placeholder"))
        trial.equal(None if made.shape.rank is None else made.shape.as_list(), expected)
        host = np.ones([3 if size is None else size for size in expected or []], "float32")
        with building(trial, graph), v1.Session(graph=graph) as session:
            trial.equal(session.run(made + 1.0, {made: host}), host + 1)

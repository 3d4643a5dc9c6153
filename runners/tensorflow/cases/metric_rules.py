"""tf.compat.v1.metrics.accuracy: several metrics of one graph."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import building, close

v1 = tf.compat.v1


def of_one_graph(trial: Trial, name: str | None) -> None:
    """Metrics of one graph count apart from each other, also if their names are equal, with weights in a list or not. A
    metric can be in several collections. Its variables are local: not global, and not trained."""
    with building(trial) as graph:
        first, second = v1.placeholder(tf.int32, [4]), v1.placeholder(tf.int32, [4])

    def body(accuracy: Callable[..., Any]) -> Any:
        with building(trial, graph):
            options = {"metrics_collections": ("m", "n"), "updates_collections": ["u", "n"]}
            pairs = [accuracy(first, second, name=name), accuracy(first, first + 1, name=name)]
            return [*pairs, accuracy(first, second, [1.0, 0.0, 0.0, 3.0], name=name, **options)]

    trial.repeatable = False
    pairs = trial.call_inside(body)
    value, update = pairs[-1]
    found = [graph.get_collection(key) for key in ("m", "u", "n")]
    trial.check(found == [[value], [update], [value, update]], f"the collections have {found}")
    trial.equal([len(graph.get_collection(key)) for key in ("local_variables", "metric_variables")], [6, 6])
    trial.equal([len(graph.get_collection(key)) for key in ("variables", "trainable_variables")], [0, 0])
    with building(trial, graph):
        start = v1.local_variables_initializer()
    with v1.Session(graph=graph) as session:
        session.run(start)
        feeds = {first: [1, 2, 3, 4], second: [1, 2, 0, 0]}
        for _ in range(2):
            for each, expected in zip(session.run([update for _, update in pairs], feeds), (0.5, 0.0, 0.25)):
                close(trial, each, expected, "float32")
        session.run(pairs[0][1], {first: [5] * 4, second: [5] * 4})
        for each, expected in zip(session.run([value for value, _ in pairs]), (8 / 12, 0.0, 0.25)):
            close(trial, each, expected, "float32")


def long_batches(trial: Trial, dtype: str, count: int, weighted: bool) -> None:
    """Of batches of a known length all elements count, the last ones too; NaN equals nothing, not NaN either."""
    labels = trial.random(count, dtype="int32", seed=1, high=3).astype(dtype)
    predictions = labels.copy()
    predictions[count // 2 :] += 1
    predictions[-1] -= 1
    if dtype.startswith("float"):
        labels[::5] = predictions[::7] = np.nan
        labels[1], predictions[1] = np.inf, np.inf
    weights = np.arange(1.0, count + 1).astype("float32") if weighted else np.ones(count, "float32")
    with building(trial) as graph:
        given = [v1.placeholder(trial.dtype(dtype), [count]) for _ in range(2)]
        fixed = [tf.constant(labels), tf.constant(predictions)]

    def body(accuracy: Callable[..., Any]) -> Any:
        with building(trial, graph):
            options = {"weights": weights} if weighted else {}
            return [accuracy(*pair, **options) for pair in (given, fixed)]

    trial.repeatable = False
    pairs = trial.call_inside(body)
    expected = weights[labels == predictions].sum(dtype="float64") / weights.sum(dtype="float64")
    with building(trial, graph):
        start = v1.local_variables_initializer()
    with v1.Session(graph=graph) as session:
        session.run(start)
        for _ in range(2):
            for found in session.run([update for _, update in pairs], dict(zip(given, (labels, predictions)))):
                close(trial, found, expected, "float32")

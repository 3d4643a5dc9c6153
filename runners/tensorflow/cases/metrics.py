"""tf.compat.v1.metrics.accuracy: the share of equal elements over batches."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import building, call_building, close, run

v1 = tf.compat.v1


def _accuracies(
    trial: Trial,
    batches: Sequence[Sequence[Any]],
    dtypes: Sequence[str],
    weighted: bool = False,
    known: bool = False,
    **options: Any,
) -> None:
    """Feed batches of labels, predictions and, if ``weighted``, weights: each update and the value after it must be
    the weighted share of equal elements so far."""
    with building(trial) as graph:
        shapes = [np.shape(each) if known else None for each in batches[0]]
        fed = [v1.placeholder(trial.dtype(dtype), shape) for dtype, shape in zip(dtypes, shapes)]
    if weighted:
        options["weights"] = fed[2]
    # Each call creates its own local variables, so that it can be repeated.
    value, update = call_building(trial, graph, fed[0], fed[1], **options)
    trial.equal((value.dtype.name, update.dtype.name), ("float32", "float32"))
    with building(trial, graph):
        start = v1.local_variables_initializer()
    with v1.Session(graph=graph) as session:
        session.run(start)
        close(trial, session.run(value), 0.0, "float32")
        hits = total = 0.0
        for batch in batches:
            labels, predictions = np.asarray(batch[0]), np.asarray(batch[1])
            weights = np.broadcast_to(np.asarray(batch[2]) if weighted else 1.0, labels.shape).astype("float64")
            hits += (weights * (labels == predictions)).sum()
            total += weights.sum()
            expected = hits / total if total else 0.0
            close(trial, run(trial, session, update, dict(zip(fed, batch))), expected, "float32")
            # Reading does not change it.
            close(trial, session.run(value), expected, "float32")
            close(trial, session.run(value), expected, "float32")


def accuracy(trial: Trial, shape: Sequence[int], dtype: str, low: int = 0, known: bool = False) -> None:
    """Over three batches it is the share of predictions so far that equal their labels, which begin with ``low``; the
    shape is ``known`` when the graph is built, or not."""
    batches = []
    for seed in (1, 2, 3):
        labels = trial.random(*shape, dtype="int64", seed=seed, low=low, high=low + 3).astype(dtype)
        predictions = trial.random(*shape, dtype="int64", seed=seed + 10, low=low, high=low + 2).astype(dtype)
        batches.append((labels, predictions))
    _accuracies(trial, batches, (dtype, dtype), known=known)


def accuracy_uneven(trial: Trial) -> None:
    """Batches of different sizes count by their elements: an empty one changes nothing, NaN equals nothing."""
    batches = [
        ([1.0, 2.0, 3.0], [1.0, 0.0, 3.0]),
        ([], []),
        ([np.nan, np.inf, -0.0, 5.0, 6.0], [np.nan, np.inf, 0.0, 5.0, 6.5]),
        ([7.0], [7.0]),
    ]
    _accuracies(trial, batches, ("float32", "float32"))


def accuracy_weighted(trial: Trial, shape: Sequence[int], dtype: str) -> None:
    """Weights for all, for each row or for each element give a weighted share; weights of 0 everywhere count
    nothing."""
    batches = []
    for seed in (1, 2):
        labels = trial.random(6, 4, dtype="int32", seed=seed, high=3)
        predictions = trial.random(6, 4, dtype="int32", seed=seed + 10, high=3)
        weights = trial.random(*shape, dtype="int64", seed=seed + 20, high=8).astype(dtype)
        batches.append((labels, predictions, weights))
    batches.append((labels, labels, np.zeros(shape, dtype)))
    _accuracies(trial, batches, ("int32", "int32", dtype), weighted=True)


def accuracy_cast(trial: Trial) -> None:
    """Predictions are converted to the labels' dtype: with integer labels 2.9 and 1.2 count as 2 and 1."""
    with building(trial) as graph:
        labels = tf.constant([2, 1, 0, 3], tf.int32)
        predictions = tf.constant([2.9, 1.2, 1.0, 4.5])
    _, update = call_building(trial, graph, labels, predictions)
    with building(trial, graph):
        start = v1.local_variables_initializer()
    with v1.Session(graph=graph) as session:
        session.run(start)
        # int(2.9) = 2, int(1.2) = 1; 1 is not 0, 4 is not 3.
        close(trial, run(trial, session, update), 0.5, "float32")


def accuracy_squeezed(trial: Trial) -> None:
    """A trailing dimension of 1 on one side only is removed, so that nothing is broadcast."""
    labels, predictions = np.asarray([0, 1, 2, 3, 4]), np.asarray([0, 1, 0, 3, 0])
    for label_shape, prediction_shape in (([5, 1], [5]), ([5], [5, 1])):
        with building(trial) as graph:
            given = (
                tf.constant(labels.reshape(label_shape)),
                tf.constant(predictions.reshape(prediction_shape)),
            )
        _, update = call_building(trial, graph, *given)
        with building(trial, graph):
            start = v1.local_variables_initializer()
        with v1.Session(graph=graph) as session:
            session.run(start)
            close(trial, run(trial, session, update), 0.6, "float32")


def accuracy_collected(trial: Trial) -> None:
    """Value and update are added to the given collections, the variables to the local and metric ones."""
    with building(trial) as graph:
        labels, predictions = tf.constant([1, 2, 3, 4]), tf.constant([1, 2, 3, 0])
    # A second call would add to the collections again.
    trial.repeatable = False
    value, update = call_building(
        trial, graph, labels, predictions, metrics_collections=["means"], updates_collections=["steps"], name="hits"
    )
    trial.check(graph.get_collection("means") == [value], "the value is not in its collection")
    trial.check(graph.get_collection("steps") == [update], "the update is not in its collection")
    names = ["hits/total:0", "hits/count:0"]
    for key in (v1.GraphKeys.LOCAL_VARIABLES, v1.GraphKeys.METRIC_VARIABLES):
        trial.equal([variable.name for variable in graph.get_collection(key)], names)
    trial.equal(graph.get_collection(v1.GraphKeys.TRAINABLE_VARIABLES), [])
    with building(trial, graph):
        start = v1.local_variables_initializer()
    with v1.Session(graph=graph) as session:
        session.run(start)
        close(trial, run(trial, session, update), 0.75, "float32")
        close(trial, session.run(value), 0.75, "float32")
        total, count = session.run(graph.get_collection(v1.GraphKeys.LOCAL_VARIABLES))
        close(trial, total, 3.0, "float32")
        close(trial, count, 4.0, "float32")
        # After another initialization it starts again.
        session.run(start)
        close(trial, session.run(value), 0.0, "float32")


def accuracy_close(trial: Trial) -> None:
    """Values are compared in the labels' dtype: neighbors that float32 cannot tell apart are different, and so are
    texts."""
    whole = [([2**53, 2**53 + 1, -5], [2**53, 2**53, -5]), ([2**31], [-(2**31)])]
    _accuracies(trial, whole, ("int64", "int64"))
    fractions = [([1.0, 0.1, -0.0], [1 + 2**-52, 0.1, 0.0]), ([1e300, np.inf], [1e-300, -np.inf])]
    _accuracies(trial, fractions, ("float64", "float64"))
    words = [(np.asarray(["a", "b", ""], object), np.asarray(["a", "B", ""], object))]
    _accuracies(trial, words, ("string", "string"))


def accuracy_signed_weights(trial: Trial) -> None:
    """Fractions of weights count, with their sign, also as half precision, which is summed in float32."""
    labels, predictions = np.asarray([[1, 2, 3], [4, 5, 6]]), np.asarray([[1, 0, 3], [0, 5, 6]])
    batches = [(labels, predictions, [[0.5, 0.25, -0.125], [3.0, 2.5, 0.75]])]
    many = np.ones([2, 3000], "int64")
    batches.append((many, many * [[1], [2]], np.full([2, 3000], 0.75)))
    for dtype in ("float16", "float64"):
        _accuracies(trial, batches, ("int64", "int64", dtype), weighted=True)


def accuracy_wide(trial: Trial, dtype: str, near: int, weighted: bool) -> None:
    """Labels and predictions that differ by one are different, whatever their size; weights of a square are for the
    rows or for the columns."""
    labels = np.asarray([[near, near + 1, -near], [1, near + 1, near], [-near - 1, 0, near + 1]], dtype)
    predictions = np.asarray([[near, near, -near], [1, near + 1, near + 1], [-near, 0, near + 1]], dtype)
    if not weighted:
        _accuracies(trial, [(labels, predictions), (predictions, labels)], (dtype, dtype))
        return
    weights = np.asarray([1.0, 2.0, 4.0], "float32")
    for each in (weights[:, None], weights[None]):
        _accuracies(trial, [(labels, predictions, each)], (dtype, dtype, "float32"), weighted=True)

"""Metrics of ``tf.compat.v1.metrics``: each is updated once, in a graph and a session of its own."""

from __future__ import annotations

from typing import Any, Mapping

import tensorflow as tf

from runners.tensorflow.samples.programs.lines import Lines, in_session

_v1 = tf.compat.v1
_TRUE, _GUESSED = [True, False, True, True], [True, True, False, True]
_SHARES = [0.9, 0.6, 0.4, 0.7]
_CLASSES, _GUESSES = [0, 1, 2, 1], [0, 2, 2, 1]
_THRESHOLDS = [0.3, 0.5, 0.8]


def _metric(*given: Any, **more: Any) -> Lines:
    """What the metric says after one update with these arguments: lists are tensors, functions are of the tensor."""

    def lines(function: Any, session: Any, x: Any) -> Any:
        def made(each: Any) -> Any:
            return each(x) if callable(each) else tf.constant(each) if isinstance(each, list) else each

        value, update = function(*map(made, given), **more)
        session.run(_v1.local_variables_initializer())
        session.run(update)
        return session.run(value)

    return in_session(lines)


def _first(x: Any) -> Any:
    return tf.constant(x)


def _second(x: Any) -> Any:
    return tf.constant(x * x)


def _labels(x: Any) -> Any:
    return tf.constant([[1], [0], [2]], tf.int64)


_OF_NUMBERS = _metric(_first, _second)
_OF_TRUTH = _metric(_TRUE, _GUESSED)
_AT_THRESHOLDS = _metric(_TRUE, _SHARES, thresholds=_THRESHOLDS)
_AT_K = _metric(_labels, _first, 2)
_AT_TOP_K = _metric(_labels, lambda x: tf.constant([[1, 2], [3, 1], [2, 0]], tf.int64), k=2)

LINES: Mapping[str, Lines] = {
    f"tf.compat.v1.metrics.{name}": lines
    for name, lines in {
        "accuracy": _metric(_CLASSES, _GUESSES),
        "auc": _metric(_TRUE, _SHARES),
        "average_precision_at_k": _AT_K,
        "false_negatives": _OF_TRUTH,
        "false_negatives_at_thresholds": _AT_THRESHOLDS,
        "false_positives": _OF_TRUTH,
        "false_positives_at_thresholds": _AT_THRESHOLDS,
        "mean": _metric(_first),
        "mean_absolute_error": _OF_NUMBERS,
        "mean_cosine_distance": _metric(_first, _second, 1),
        "mean_iou": _metric(_CLASSES, _GUESSES, 3),
        "mean_per_class_accuracy": _metric(_CLASSES, _GUESSES, 3),
        "mean_relative_error": _metric(_first, _second, _first),
        "mean_squared_error": _OF_NUMBERS,
        "mean_tensor": _metric(_first),
        "percentage_below": _metric(_first, 0.5),
        "precision": _OF_TRUTH,
        "precision_at_k": _AT_K,
        "precision_at_thresholds": _AT_THRESHOLDS,
        "precision_at_top_k": _AT_TOP_K,
        "recall": _OF_TRUTH,
        "recall_at_k": _AT_K,
        "recall_at_thresholds": _AT_THRESHOLDS,
        "recall_at_top_k": _AT_TOP_K,
        "root_mean_squared_error": _OF_NUMBERS,
        "sensitivity_at_specificity": _metric(_TRUE, _SHARES, 0.5),
        "sparse_average_precision_at_k": _AT_K,
        "sparse_precision_at_k": _AT_K,
        "specificity_at_sensitivity": _metric(_TRUE, _SHARES, 0.5),
        "true_negatives": _OF_TRUTH,
        "true_negatives_at_thresholds": _AT_THRESHOLDS,
        "true_positives": _OF_TRUTH,
        "true_positives_at_thresholds": _AT_THRESHOLDS,
    }.items()
}

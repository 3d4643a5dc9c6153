"""tf.io.parse_single_sequence_example: ragged features that have their rows in other features, and values at the ends
of their range."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.parsing import check_sparse, feature_of, serialized_example


def ragged_parts(trial: Trial) -> None:
    """A ragged feature can have its rows in another feature, as lengths, starts or limits, and inner rows of one
    length, for context and for frames."""
    values, counts = [feature_of(range(10, 16), "int64"), feature_of(range(20, 26), "int64")], [2, 0, 4]
    wanted = {
        "lengths": ("counts", tf.io.RaggedFeature.RowLengths("counts")),
        "limits": ("limits", tf.io.RaggedFeature.RowLimits("limits")),
        "starts": ("starts", tf.io.RaggedFeature.RowStarts("starts")),
    }
    rows = {"counts": counts, "limits": [2, 2, 6], "starts": [0, 2, 2]}
    context_of = {"values": values[0], **{key: feature_of(row, "int64") for key, row in rows.items()}}
    frames = {"values": values, "counts": [feature_of(counts, "int64"), feature_of([1, 5], "int64")]}
    even = tf.io.RaggedFeature.UniformRowLength(3)

    def feature(*partitions: Any) -> Any:
        return tf.io.RaggedFeature(tf.int64, "values", partitions, row_splits_dtype=tf.int64)

    features = {name: feature(partition) for name, (_, partition) in wanted.items()}
    lists = {"pairs": feature(wanted["lengths"][1])}
    found, sequences = trial.call(
        serialized_example(trial, context_of, frames), {**features, "even": feature(even)}, lists
    )
    for name in wanted:
        trial.equal(found[name].to_list(), [[10, 11], [], [12, 13, 14, 15]])
        trial.close(found[name].row_splits, [0, 2, 2, 6], dtype="int64")
    # Rows of one length need no ragged tensor.
    trial.close(found["even"], [[10, 11, 12], [13, 14, 15]], dtype="int64")
    trial.equal(sequences["pairs"].to_list(), [[[10, 11], [], [12, 13, 14, 15]], [[20], [21, 22, 23, 24, 25]]])


def edges(trial: Trial) -> None:
    """The ends of the range of int64, numbers that are not finite and zeros of both signs are kept; missing lists of
    every kind are empty where that is allowed."""
    whole = [-(2**63), 2**63 - 1, 2**53 + 1, -1, 0]
    floats = np.asarray([np.nan, np.inf, -np.inf, -0.0, 0.0, 3.4028235e38, 1.1754944e-38], "float32")
    lists = {"n": [feature_of(whole, "int64")] * 2, "x": [feature_of([x], "float32") for x in floats.tolist()]}
    serialized = serialized_example(
        trial, {"n": feature_of(whole, "int64"), "x": feature_of(floats.tolist(), "float32")}, lists
    )
    found, sequences = trial.call(
        serialized,
        {
            "n": tf.io.FixedLenFeature([5, 1], tf.int64, default_value=[[9]] * 5),
            "x": tf.io.VarLenFeature(tf.float32),
            "none": tf.io.RaggedFeature(tf.string),
        },
        {
            "n": tf.io.FixedLenSequenceFeature([5], tf.int64, allow_missing=True),
            "x": tf.io.FixedLenSequenceFeature([], tf.float32),
            "sparse": tf.io.VarLenFeature(tf.int64),
            "ragged": tf.io.RaggedFeature(tf.float32),
        },
    )
    trial.exact(found["n"], np.reshape(whole, (5, 1)), "int64")
    trial.exact(found["x"].values, floats, "float32")
    trial.exact(sequences["n"], [whole] * 2, "int64")
    trial.exact(sequences["x"], floats, "float32")
    trial.equal([found["none"].shape.as_list(), sequences["ragged"].to_list()], [[0], []])
    check_sparse(trial, sequences["sparse"], [], np.zeros(0, "int64"), [0, 0], "int64")


def refuses(trial: Trial, what: str) -> None:
    """A feature needs a dtype and a shape that are known, a default of that shape and dtype, and partitions that it
    has; the text is one."""
    fixed, frames, int64 = tf.io.FixedLenFeature, tf.io.FixedLenSequenceFeature, tf.int64
    one = tf.train.Feature(int64_list=tf.train.Int64List(value=[1, 2]))
    lists = tf.train.FeatureLists(feature_list={"f": tf.train.FeatureList(feature=[one, one])})
    text = tf.train.SequenceExample(context=tf.train.Features(feature={"a": one}), feature_lists=lists)
    given = text.SerializeToString()
    word, text_given, context, sequence = {
        "shape": ("shape", given, {"a": fixed(None, int64)}, None),
        "dtype": ("type", given, {"a": fixed([2], None)}, None),
        "unknown-size": ("a", given, {"a": fixed([None], int64)}, None),
        "list-as-context": ("unsupported", given, {"a": frames([2], int64)}, None),
        "context-as-list": ("unsupported", given, None, {"f": fixed([2], int64)}),
        "texts": ("scalar", [given, given], {"a": fixed([2], int64)}, None),
        "default-shape": ("a", given, {"b": fixed([2], int64, [1, 2, 3])}, None),
        "wide": ("double", given, {"a": tf.io.VarLenFeature(tf.float64)}, None),
        "cut": ("parse", given[:-3], {"a": fixed([2], int64)}, None),
        "ragged-dtype": ("float", given, {"r": tf.io.RaggedFeature(tf.float32, value_key="a")}, None),
    }[what]
    kinds = ["InvalidArgumentError", "TypeError", "ValueError"]
    trial.raises(kinds, word, text_given, context, sequence)

"""Errors that the documentation names, of functions that need a graph, a session or an object: a plain call cannot
reach them."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import tensorflow as tf
from tensorflow.python.ops.distributions import laplace, normal

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.checkpoints import new_folder

v1 = tf.compat.v1

_INVALID = ["InvalidArgumentError", "ValueError"]


def _kinds(raises: Mapping[str, Any]) -> Sequence[str]:
    found = raises["class"]
    return [found] if isinstance(found, str) else found


def in_graph(trial: Trial, args: Sequence[Any], raises: Mapping[str, Any], options: Mapping[str, Any] = {}) -> None:
    """The call raises the error while a v1 graph is built."""
    with tf.Graph().as_default():
        trial.raises(_kinds(raises), raises["message"], *args, **options)


def on_entry(trial: Trial, args: Sequence[Any], raises: Mapping[str, Any], options: Mapping[str, Any] = {}) -> None:
    """The context manager raises the error when it is made or entered."""

    def body(function: Callable[..., Any]) -> None:
        with tf.Graph().as_default(), function(*args, **options):
            pass

    trial.raises_inside(_kinds(raises), raises["message"], body)


def averages_integers(trial: Trial) -> None:
    """Only floating variables have moving averages."""
    with tf.Graph().as_default():
        trial.method_raises(trial.make(0.9), "apply", ["TypeError"], "float", [tf.constant(1)])


def evaluates_without_session(trial: Trial) -> None:
    """Without a default session a tensor of a graph has no value."""
    with tf.Graph().as_default():
        trial.raises(["ValueError"], "session", tf.constant(1.5) * 2)


def runs_closed_session(trial: Trial) -> None:
    """A closed session runs nothing."""
    with tf.Graph().as_default():
        session, constant = v1.Session(), tf.constant(1.5)
        session.close()
        trial.raises(["RuntimeError"], "closed", session, constant)


def runs_unfit(trial: Trial, what: str) -> None:
    """A session refuses what is no fetch, a tensor that its graph lacks, a value of another shape, and a placeholder
    without a value."""
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [2])
        kinds, word, args = {
            "number": (["TypeError"], "fetch", (3,)),
            "unknown": (["ValueError"], "nowhere", ("nowhere:0",)),
            "shape": (["ValueError"], "shape", (x * 2, {x: [1.0, 2.0, 3.0]})),
            "unfed": (["InvalidArgumentError"], "feed", (x * 2,)),
            "feed-of-number": (["TypeError"], "feed_dict", (x * 2, {3: [1.0, 2.0]})),
            "feed-of-tensor": (["TypeError"], "feed", (x * 2, {x: tf.constant([1.0, 2.0])})),
            "feed-of-text": (["ValueError"], "could not convert", (x * 2, {x: ["a", "b"]})),
        }[what]
        trial.raises(kinds, word, v1.Session(), *args)


def finds_fractional_step(
    trial: Trial, dtype: str = "float32", shape: Sequence[int] = (), word: str = "integer"
) -> None:
    """The global step of a graph is one number, and counts in integers."""
    with tf.Graph().as_default():
        keys = [v1.GraphKeys.GLOBAL_VARIABLES, v1.GraphKeys.GLOBAL_STEP]
        v1.get_variable("global_step", shape=shape, dtype=trial.dtype(dtype), collections=keys)
        trial.raises(["TypeError"], word)


def shards(trial: Trial, count: int, index: int, word: str) -> None:
    """There must be a shard, and the index must be one of theirs."""
    trial.raises(_INVALID, word, tf.data.Dataset.range(10), count, index)


def batches_of_none(trial: Trial) -> None:
    """A batch has at least one element."""
    trial.raises_inside(_INVALID, "batch", lambda function: list(tf.data.Dataset.range(10).apply(function(0))))


def batches(trial: Trial, what: str) -> None:
    """The size of a batch is one positive integer, row splits are integers, and the rows have one number of axes."""
    kinds, word, args = {
        "negative": (_INVALID, "batch", (-2,)),
        "vector": (_INVALID, "scalar", ([2, 2],)),
        "fraction": (["TypeError", "ValueError"], "int64", (2.5,)),
        "splits": ([*_INVALID, "TypeError"], "float", (2, False, tf.float32)),
        "drop": (["TypeError", "ValueError"], "bool", (2, "yes")),
    }[what]
    rows = tf.data.Dataset.range(4).map(lambda size: tf.fill([size], 1.0))
    trial.raises_inside(kinds, word, lambda function: list(rows.apply(function(*args))))


def shard_kinds(trial: Trial, what: str) -> None:
    """Number and index of shards are single integers, and both are needed."""
    count, index, word = {"fraction": (2.5, 0, "int64"), "text": (2, "a", "int64"), "vector": ([2, 3], 0, "scalar")}[
        what
    ]
    trial.raises([*_INVALID, "TypeError"], word, tf.data.Dataset.range(10), count, index)


def shares(trial: Trial, what: str) -> None:
    """A batch is a number that can be divided among the replicas."""
    context = tf.distribute.InputContext(num_replicas_in_sync=2)
    kinds, word, size = {
        "fraction": (["ValueError"], "divisible", 2.5),
        "negative": (["ValueError"], "divisible", -3),
        "none": (["TypeError"], "none", None),
    }[what]
    trial.raises(kinds, word, context, size)


def table_of_unequal_lists(trial: Trial) -> None:
    """A table needs one value for each key."""
    trial.raises_inside(
        _INVALID, "shape", lambda function: tf.lookup.StaticHashTable(function(["a", "b"], [1]), default_value=0)
    )


def survival(trial: Trial, kind: str) -> None:
    """A value of another dtype than the distribution's is refused."""
    made = normal.Normal(0.0, 1.0) if kind == "Normal" else laplace.Laplace(0.0, 1.0)
    trial.raises(["InvalidArgumentError", "TypeError", "ValueError"], "int32", made, trial.tensor([1], "int32"))


def saves_over(trial: Trial) -> None:
    """A model is not written into a folder that has files."""
    folder = new_folder()
    (folder / "other").write_text("a file", "utf-8")
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [2])
        trial.raises(["AssertionError"], "exists", v1.Session(), str(folder), {"x": x}, {"y": x * 2})


def parses_unfit(trial: Trial, what: str) -> None:
    """A feature or list that is missing without a default, has another number of values or another dtype is an
    error."""
    one = tf.train.Feature(int64_list=tf.train.Int64List(value=[1, 2]))
    frames = tf.train.FeatureLists(feature_list={"f": tf.train.FeatureList(feature=[one, one])})
    example = tf.train.SequenceExample(context=tf.train.Features(feature={"c": one}), feature_lists=frames)
    fixed, sequence = tf.io.FixedLenFeature, tf.io.FixedLenSequenceFeature
    word, context, lists = {
        "missing-context": ("c2", {"c2": fixed([2], tf.int64)}, None),
        "missing-list": ("f2", None, {"f2": sequence([2], tf.int64)}),
        "context-size": ("c", {"c": fixed([3], tf.int64)}, None),
        "list-size": ("f", None, {"f": sequence([], tf.int64)}),
        "context-dtype": ("c", {"c": fixed([2], tf.float32)}, None),
        "list-dtype": ("f", None, {"f": tf.io.VarLenFeature(tf.string)}),
    }[what]
    trial.raises(_INVALID, f"{word}", example.SerializeToString(), context, lists)


def parses_nonsense(trial: Trial) -> None:
    """Bytes that are no example are an error."""
    features = {"a": tf.io.FixedLenFeature([], tf.int64)}
    trial.raises(_INVALID, "parse", "no example", context_features=features)


def asserts_equal(trial: Trial) -> None:
    """Different values are an AssertionError with both."""
    trial.raises(["AssertionError"], "3 != 4", tf.test.TestCase(), 3, 4)

"""tf.io.parse_single_sequence_example: static shapes, the name of the example in errors, frames without values, and
what it refuses."""

from __future__ import annotations

from typing import Any, Callable

import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.asserts import error_of
from runners.tensorflow.cases.parsing import check_sparse, feature_of, serialized_example


def static(trial: Trial) -> None:
    """While a function is traced, the shapes of features of fixed length are known, but for the number of frames, and
    the ranks of the others."""
    serialized = serialized_example(trial, {"a": feature_of([1, 2, 3, 4, 5, 6], "int64")}, {"s": []})

    def body(parse: Callable[..., Any]) -> Any:
        found: list[Any] = []

        @tf.function(input_signature=[tf.TensorSpec([], tf.string)], autograph=False)
        def trace(text: Any) -> Any:
            context, lists = parse(
                text,
                {
                    "a": tf.io.FixedLenFeature([2, 3], tf.int64),
                    "one": tf.io.FixedLenFeature([], tf.float32, 2.5),
                    "some": tf.io.VarLenFeature(tf.string),
                },
                {
                    "s": tf.io.FixedLenSequenceFeature([4, 1], tf.float32, allow_missing=True),
                    "some": tf.io.VarLenFeature(tf.int64),
                    "rows": tf.io.RaggedFeature(tf.int64),
                },
            )
            found.extend([context["a"].shape, context["one"].shape, context["some"].shape])
            found.extend([lists["s"].shape, lists["some"].shape, lists["rows"].shape])
            return context["a"]

        return trace(serialized), [shape.as_list() for shape in found]

    output, shapes = trial.call_inside(body)
    trial.exact(output, [[1, 2, 3], [4, 5, 6]], "int64")
    trial.equal(shapes, [[2, 3], [], [None], [None, 4, 1], [None, None], [None, None]])


def names_example(trial: Trial) -> None:
    """The error of a feature of another dtype names the example, if it has a name, and the feature."""
    serialized = serialized_example(trial, {"size": feature_of([1], "int64")}, {"ids": [feature_of([1], "int64")]})
    context = {"size": tf.io.FixedLenFeature([], tf.float32)}
    lists = {"ids": tf.io.FixedLenSequenceFeature([], tf.string)}

    def body(parse: Callable[..., Any], name: Any) -> Any:
        return [
            error_of(parse, serialized, context_features=context, example_name=name),
            error_of(parse, serialized, sequence_features=lists, example_name=name),
        ]

    for name in ("example number 17", None):
        for error, feature in zip(trial.call_inside(body, name), ("size", "ids")):
            trial.check(isinstance(error, tf.errors.InvalidArgumentError), f"expected an error, got {error!r}")
            trial.equal(("example number 17" in str(error), feature in str(error)), (bool(name), True))


def refuses(trial: Trial, what: str) -> None:
    """Several texts at once, a kind of feature that sequences do not have, a length that is not fixed, and no features
    at all are errors."""
    serialized = serialized_example(trial, {"a": feature_of([1], "int64")}, {"a": [feature_of([1], "int64")]})
    fixed = tf.io.FixedLenFeature([], tf.int64)
    sparse = tf.io.SparseFeature("a", "a", tf.int64, 4)
    args, kinds, word = {
        "vector": ((serialized[None], {"a": fixed}), ["ValueError", "InvalidArgumentError"], "scalar"),
        "sparse-context": ((serialized, {"a": sparse}), ["ValueError"], "SparseFeature"),
        "sparse-sequence": ((serialized, None, {"a": sparse}), ["ValueError"], "SparseFeature"),
        "fixed-sequence": ((serialized, None, {"a": fixed}), ["ValueError"], "FixedLenFeature"),
        "nothing": ((serialized,), ["ValueError"], "features"),
    }[what]
    trial.raises(kinds, word, *args)


def empty_frames(trial: Trial) -> None:
    """Frames without values count, wherever they are, also where no frame has any: in the shape of a sparse feature and
    in the rows of a ragged one."""
    for lengths in ([0, 2, 0, 1, 0, 0], [0, 0, 0], [3, 0]):
        rows = [list(range(10 * n, 10 * n + length)) for n, length in enumerate(lengths)]
        serialized = serialized_example(trial, {}, {"ids": [feature_of(row, "int64") for row in rows]})
        features = {"sparse": tf.io.VarLenFeature(tf.int64), "ragged": tf.io.RaggedFeature(tf.int64, "ids")}
        for name, kind in (("ids", features["sparse"]), ("rows", features["ragged"])):
            _, found = trial.call(serialized, sequence_features={name: kind})
            if name == "rows":
                trial.equal(found[name].to_list(), rows)
            else:
                indices = [[value // 10, value % 10] for row in rows for value in row]
                values = [value for row in rows for value in row]
                check_sparse(trial, found[name], indices, values, [len(rows), max(lengths)], "int64")

"""tf.io.parse_single_sequence_example: the values of a SequenceExample become tensors."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial

_FILLERS = {"int64": -7, "float32": -0.5, "string": b"none"}


def feature_of(values: Any, dtype: str) -> Any:
    if dtype == "int64":
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))
    if dtype == "float32":
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def _host(dtype: str, size: int, seed: int) -> Any:
    """Return distinct values: numbers, or words with all kinds of bytes."""
    if dtype == "string":
        state = np.random.RandomState(seed)
        return np.asarray([bytes(state.randint(0, 256, number % 5 + 1).tolist()) for number in range(size)], object)
    if dtype == "int64":
        return np.random.RandomState(seed).randint(-(2**40), 2**40, size)
    return np.random.RandomState(seed).standard_normal(size).astype("float32")


def serialized_example(
    trial: Trial, context: Mapping[str, Any] | None = None, lists: Mapping[str, Sequence[Any]] | None = None
) -> Any:
    """Return a tensor with the serialized example."""
    example = tf.train.SequenceExample(
        context=tf.train.Features(feature=context or {}),
        feature_lists=tf.train.FeatureLists(
            feature_list={key: tf.train.FeatureList(feature=value) for key, value in (lists or {}).items()}
        ),
    )
    # An array of objects: an array of bytes would lose trailing zeros.
    return trial.tensor(np.asarray(example.SerializeToString(), object), dtype="string")


def check_sparse(trial: Trial, found: Any, indices: Any, values: Any, shape: Sequence[int], dtype: str) -> None:
    trial.check(isinstance(found, tf.SparseTensor), f"expected a sparse tensor, got {type(found)}")
    trial.close(found.indices, np.asarray(indices, "int64").reshape(-1, len(shape)), dtype="int64")
    trial.exact(found.values, values, dtype)
    trial.close(found.dense_shape, list(shape), dtype="int64")


def context(trial: Trial, dtype: str, shape: Sequence[int]) -> None:
    """A context feature of fixed length has the requested shape."""
    host = _host(dtype, int(np.prod(shape)), 1)
    serialized = serialized_example(trial, {"a": feature_of(host.tolist(), dtype), "unused": feature_of([1], "int64")})
    output = trial.call(serialized, context_features={"a": tf.io.FixedLenFeature(shape, trial.dtype(dtype))})
    trial.equal((len(output), list(output[0]), list(output[1])), (2, ["a"], []))
    trial.exact(output[0]["a"], host.reshape(shape), dtype)


def sequence(trial: Trial, dtype: str, frames: int, shape: Sequence[int]) -> None:
    """A sequence feature of fixed length has one entry of the requested shape for each frame."""
    size = int(np.prod(shape))
    host = _host(dtype, frames * size, 2)
    features = [feature_of(host[frame * size : (frame + 1) * size].tolist(), dtype) for frame in range(frames)]
    serialized = serialized_example(trial, lists={"a": features})
    wanted = {"a": tf.io.FixedLenSequenceFeature(shape, trial.dtype(dtype))}
    output = trial.call(serialized, sequence_features=wanted)
    trial.equal((len(output), list(output[0]), list(output[1])), (2, [], ["a"]))
    trial.exact(output[1]["a"], host.reshape([frames, *shape]), dtype)


def both(trial: Trial) -> None:
    """Features of both kinds and all dtypes, in any order, are returned under their names."""
    words, numbers, fractions = _host("string", 3, 3), _host("int64", 4, 4), _host("float32", 2, 5)
    serialized = serialized_example(
        trial,
        {"length": feature_of(numbers[:1].tolist(), "int64"), "title": feature_of(words[:1].tolist(), "string")},
        {
            "ids": [feature_of([number], "int64") for number in numbers.tolist()],
            "words": [feature_of([word], "string") for word in words.tolist()],
            "scores": [feature_of(fractions.tolist(), "float32")],
        },
    )
    found, lists = trial.call(
        serialized,
        {"title": tf.io.FixedLenFeature([], tf.string), "length": tf.io.FixedLenFeature([1], tf.int64)},
        {
            "scores": tf.io.FixedLenSequenceFeature([2], tf.float32),
            "words": tf.io.FixedLenSequenceFeature([], tf.string),
            "ids": tf.io.FixedLenSequenceFeature([], tf.int64),
        },
        example_name="first",
        name="parsed",
    )
    trial.equal((sorted(found), sorted(lists)), (["length", "title"], ["ids", "scores", "words"]))
    trial.close(found["title"], np.asarray(words[0], object), dtype="string")
    trial.close(found["length"], numbers[:1], dtype="int64")
    trial.close(lists["ids"], numbers, dtype="int64")
    trial.close(lists["words"], words, dtype="string")
    trial.exact(lists["scores"], fractions[None], "float32")


def missing(trial: Trial, dtype: str) -> None:
    """A missing context feature gets its default; a missing sequence is empty where that is allowed."""
    filler = _FILLERS[dtype]
    serialized = serialized_example(trial, {"there": feature_of([3], "int64")}, {"there": [feature_of([4], "int64")]})
    found, lists = trial.call(
        serialized,
        {
            "there": tf.io.FixedLenFeature([], tf.int64, default_value=9),
            "one": tf.io.FixedLenFeature([], trial.dtype(dtype), default_value=filler),
            "many": tf.io.FixedLenFeature([2], trial.dtype(dtype), default_value=[filler, filler * 2]),
            "sparse": tf.io.VarLenFeature(trial.dtype(dtype)),
        },
        {
            "there": tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
            "absent": tf.io.FixedLenSequenceFeature([3], trial.dtype(dtype), allow_missing=True),
        },
    )
    trial.close(found["there"], 3, dtype="int64")
    trial.close(lists["there"], [4], dtype="int64")
    trial.close(found["one"], np.asarray(filler, object if dtype == "string" else dtype), dtype=dtype)
    trial.close(found["many"], [filler, filler * 2], dtype=dtype)
    check_sparse(trial, found["sparse"], [], np.zeros(0, object if dtype == "string" else dtype), [0], dtype)
    trial.close(lists["absent"], np.zeros((0, 3), object if dtype == "string" else dtype), dtype=dtype)


def sparse(trial: Trial, dtype: str) -> None:
    """Features of varying length are sparse: indices of frame and place, as wide as the longest frame."""
    lengths = [2, 0, 3, 1]
    host, of_context = _host(dtype, sum(lengths), 6), _host(dtype, 4, 7)
    ends = np.cumsum(lengths)
    features = [feature_of(host[end - length : end].tolist(), dtype) for end, length in zip(ends, lengths)]
    serialized = serialized_example(trial, {"c": feature_of(of_context.tolist(), dtype)}, {"s": features})
    wanted = tf.io.VarLenFeature(trial.dtype(dtype))
    found, lists = trial.call(serialized, {"c": wanted}, {"s": wanted})
    check_sparse(trial, found["c"], [[place] for place in range(4)], of_context, [4], dtype)
    indices = [[frame, place] for frame, length in enumerate(lengths) for place in range(length)]
    check_sparse(trial, lists["s"], indices, host, [4, 3], dtype)


def ragged(trial: Trial, splits: str) -> None:
    """Ragged features keep each frame's length; their row splits have the requested dtype."""
    lengths = [3, 0, 1, 2]
    host, ends = _host("float32", sum(lengths), 8), np.cumsum(lengths)
    features = [feature_of(host[end - length : end].tolist(), "float32") for end, length in zip(ends, lengths)]
    serialized = serialized_example(trial, {"c": feature_of([5, 4], "int64")}, {"s": features})
    found, lists = trial.call(
        serialized,
        {"c": tf.io.RaggedFeature(tf.int64, row_splits_dtype=trial.dtype(splits))},
        {"s": tf.io.RaggedFeature(tf.float32, row_splits_dtype=trial.dtype(splits))},
    )
    trial.close(found["c"], [5, 4], dtype="int64")
    trial.check(isinstance(lists["s"], tf.RaggedTensor), f"expected a ragged tensor, got {type(lists['s'])}")
    trial.exact(lists["s"].values, host, "float32")
    trial.close(lists["s"].row_splits, [0, *ends.tolist()], dtype=splits)


def in_function(trial: Trial) -> None:
    """In a tf.function, traced once, it parses examples with any number of frames; the static shape is open."""
    hosts = [_host("float32", 2 * frames, frames) for frames in (3, 1, 0)]
    tensors = [
        serialized_example(trial, lists={"a": [feature_of(pair.tolist(), "float32") for pair in host.reshape(-1, 2)]})
        for host in hosts
    ]
    static: list[Any] = []

    def body(parse: Callable[..., Any]) -> Any:
        del static[:]

        @tf.function(input_signature=[tf.TensorSpec([], tf.string)])
        def frames_of(serialized: Any) -> Any:
            _, lists = parse(serialized, sequence_features={"a": tf.io.FixedLenSequenceFeature([2], tf.float32)})
            static.append(lists["a"].shape.as_list())
            return lists["a"], tf.shape(lists["a"])

        return [frames_of(tensor) for tensor in tensors]

    for (frames, shape), host in zip(trial.call_inside(body), hosts):
        trial.exact(frames, host.reshape(-1, 2), "float32")
        trial.close(shape, [len(host) // 2, 2], dtype="int32")
    trial.equal(static, [[None, 2]])


def in_dataset(trial: Trial) -> None:
    """As the function of a data set's map it parses each example, ready to be padded to the longest."""
    hosts = [_host("int64", size, 20 + size) for size in (2, 4, 1)]
    serialized = tf.stack(
        [serialized_example(trial, lists={"a": [feature_of([x], "int64") for x in host.tolist()]}) for host in hosts]
    )

    def body(parse: Callable[..., Any]) -> Any:
        wanted = {"a": tf.io.FixedLenSequenceFeature([], tf.int64)}
        source = tf.data.Dataset.from_tensor_slices(serialized)
        return list(source.map(lambda one: parse(one, sequence_features=wanted)[1]["a"]).padded_batch(3))

    (batch,) = trial.call_inside(body)
    expected = np.zeros((3, 4), "int64")
    for row, host in zip(expected, hosts):
        row[: len(host)] = host
    trial.close(batch, expected, dtype="int64")

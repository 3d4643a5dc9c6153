"""tf.data.Dataset.shard and tf.data.experimental.from_list.

The timed call creates the pipeline and reads it to its end; creating it alone computes nothing.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial

Shard = Callable[..., Any]


def every_nth(trial: Trial, size: int, shards: int, index: int) -> None:
    """A shard holds every n-th element from its index on, in order; its cardinality is their number."""

    def body(shard: Shard) -> Any:
        part = shard(tf.data.Dataset.range(size), shards, index)
        return list(part), part.cardinality()

    elements, count = trial.call_inside(body)
    expected = list(range(size))[index::shards]
    trial.equal([trial.dtype_name(element) for element in elements], ["int64"] * len(expected))
    trial.equal(trial.numpy(elements), expected)
    trial.equal(count, len(expected))


def partitions(trial: Trial, size: int, shards: int) -> None:
    """All shards together hold each element once; their sizes differ by at most one."""

    def body(shard: Shard) -> Any:
        source = tf.data.Dataset.range(size)
        return [list(shard(source, shards, index)) for index in range(shards)]

    parts = trial.numpy(trial.call_inside(body))
    trial.equal({element.shape for part in parts for element in part}, {()})
    trial.equal(sorted(element for part in parts for element in part), list(range(size)))
    trial.equal([part[0] for part in parts], list(range(shards)))
    sizes = [len(part) for part in parts]
    trial.check(max(sizes) - min(sizes) <= 1, f"the shards have {sizes} elements")


def structured(trial: Trial, dtype: str, special: str | None = None) -> None:
    """Nested elements keep their structure, dtypes and values."""
    host, labels = trial.random(9, 2, 3, dtype=dtype, seed=1, special=special), np.arange(9, dtype="int64")
    tensors = {"x": trial.tensor(host, dtype=dtype), "y": (trial.tensor(labels), trial.tensor(-labels))}
    rounded = trial.numpy(tensors["x"])

    def body(shard: Shard) -> Any:
        return list(shard(tf.data.Dataset.from_tensor_slices(tensors), 4, 1))

    elements = trial.call_inside(body)
    trial.equal(len(elements), 2)
    for element, position in zip(elements, (1, 5)):
        trial.exact(element["x"], rounded[position], dtype)
        trial.close(element["y"][0], position, dtype="int64")
        trial.close(element["y"][1], -position, dtype="int64")


def tensor_arguments(trial: Trial) -> None:
    """The number of shards and the index can be tensors, so a tf.function can select a shard."""
    shards = trial.tensor(np.int64(5))
    indices = [trial.tensor(np.int64(index)) for index in (0, 3)]

    def body(shard: Shard) -> Any:
        @tf.function
        def total(index: Any) -> Any:
            return shard(tf.data.Dataset.range(23), shards, index).reduce(np.int64(0), lambda a, b: a + b)

        return [total(index) for index in indices]

    for found, index in zip(trial.call_inside(body), (0, 3)):
        trial.close(found, sum(range(index, 23, 5)), dtype="int64")


def around_batches(trial: Trial, first: str) -> None:
    """Before ``batch`` it selects elements, after it whole batches."""

    def body(shard: Shard) -> Any:
        source = tf.data.Dataset.range(20)
        return list(shard(source, 2, 1).batch(4) if first == "shard" else shard(source.batch(4), 2, 1))

    found = [batch.tolist() for batch in trial.numpy(trial.call_inside(body))]
    everything = list(range(20))
    if first == "shard":
        odd = everything[1::2]
        trial.check(found == [odd[0:4], odd[4:8], odd[8:10]], f"wrong batches {found}")
    else:
        trial.check(found == [everything[4:8], everything[12:16]], f"wrong batches {found}")


def twice(trial: Trial) -> None:
    """A shard of a shard, of ragged rows, has every sixth of them, and is the same when it is read again; one shard is
    the whole."""
    lengths = np.asarray([3, 0, 1, 2, 5, 1, 4, 0, 2, 3, 1, 6, 2, 2])
    host = trial.random(int(lengths.sum()), seed=2)
    rows = tf.RaggedTensor.from_row_lengths(trial.tensor(host), trial.tensor(lengths))

    def body(shard: Shard) -> Any:
        part = shard(shard(tf.data.Dataset.from_tensor_slices(rows), 3, 1), num_shards=2, index=1, name="half")
        return list(part), list(part), list(shard(tf.data.Dataset.range(9), 1, 0))

    first, second, whole = trial.call_inside(body)
    wanted = np.split(host, np.cumsum(lengths)[:-1])[4::6]
    for found in (first, second):
        trial.equal(len(found), len(wanted))
        for row, expected in zip(found, wanted):
            trial.exact(row.to_tensor() if isinstance(row, tf.RaggedTensor) else row, expected, "float32")
    trial.equal(trial.numpy(whole), list(range(9)))


def endless(trial: Trial, taken: Sequence[int]) -> None:
    """A shard of an infinite data set is infinite; strings are kept."""
    words = trial.tensor(["a", "b", "c", "d", "e"], dtype="string")

    def body(shard: Shard) -> Any:
        part = shard(tf.data.Dataset.from_tensor_slices(words).repeat(), 3, 2)
        return list(part.take(len(taken))), part.cardinality()

    elements, count = trial.call_inside(body)
    trial.equal([trial.dtype_name(element) for element in elements], ["string"] * len(taken))
    trial.equal(trial.numpy(elements), [b"abcde"[place : place + 1] for place in taken])
    trial.equal(count, tf.data.INFINITE_CARDINALITY)


# tf.data.experimental.from_list


def listed(trial: Trial, shape: Sequence[int], dtype: str, size: int = 5, special: str | None = None) -> None:
    """The elements of the list are read one by one, in order, with the right spec and cardinality."""
    hosts = [trial.random(*shape, dtype=dtype, seed=seed, special=special) for seed in range(size)]
    # Each begins with another of its values.
    tensors = [trial.tensor(np.roll(host, number) if special else host, dtype) for number, host in enumerate(hosts)]

    def body(from_list: Callable[..., Any]) -> Any:
        source = from_list(tensors)
        return list(source), source.element_spec, source.cardinality()

    elements, spec, count = trial.call_inside(body)
    trial.equal(len(elements), size)
    for found, given in zip(elements, tensors):
        trial.exact(found, trial.numpy(given), dtype)
    trial.equal(spec, tf.TensorSpec(shape, trial.dtype(dtype)))
    trial.equal(count, size)


def listed_numbers(trial: Trial, size: int) -> None:
    """Python numbers become int32 scalars."""
    numbers = np.random.RandomState(3).permutation(size).tolist()

    def body(from_list: Callable[..., Any]) -> Any:
        return list(from_list(numbers, name="numbers"))

    elements = trial.call_inside(body)
    trial.equal({trial.dtype_name(element) for element in elements}, {"int32"})
    trial.equal(trial.numpy(elements), numbers)


def listed_lengths(trial: Trial) -> None:
    """Elements can have unequal lengths: the spec has an unknown dimension."""
    rows = [np.arange(length, dtype="float64") + length for length in (2, 0, 3)]
    tensors = [trial.tensor(row) for row in rows]

    def body(from_list: Callable[..., Any]) -> Any:
        source = from_list(tensors)
        return list(source), source.element_spec

    elements, spec = trial.call_inside(body)
    trial.equal(spec, tf.TensorSpec([None], tf.float64))
    trial.equal(len(elements), 3)
    for found, row in zip(elements, rows):
        trial.close(found, row, dtype="float64")


def listed_structures(trial: Trial) -> None:
    """Nested elements keep their structure: dictionaries, tuples and strings."""
    hosts = [trial.random(2, 2, seed=seed) for seed in (4, 5, 6)]
    words = ["a", "", "Gerät"]
    given = [
        {"x": trial.tensor(host), "y": (trial.tensor(np.int64(place)), trial.tensor(word, dtype="string"))}
        for place, (host, word) in enumerate(zip(hosts, words))
    ]

    def body(from_list: Callable[..., Any]) -> Any:
        source = from_list(given)
        return source, list(source)

    source, elements = trial.call_inside(body)
    trial.check(isinstance(source, tf.data.Dataset), f"expected a data set, got {type(source)}")
    trial.equal(source.element_spec["y"][1], tf.TensorSpec([], tf.string))
    trial.equal(len(elements), 3)
    for place, found in enumerate(elements):
        trial.equal((sorted(found), type(found["y"])), (["x", "y"], tuple))
        trial.exact(found["x"], hosts[place], "float32")
        trial.close(found["y"][0], place, dtype="int64")
        trial.close(found["y"][1], np.asarray(words[place].encode(), object), dtype="string")


def listed_datasets(trial: Trial) -> None:
    """Data sets of any length can be elements: they are returned as data sets, to be read or concatenated."""

    def body(from_list: Callable[..., Any]) -> Any:
        nested = from_list([tf.data.Dataset.range(start, stop) for start, stop in ((2, 5), (7, 7), (9, 11))])
        return [list(inner) for inner in nested], list(nested.flat_map(lambda inner: inner))

    parts, flat = trial.call_inside(body)
    trial.equal(trial.numpy(parts), [[2, 3, 4], [], [9, 10]])
    trial.equal(trial.numpy(flat), [2, 3, 4, 9, 10])
    trial.equal({trial.dtype_name(number) for number in flat}, {"int64"})


def listed_pipeline(trial: Trial) -> None:
    """It works as the source of a pipeline, also in a tf.function."""
    tensors = [trial.tensor(trial.random(3, seed=seed)) for seed in range(4)]

    def body(from_list: Callable[..., Any]) -> Any:
        @tf.function
        def total() -> Any:
            return from_list(tensors).reduce(tf.zeros(3), lambda left, right: left + right)

        source = from_list(tensors).map(lambda x: x * 2.0).repeat(2).batch(3)
        return list(source), total()

    batches, total = trial.call_inside(body)
    doubled = np.stack([2.0 * trial.numpy(tensor).astype("float64") for tensor in tensors] * 2)
    for found, expected in zip(batches, (doubled[:3], doubled[3:6], doubled[6:])):
        trial.close(found, expected, dtype="float32")
    trial.equal(len(batches), 3)
    trial.close(total, doubled.sum(axis=0) / 4, dtype="float32")


def listed_keys(trial: Trial) -> None:
    """Elements that are dictionaries, also nested ones, match by their keys, whichever was put in first."""
    rows = [{"b": {"z": 1, "a": 2}, "a": 3}, {"a": 30, "b": {"a": 20, "z": 10}}, {"b": {"a": 200, "z": 100}, "a": 300}]

    def body(from_list: Callable[..., Any]) -> Any:
        return list(from_list(rows))

    elements = trial.call_inside(body)
    trial.equal(len(elements), len(rows))
    for element, row in zip(elements, rows):
        found = [element["a"], element["b"]["a"], element["b"]["z"]]
        trial.equal([trial.dtype_name(value) for value in found], ["int32"] * 3)
        trial.equal(trial.numpy(found), [row["a"], row["b"]["a"], row["b"]["z"]])

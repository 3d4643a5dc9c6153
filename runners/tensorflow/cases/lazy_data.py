"""Data sets that are made of others read nothing before they are read, and keep what is known of their elements."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial


def reads_late(trial: Trial, how: str) -> None:
    """The source is read when the new data set is, from its start each time, as far as is needed."""
    read: list[int] = []

    def numbers() -> Any:
        for number in range(40):
            read.append(number)
            yield np.arange(number % 3)

    def body(function: Callable[..., Any]) -> Any:
        source = tf.data.Dataset.from_generator(numbers, output_signature=tf.TensorSpec([None], tf.int64))
        made = function(source, 4, 1) if how == "shard" else source.apply(function(4))
        early = list(read)
        first = [next(iter(made)) for _ in range(2)]
        return early, first, list(read), made.element_spec

    trial.repeatable = False
    early, first, late, spec = trial.call_inside(body)
    trial.equal(early, [])
    # It may read ahead, but no second time from the middle.
    trial.equal(late.count(0), 2)
    for each in first:
        if how == "shard":
            trial.equal(each, np.arange(1))
        else:
            trial.equal(each.to_list(), [[], [0], [0, 1], []])
    trial.equal(spec.shape.as_list(), [None] if how == "shard" else [None, None])


def keeps_specs(trial: Trial, how: str) -> None:
    """What is known of the elements stays known: shapes, dtypes and structure, of any nesting."""
    elements = {"a": np.zeros([6, 2, 3], "float32"), "b": (np.arange(6), np.asarray([b"x"] * 6))}

    def body(function: Callable[..., Any]) -> Any:
        source = tf.data.Dataset.from_tensor_slices(elements)
        ragged = source.map(lambda part: {**part, "c": tf.range(part["b"][0])})
        if how == "shard":
            made = [function(source, 2, 1), function(ragged, 2, 1)]
            return [(source.element_spec, made[0].element_spec), (ragged.element_spec, made[1].element_spec)], made
        made = [source.apply(function(2)), source.apply(function(2, True)), ragged.apply(function(2, True))]
        return [each.element_spec for each in made], made

    specs, made = trial.call_inside(body)
    trial.repeatable = False
    if how == "ragged":
        alone = tf.data.Dataset.from_tensor_slices(np.zeros([6, 2, 3])).apply(trial.call(4))
        trial.equal(alone.element_spec, tf.TensorSpec([None, 2, 3], tf.float64))
        trial.equal([part.shape.as_list() for part in alone], [[4, 2, 3], [2, 2, 3]])
    if how == "shard":
        for before, after in specs:
            trial.equal(repr(after), repr(before))
        trial.equal([int(each.cardinality()) for each in made], [3, 3])
        trial.equal([int(part["b"][0]) for part in made[1]], [1, 3, 5])
        return
    for spec, size in zip(specs, [None, 2, 2]):
        found = [spec["a"].shape.as_list(), spec["b"][0].shape.as_list(), spec["b"][1].shape.as_list()]
        trial.equal(found, [[size, 2, 3], [size], [size]])
        kinds = {type(each).__name__ for each in (spec["a"], *spec["b"])}
        trial.equal(kinds, {"TensorSpec"})
    trial.check(isinstance(specs[2]["c"], tf.RaggedTensorSpec), f"rows of unknown length are {specs[2]['c']}")
    trial.equal([int(each.cardinality()) for each in made], [3, 3, 3])
    trial.equal([part["c"].to_list() for part in made[2]], [[[], [0]], [[0, 1], [0, 1, 2]], [[*range(4)], [*range(5)]]])


def sizes_of_batches(trial: Trial) -> None:
    """A batch is as large as it is asked for, also beyond a hundred rows; the size is a number of any kind."""
    for count, size in ((300, 130), (70, 65), (5, 1), (3, 7)):
        rows = tf.data.Dataset.range(count).map(lambda number: tf.range(number % 3))
        expected = [
            [[*range(n % 3)] for n in range(start, min(start + size, count))] for start in range(0, count, size)
        ]
        for given in (size, np.int64(size), trial.tensor(np.asarray(size))):
            made = rows.apply(trial.call(given))
            trial.equal([batch.to_list() for batch in made], expected)
        whole = rows.apply(trial.call(batch_size=size, drop_remainder=True, row_splits_dtype=tf.int32))
        trial.equal([batch.to_list() for batch in whole], [part for part in expected if len(part) == size])
        trial.equal(whole.element_spec.row_splits_dtype.name, "int32")


def keeps_list(trial: Trial) -> None:
    """A list that loses its elements after the call, and parts that change, change no element of the data set."""
    arrays = [trial.random(3, seed=seed) for seed in range(4)]
    given = list(arrays)
    nested = [{"a": [number, number + 1]} for number in range(3)]
    trial.repeatable = False
    made, of_parts = trial.call(given), trial.call(nested)
    trial.equal((len(given), nested), (4, [{"a": [number, number + 1]} for number in range(3)]))
    given.clear()
    for part in nested:
        part["a"][0] = 50
    for _ in range(2):
        trial.equal(np.stack([trial.numpy(each) for each in made]), np.stack(arrays))
    found = list(of_parts)
    trial.equal([[int(each) for each in part["a"]] for part in found], [[0, 1], [1, 2], [2, 3]])

"""tf.data.experimental.dense_to_ragged_batch: structures, the number of batches, and an iterator that is restored."""

from __future__ import annotations

import collections
from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.checkpoints import new_folder

_Pair = collections.namedtuple("_Pair", "x y")


def structures(trial: Trial) -> None:
    """Elements keep their structure, and the number of batches is known, also that an endless data set has no end. One
    transformation serves several data sets."""

    numbers = trial.tensor(np.arange(5))

    def element(n: Any) -> Any:
        return {"rows": tf.range(n), "pair": _Pair(n, (n + 1, {"s": tf.range(2 * n)}))}

    def body(dense_to_ragged_batch: Callable[..., Any]) -> Any:
        batch = dense_to_ragged_batch(2)
        sources = [tf.data.Dataset.from_tensor_slices(numbers[:count]).map(element) for count in (5, 4)]
        batched = [source.apply(batch) for source in (*sources, sources[0].repeat())]
        batched.append(sources[0].apply(dense_to_ragged_batch(2, drop_remainder=True)))
        counts = [int(each.cardinality()) for each in batched]
        return counts, list(batched[0]), list(batched[1]), list(batched[2].take(4))

    counts, first, second, third = trial.call_inside(body)
    trial.equal(counts, [3, 2, tf.data.INFINITE_CARDINALITY, 2])
    for batches, parts in ((first, [[0, 1], [2, 3], [4]]), (second, [[0, 1], [2, 3]]), (third[2:], [[4, 0], [1, 2]])):
        trial.equal(len(batches), len(parts))
        for batch, row in zip(batches, parts):
            trial.equal((sorted(batch), type(batch["pair"])), (["pair", "rows"], _Pair))
            one, (other, inner) = batch["pair"]
            trial.close(one, row, dtype="int64")
            trial.close(other, np.asarray(row) + 1, dtype="int64")
            trial.equal(batch["rows"].to_list(), [list(range(n)) for n in row])
            trial.equal(inner["s"].to_list(), [list(range(2 * n)) for n in row])


def restored(trial: Trial) -> None:
    """An iterator that is restored goes on where it was saved, and others of the data set are on their own."""
    numbers = trial.tensor(np.arange(7))

    def body(dense_to_ragged_batch: Callable[..., Any]) -> Any:
        source = tf.data.Dataset.from_tensor_slices(numbers).map(lambda n: tf.range(n))
        batches = source.apply(dense_to_ragged_batch(2))
        iterator, other = iter(batches), iter(batches)
        found = [next(iterator)]
        checkpoint = tf.train.Checkpoint(iterator=iterator)
        path = checkpoint.write(str(new_folder() / "kept"))
        found += [next(iterator), next(iterator), next(other)]
        checkpoint.read(path)
        return [*found, next(iterator), next(other), *iterator]

    found = [batch.to_list() for batch in trial.call_inside(body)]
    rows = [list(range(n)) for n in range(7)]
    pairs = [rows[start : start + 2] for start in range(0, 7, 2)]
    trial.equal(found, [*pairs[:3], pairs[0], pairs[1], pairs[1], *pairs[2:]])

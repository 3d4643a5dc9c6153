"""tf.data.experimental.dense_to_ragged_batch: batches of elements with unequal lengths.

The timed call creates the pipeline and reads it to its end; creating it alone computes nothing.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial


def _check_ragged(trial: Trial, found: Any, rows: Sequence[Any], dtype: str, splits: str = "int64") -> None:
    trial.check(isinstance(found, tf.RaggedTensor), f"expected a ragged tensor, got {type(found)}")
    trial.equal(found.ragged_rank, 1)
    values = np.concatenate([np.asarray(row) for row in rows])
    trial.exact(found.values, values, dtype)
    trial.close(found.row_splits, np.cumsum([0, *map(len, rows)]), dtype=splits)


def _rows(trial: Trial, lengths: Sequence[int], dtype: str, special: str | None = None) -> list[Any]:
    """Return random host arrays of these lengths, with the values that the device holds."""
    whole = trial.numpy(trial.tensor(trial.random(sum(lengths), dtype=dtype, seed=1, special=special), dtype))
    return np.split(whole, np.cumsum(lengths)[:-1])


def _pieces(trial: Trial, rows: Sequence[Any], dtype: str) -> Any:
    """Return a data set whose elements are the rows, with one dimension of unknown length."""
    whole, ends = trial.tensor(np.concatenate(rows), dtype), np.cumsum([len(row) for row in rows])
    bounds = np.stack([ends - [len(row) for row in rows], ends], axis=1).astype("int64")
    return tf.data.Dataset.from_tensor_slices(trial.tensor(bounds)).map(lambda bound: whole[bound[0] : bound[1]])


def ragged(
    trial: Trial,
    lengths: Sequence[int],
    size: int,
    dtype: str = "float32",
    drop: bool = False,
    splits: str = "int64",
    special: str | None = None,
) -> None:
    """Rows of unequal lengths become ragged batches; an incomplete last batch is kept unless it should be dropped."""
    rows = _rows(trial, lengths, dtype, special)

    def body(dense_to_ragged_batch: Callable[..., Any]) -> Any:
        batch = dense_to_ragged_batch(size, drop_remainder=drop, row_splits_dtype=trial.dtype(splits))
        batches = _pieces(trial, rows, dtype).apply(batch)
        return list(batches), batches.element_spec

    batches, spec = trial.call_inside(body)
    expected = [rows[start : start + size] for start in range(0, len(rows), size)]
    expected = [batch for batch in expected if len(batch) == size or not drop]
    trial.equal(len(batches), len(expected))
    for found, wanted in zip(batches, expected):
        _check_ragged(trial, found, wanted, dtype, splits)
    trial.equal((type(spec), spec.dtype.name, spec.row_splits_dtype.name), (tf.RaggedTensorSpec, dtype, splits))
    trial.equal(spec.shape.as_list(), [size if drop else None, None])


def ragged_strings(trial: Trial) -> None:
    """Strings of unequal numbers become ragged batches too."""
    sentences = ["a few words", "one", "two more"]
    text = trial.tensor(sentences, dtype="string")

    def body(dense_to_ragged_batch: Callable[..., Any]) -> Any:
        words = tf.data.Dataset.from_tensor_slices(text).map(lambda one: tf.strings.split(one))
        return list(words.apply(dense_to_ragged_batch(2)))

    first, second = trial.call_inside(body)
    _check_ragged(trial, first, [np.asarray([b"a", b"few", b"words"], object), np.asarray([b"one"], object)], "string")
    _check_ragged(trial, second, [np.asarray([b"two", b"more"], object)], "string")


def known_shape(trial: Trial, dtype: str) -> None:
    """Elements of a known shape become plain batches, also next to elements of unknown shape."""
    host = trial.random(5, 2, 3, dtype=dtype, seed=2)
    fixed = trial.tensor(host, dtype)
    rows = _rows(trial, [2, 0, 1, 3, 1], "int64")

    def body(dense_to_ragged_batch: Callable[..., Any]) -> Any:
        source = tf.data.Dataset.zip(
            {"fixed": tf.data.Dataset.from_tensor_slices(fixed), "rows": _pieces(trial, rows, "int64")}
        )
        return list(source.apply(dense_to_ragged_batch(batch_size=3)))

    batches = trial.call_inside(body)
    trial.equal(len(batches), 2)
    for found, part in zip(batches, (slice(0, 3), slice(3, 5))):
        trial.exact(found["fixed"], trial.numpy(fixed)[part], dtype)
        _check_ragged(trial, found["rows"], rows[part], "int64")


def two_axes(trial: Trial) -> None:
    """With two unknown dimensions the batch is ragged in both; a known one after them stays uniform."""
    shapes = [(2, 3), (1, 1), (0, 2), (3, 2)]
    sizes = trial.tensor(np.asarray(shapes, "int64"))

    def table(size: Any) -> Any:
        numbers = tf.reshape(tf.range(size[0] * size[1] * 2), tf.concat([size, [2]], 0)) + 10 * size[0]
        return tf.ensure_shape(numbers, [None, None, 2])

    def body(dense_to_ragged_batch: Callable[..., Any]) -> Any:
        return list(tf.data.Dataset.from_tensor_slices(sizes).map(table).apply(dense_to_ragged_batch(4)))

    (batch,) = trial.call_inside(body)
    trial.check(isinstance(batch, tf.RaggedTensor), f"expected a ragged tensor, got {type(batch)}")
    trial.equal(batch.ragged_rank, 2)
    tables = [np.arange(rows * columns * 2).reshape(rows, columns, 2) + 10 * rows for rows, columns in shapes]
    trial.close(batch.row_splits, np.cumsum([0, *(rows for rows, _ in shapes)]), dtype="int64")
    columns = [columns for rows, columns in shapes for _ in range(rows)]
    trial.close(batch.values.row_splits, np.cumsum([0, *columns]), dtype="int64")
    trial.close(batch.flat_values, np.concatenate([table.reshape(-1, 2) for table in tables]), dtype="int64")


def ragged_elements(trial: Trial) -> None:
    """Elements that are already ragged or sparse are batched as ``batch`` does."""
    values, indices = trial.tensor(np.arange(6, dtype="float32")), trial.tensor(np.asarray([[0, 1], [2, 0]], "int64"))
    rows = tf.RaggedTensor.from_row_splits(values, trial.tensor(np.asarray([0, 2, 2, 5, 6], "int64")))
    sparse = tf.SparseTensor(indices, values[:2] + 1.0, [4, 3])

    def body(dense_to_ragged_batch: Callable[..., Any]) -> Any:
        source = tf.data.Dataset.from_tensor_slices((rows, sparse))
        return list(source.apply(dense_to_ragged_batch(3)))

    batches = trial.call_inside(body)
    trial.equal(len(batches), 2)
    _check_ragged(trial, batches[0][0], [[0.0, 1.0], [], [2.0, 3.0, 4.0]], "float32")
    _check_ragged(trial, batches[1][0], [[5.0]], "float32")
    first = batches[0][1]
    trial.close(first.indices, [[0, 1], [2, 0]], dtype="int64")
    trial.close(first.values, [1.0, 2.0], dtype="float32")
    trial.close(first.dense_shape, [3, 3], dtype="int64")
    trial.close(batches[1][1].dense_shape, [1, 3], dtype="int64")


def inner_axis(trial: Trial) -> None:
    """An axis of known length before the unknown one becomes ragged too; size and remainder can be tensors, and the
    batches can be read again."""
    lengths = trial.tensor(np.asarray([1, 3, 0, 2, 4], "int64"))

    def pair(length: Any) -> Any:
        numbers = tf.reshape(tf.range(2 * length), [2, length]) + 10 * length
        return tf.ensure_shape(numbers, [2, None])

    def body(dense_to_ragged_batch: Callable[..., Any]) -> Any:
        batch = dense_to_ragged_batch(tf.constant(2, tf.int64), drop_remainder=tf.constant(True))
        batched = tf.data.Dataset.from_tensor_slices(lengths).map(pair).apply(batch)
        return list(batched), list(batched)

    for batches in trial.call_inside(body):
        trial.equal(len(batches), 2)
        for found, (one, two) in zip(batches, ((1, 3), (0, 2))):
            trial.equal(found.ragged_rank, 2)
            trial.close(found.row_splits, [0, 2, 4], dtype="int64")
            trial.close(found.values.row_splits, np.cumsum([0, one, one, two, two]), dtype="int64")
            numbers = [np.arange(2 * length) + 10 * length for length in (one, two)]
            trial.close(found.flat_values, np.concatenate(numbers), dtype="int64")


def kept_splits(trial: Trial) -> None:
    """Only new ragged tensors get the requested dtype of splits, those that are elements keep theirs; scalars become
    vectors."""
    rows = _rows(trial, [2, 0, 1], "float64")
    ends = trial.tensor(np.asarray([0, 1, 1, 3], "int64"))
    kept = tf.RaggedTensor.from_row_splits(trial.tensor(np.asarray([5, 6, 7])), ends)

    def body(dense_to_ragged_batch: Callable[..., Any]) -> Any:
        parts = _pieces(trial, rows, "float64"), tf.data.Dataset.from_tensor_slices(kept), tf.data.Dataset.range(3)
        source = tf.data.Dataset.zip(parts)
        pairs = source.apply(dense_to_ragged_batch(2))
        return list(source.apply(dense_to_ragged_batch(3, row_splits_dtype=tf.int32))), list(pairs)

    ((made, old, numbers),), ((first, _, _), (last, _, _)) = trial.call_inside(body)
    _check_ragged(trial, first, rows[:2], "float64")
    _check_ragged(trial, last, rows[2:], "float64")
    _check_ragged(trial, made, rows, "float64", "int32")
    _check_ragged(trial, old, [[5], [], [6, 7]], "int64")
    trial.close(numbers, [0, 1, 2], dtype="int64")

"""Functions of ``tf.data``: what a dataset of the tensor's rows gives after them."""

from __future__ import annotations

from typing import Any, Callable, Mapping

import tensorflow as tf

from runners.tensorflow.samples.programs.lines import Lines, new_name, whole, with_file

_v1 = tf.compat.v1


def _rows(x: Any) -> Any:
    return tf.data.Dataset.from_tensor_slices(x)


def _applied(*given: Any, is_sorted: bool = False, **more: Any) -> Lines:
    """The elements after the transformation that the function makes of these arguments; sorted where their order is
    drawn."""

    def lines(function: Any, x: Any) -> Any:
        found = list(_rows(x).apply(function(*given, **more)).take(12))
        return tf.sort(tf.stack(found), axis=0) if is_sorted else found

    return lines


def _ragged(function: Any, x: Any) -> Any:
    lengths = tf.data.Dataset.range(1, 4)
    batches = lengths.map(lambda length: x[0, :length]).apply(function(3))
    return [each.to_tensor() for each in batches]


def _sparse(function: Any, x: Any) -> Any:
    return [tf.sparse.to_dense(each) for each in _rows(x).apply(function(3, [6]))]


def _bucketed(function: Any, x: Any) -> Any:
    lengths = tf.data.Dataset.from_tensor_slices([1, 3, 2, 4]).map(lambda length: x[0, :length])
    return list(lengths.apply(function(tf.size, [3], [2, 2])))


def _scanned(function: Any, x: Any) -> Any:
    return list(_rows(x).apply(function(tf.zeros_like(x[0]), lambda state, row: (state + row, state * row))))


def _of_two(lines: Callable[[Any, Any, Any], Any]) -> Lines:
    return lambda function, x: list(lines(function, _rows(x), _rows(x + 1)))


def _chosen(function: Any, first: Any, second: Any) -> Any:
    return function([first, second], tf.data.Dataset.from_tensor_slices(whole(1, 0, 0, 1)))


def _grouped(function: Any, x: Any) -> Any:
    reducer = tf.data.experimental.Reducer(lambda key: tf.zeros_like(x[0]), lambda a, row: a + row, lambda a: a)
    return list(_rows(x).apply(function(_key, reducer)))


def _reducer(function: Any, x: Any) -> Any:
    reducer = function(lambda key: tf.zeros_like(x[0]), lambda a, row: a + row, lambda a: a)
    return list(_rows(x).apply(tf.data.experimental.group_by_reducer(_key, reducer)))


def _key(row: Any) -> Any:
    return tf.cast(tf.reduce_sum(row) > 2, tf.int64)


def _saved(function: Any, x: Any) -> Any:
    name = f"./{new_name()}"
    function(_rows(x), name)
    return list(tf.data.Dataset.load(name))


def _loaded(function: Any, x: Any) -> Any:
    name = f"./{new_name()}"
    _rows(x).save(name)
    return list(function(name))


def _snapshot(function: Any, x: Any) -> Any:
    made = _rows(x).apply(function(f"./{new_name()}"))
    return [*made, *made]


def _from_variant(function: Any, x: Any) -> Any:
    return list(function(tf.data.experimental.to_variant(_rows(x)), tf.TensorSpec((4,), x.dtype)))


def _to_variant(function: Any, x: Any) -> Any:
    return list(tf.data.experimental.from_variant(function(_rows(x)), tf.TensorSpec((4,), x.dtype)))


def _csv(read: Callable[[Any, str], Any]) -> Lines:
    """What lines read from a file with two columns."""
    return with_file("a,b\n0.5,7\n1.5,8\n", read)


def _records(function: Any, x: Any) -> Any:
    name = f"{new_name()}.records"
    function(name).write(tf.data.Dataset.from_tensor_slices(["first", "second"]))
    return list(tf.data.TFRecordDataset(name))


def _table(function: Any, x: Any) -> Any:
    pairs = tf.data.Dataset.from_tensor_slices((whole(1, 2, 3), x[:, 0]))
    return function(pairs, default_value=tf.cast(0, x.dtype)).lookup(whole(3, 7, 1))


def _index_table(function: Any, x: Any) -> Any:
    return function(tf.data.Dataset.from_tensor_slices(["a", "b"])).lookup(tf.constant(["b", "c"]))


def _initialized(function: Any, x: Any) -> Any:
    pairs = tf.data.Dataset.from_tensor_slices((whole(1, 2, 3), x[:, 0]))
    return tf.lookup.StaticHashTable(function(pairs), tf.cast(0, x.dtype)).lookup(whole(3, 7, 1))


def _optional(function: Any, x: Any) -> Any:
    iterator = iter(_rows(x[:1]))
    first = function(iterator)
    return [first.get_value(), first.has_value(), function(iterator).has_value()]


def _structure(function: Any, x: Any) -> Any:
    return tf.constant(function(_rows(x)).shape.as_list())


def _enumerated(function: Any, x: Any) -> Any:
    return [part for pair in _rows(x).apply(function(5)) for part in pair]


def _first(count: int, **more: Any) -> Lines:
    """The first elements of a dataset that the function makes."""
    return lambda function, x: list(function(**more).take(count))


LINES: Mapping[str, Lines] = {
    "tf.compat.v1.data.experimental.Counter": _first(3, start=5, step=2),
    "tf.compat.v1.data.experimental.RandomDataset": _first(3, seed=5),
    "tf.compat.v1.data.experimental.choose_from_datasets": _of_two(_chosen),
    "tf.compat.v1.data.experimental.sample_from_datasets": _of_two(
        lambda function, first, second: function([first, second], [1.0, 0.0], seed=5).take(3)
    ),
    "tf.data.experimental.Counter": _first(3, start=5, step=2),
    "tf.data.experimental.CsvDataset": _csv(
        lambda function, name: [part for pair in function(name, [tf.float32, tf.int32], header=True) for part in pair]
    ),
    "tf.data.experimental.DatasetInitializer": _initialized,
    "tf.data.experimental.RandomDataset": _first(3, seed=5),
    "tf.data.experimental.Reducer": _reducer,
    "tf.data.experimental.TFRecordWriter": _records,
    "tf.data.experimental.assert_cardinality": _applied(3),
    "tf.data.experimental.at": lambda function, x: function(_rows(x), 1),
    "tf.data.experimental.bucket_by_sequence_length": _bucketed,
    "tf.data.experimental.cardinality": lambda function, x: function(_rows(x)),
    "tf.data.experimental.choose_from_datasets": _of_two(_chosen),
    "tf.data.experimental.copy_to_device": _applied("/cpu:0"),
    "tf.data.experimental.dense_to_ragged_batch": _ragged,
    "tf.data.experimental.dense_to_sparse_batch": _sparse,
    "tf.data.experimental.enumerate_dataset": _enumerated,
    "tf.data.experimental.from_list": lambda function, x: list(function([x[0], x[1]])),
    "tf.data.experimental.from_variant": _from_variant,
    "tf.data.experimental.get_next_as_optional": _optional,
    "tf.data.experimental.get_single_element": lambda function, x: function(_rows(x).take(1)),
    "tf.data.experimental.get_structure": _structure,
    "tf.data.experimental.group_by_reducer": _grouped,
    "tf.data.experimental.group_by_window": _applied(_key, lambda key, window: window.batch(2), 2),
    "tf.data.experimental.ignore_errors": _applied(),
    "tf.data.experimental.index_table_from_dataset": _index_table,
    "tf.data.experimental.load": _loaded,
    "tf.data.experimental.make_csv_dataset": _csv(
        lambda function, name: tf.nest.flatten(next(iter(function(name, 2, shuffle=False, num_epochs=1))))
    ),
    "tf.data.experimental.map_and_batch": _applied(lambda row: row * 2, 2),
    "tf.data.experimental.pad_to_cardinality": lambda function, x: [
        part for each in _rows({"row": x}).apply(function(5)) for part in (each["row"], each["valid"])
    ],
    "tf.data.experimental.parallel_interleave": _applied(
        lambda row: tf.data.Dataset.from_tensor_slices(tf.stack([row, -row])), 2
    ),
    "tf.data.experimental.prefetch_to_device": _applied("/cpu:0"),
    "tf.data.experimental.rejection_resample": lambda function, x: [
        part
        for pair in _rows(x).apply(function(lambda row: tf.constant(0), [1.0], [1.0], seed=5)).take(3)
        for part in pair
    ],
    "tf.data.experimental.sample_from_datasets": _of_two(
        lambda function, first, second: function([first, second], [1.0, 0.0], seed=5).take(3)
    ),
    "tf.data.experimental.save": _saved,
    "tf.data.experimental.scan": _scanned,
    "tf.data.experimental.shuffle_and_repeat": _applied(3, 2, seed=5, is_sorted=True),
    "tf.data.experimental.snapshot": _snapshot,
    "tf.data.experimental.table_from_dataset": _table,
    "tf.data.experimental.take_while": _applied(lambda row: tf.reduce_sum(row) > 2),
    "tf.data.experimental.to_variant": _to_variant,
    "tf.data.experimental.unbatch": lambda function, x: list(_rows(x).apply(function()).take(12)),
    "tf.data.experimental.unique": lambda function, x: list(
        tf.data.Dataset.from_tensor_slices([3, 1, 3, 2]).apply(function())
    ),
}

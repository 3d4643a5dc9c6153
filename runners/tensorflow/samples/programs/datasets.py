"""Operations of ``tf.raw_ops`` that make datasets, and go through them with iterators."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import tensorflow as tf

from runners.tensorflow.samples.programs.lines import Lines, new_name

_raw = tf.raw_ops
_MOST = 12
Kinds = Mapping[str, Sequence[Any]]


def rows(x: Any) -> Any:
    """A dataset of the rows of a tensor."""
    return _raw.TensorSliceDataset(components=[x], output_shapes=[[4]])


def kinds(x: Any, *shapes: Any) -> Kinds:
    """What operations on datasets ask for: the types and shapes of the components, rows of the tensor by default."""
    found = shapes or ([4],)
    return {"output_types": [x.dtype] * len(found), "output_shapes": list(found)}


def elements(dataset: Any, asked: Kinds) -> Sequence[Any]:
    """The components of the first elements of a dataset, one after the other."""
    iterator = _raw.AnonymousIteratorV3(**asked)
    _raw.MakeIterator(dataset=dataset, iterator=iterator)
    found: list[Any] = []
    try:
        for _ in range(_MOST):
            found += _raw.IteratorGetNext(iterator=iterator, **asked)
    except tf.errors.OutOfRangeError:
        pass
    return found


def _of_rows(*shapes: Any, is_sorted: bool = False, argument: str = "input_dataset", **settings: Any) -> Lines:
    """The elements of a dataset that an operation makes of the tensor's rows. Its elements have these shapes. Settings
    that are functions are of the tensor. Where the order is drawn, the elements are sorted."""

    def lines(function: Any, x: Any) -> Any:
        asked = kinds(x, *shapes)
        given = {name: value(x) if callable(value) else value for name, value in settings.items()}
        found = elements(function(**{argument: rows(x)}, **given, **asked), asked)
        return tf.sort(tf.stack(found), axis=0) if is_sorted else found

    return lines


def elements_of(lines: Callable[[Any, Any], Any]) -> Lines:
    """The elements of a dataset of the tensor's rows that the lines return."""
    return lambda function, x: elements(lines(function, x), kinds(x))


def _of_variant(**settings: Any) -> Lines:
    """What an operation says of the dataset of the tensor's rows."""
    return lambda function, x: function(input_dataset=rows(x), **settings)


def traced(body: Callable[..., Any], *shapes: Any) -> Callable[[Any], Any]:
    """Traces a function of elements with these shapes, by default of a row."""

    def of(x: Any) -> Any:
        specs = [tf.TensorSpec(each, x.dtype) for each in shapes or ([4],)]
        return tf.function(body).get_concrete_function(*specs)

    return of


_DOUBLED = traced(lambda row: row + row)
_LARGE = traced(lambda row: tf.reduce_sum(row) > 2)
_TWICE = traced(lambda row: _raw.TensorSliceDataset(components=[tf.stack([row, -row])], output_shapes=[[4]]))
_MAPPING: Mapping[str, Any] = {"other_arguments": [], "f": _DOUBLED}
_FILTERING: Mapping[str, Any] = {"other_arguments": [], "predicate": _LARGE}
_FLATTENING: Mapping[str, Any] = {"other_arguments": [], "f": _TWICE}
_INTERLEAVING: Mapping[str, Any] = {**_FLATTENING, "cycle_length": 2, "block_length": 1}
_BUFFERS: Mapping[str, Any] = {"buffer_output_elements": 1, "prefetch_input_elements": 1}
_SEEDS: Mapping[str, Any] = {"seed": 3, "seed2": 4}
_BATCH = (2, 4)


def _scanned(state: Any, row: Any) -> Any:
    return state + row, state * row


def _scanning(x: Any) -> Any:
    return traced(_scanned, [4], [4])(x)


def adding(x: Any) -> Any:
    return traced(lambda state, row: state + row, [4], [4])(x)


def _key(x: Any) -> Any:
    return traced(lambda row: tf.cast(tf.reduce_sum(row) > 2, tf.int64))(x)


def _grouped_by_reducer(function: Any, x: Any) -> Any:
    begin = tf.function(lambda key: tf.zeros((4,), x.dtype)).get_concrete_function(tf.TensorSpec([], tf.int64))
    others = {f"{name}_func_other_arguments": [] for name in ("key", "init", "reduce", "finalize")}
    functions = {"key_func": _key(x), "init_func": begin, "reduce_func": adding(x), "finalize_func": _DOUBLED(x)}
    return function(input_dataset=rows(x), **others, **functions, **kinds(x))


def _grouped_by_window(function: Any, x: Any) -> Any:
    number, window = tf.TensorSpec([], tf.int64), tf.TensorSpec([], tf.variant)
    size = tf.function(lambda key: tf.constant(2, tf.int64)).get_concrete_function(number)
    whole = tf.function(lambda key, rows: rows).get_concrete_function(number, window)
    others = {f"{name}_func_other_arguments": [] for name in ("key", "reduce", "window_size")}
    functions = {"key_func": _key(x), "reduce_func": whole, "window_size_func": size}
    return function(input_dataset=rows(x), **others, **functions, **kinds(x))


def _generated(function: Any, x: Any) -> Any:
    specs = tf.TensorSpec([], tf.int64)
    begin = tf.function(lambda: tf.constant(0, tf.int64)).get_concrete_function()
    following = tf.function(lambda state: x[0]).get_concrete_function(specs)
    end = tf.function(lambda state: state).get_concrete_function(specs)
    others = {f"{name}_func_other_args": [] for name in ("init", "next", "finalize")}
    captured = {"next_func_other_args": following.captured_inputs}
    functions = {"init_func": begin, "next_func": following, "finalize_func": end}
    return function(**{**others, **captured}, **functions, **kinds(x))


def _selected(function: Any, x: Any) -> Any:
    chosen = tf.constant([1, 0, 0, 1], tf.int64)
    selector = _raw.TensorSliceDataset(components=[chosen], output_shapes=[[]])
    return function(selector_input_dataset=selector, data_input_datasets=[rows(x), rows(x + 1)], **kinds(x))


def _padding(**more: Any) -> Lines:
    def lines(function: Any, x: Any) -> Any:
        asked = kinds(x, [None, 6])
        shapes = [tf.constant([6], tf.int64)]
        values = [tf.constant(7, x.dtype)]
        given = {"batch_size": 2, "padded_shapes": shapes, "padding_values": values, **more}
        return elements(function(input_dataset=rows(x), output_shapes=asked["output_shapes"], **given), asked)

    return lines


def _windows(function: Any, x: Any) -> Any:
    settings = {"size": 2, "shift": 1, "stride": 1, "drop_remainder": True}
    windows = function(input_dataset=rows(x), output_types=[tf.variant], output_shapes=[[]], **settings)
    whole = tf.function(lambda rows: rows).get_concrete_function(tf.TensorSpec([], tf.variant))
    return _raw.FlatMapDataset(input_dataset=windows, other_arguments=[], f=whole, **kinds(x))


def _to_records(function: Any, x: Any) -> Any:
    name = f"{new_name()}.records"
    texts = _raw.TensorSliceDataset(components=[["first", "second"]], output_shapes=[[]])
    function(input_dataset=texts, filename=name, compression_type="")
    return list(tf.data.TFRecordDataset(name))


def _of_numbers(lines: Callable[[Any], Any], count: int = 1) -> Lines:
    """The elements of a dataset of whole numbers that the lines return."""
    asked = {"output_types": [tf.int64] * count, "output_shapes": [[]] * count}
    return lambda function, x: elements(lines(function), asked)


def _kinds_of_numbers() -> Kinds:
    return {"output_types": [tf.int64], "output_shapes": [[]]}


def _drawn(function: Any, **settings: Any) -> Any:
    made = function(**_SEEDS, **settings, **_kinds_of_numbers())
    return _raw.TakeDataset(input_dataset=made, count=4, **_kinds_of_numbers())


def _unique(function: Any) -> Any:
    numbers = _raw.TensorSliceDataset(components=[tf.constant([3, 1, 3, 2, 1], tf.int64)], output_shapes=[[]])
    return function(input_dataset=numbers, **_kinds_of_numbers())


def _sparse_slices(function: Any, x: Any) -> Any:
    places = tf.constant([[0, 1], [1, 2]], tf.int64)
    dataset = function(indices=places, values=x[0, :2], dense_shape=tf.constant([2, 4], tf.int64))
    asked = {"output_types": [tf.int64, x.dtype, tf.int64], "output_shapes": [[None, 1], [None], [1]]}
    return elements(dataset, asked)


def _sparse_batches(function: Any, x: Any) -> Any:
    given = {"batch_size": 3, "row_shape": tf.constant([6], tf.int64), **kinds(x, None)}
    dataset = function(input_dataset=rows(x), **given)
    asked = {"output_types": [tf.variant], "output_shapes": [None]}
    (found,) = elements(dataset, asked)
    return list(_raw.DeserializeSparse(serialized_sparse=found, dtype=x.dtype))


_BOTH: Mapping[str, Lines] = {
    "AssertNextDataset": _of_rows(transformations=lambda x: tf.constant([], tf.string)),
    "BytesProducedStatsDataset": _of_rows(tag="tag"),
    "DatasetCardinality": _of_variant(),
    "DatasetToTFRecord": _to_records,
    "DenseToSparseBatchDataset": _sparse_batches,
    "DirectedInterleaveDataset": elements_of(_selected),
    "GroupByReducerDataset": elements_of(_grouped_by_reducer),
    "GroupByWindowDataset": elements_of(_grouped_by_window),
    "IgnoreErrorsDataset": _of_rows(),
    "LatencyStatsDataset": _of_rows(tag="tag"),
    "MapAndBatchDataset": _of_rows(_BATCH, batch_size=2, num_parallel_calls=1, drop_remainder=True, **_MAPPING),
    "MaxIntraOpParallelismDataset": _of_rows(max_intra_op_parallelism=1),
    "NonSerializableDataset": _of_rows(),
    "ParallelInterleaveDataset": _of_rows(sloppy=False, **_INTERLEAVING, **_BUFFERS),
    "PrivateThreadPoolDataset": _of_rows(num_threads=1),
    "ScanDataset": _of_rows(initial_state=lambda x: [x[0]], other_arguments=[], f=_scanning),
    "SleepDataset": _of_rows(sleep_microseconds=1),
    "SlidingWindowDataset": _of_rows(_BATCH, window_size=2, window_shift=1, window_stride=1),
    "TakeWhileDataset": _of_rows(**_FILTERING),
    "UnbatchDataset": _of_rows([]),
    "UniqueDataset": _of_numbers(_unique),
}
"""Operations that TensorFlow also has with the prefix Experimental."""
LINES: Mapping[str, Lines] = {
    **{f"tf.raw_ops.{prefix}{name}": lines for name, lines in _BOTH.items() for prefix in ("", "Experimental")},
    "tf.raw_ops.AssertCardinalityDataset": _of_rows(cardinality=3),
    "tf.raw_ops.AssertPrevDataset": _of_rows(transformations=lambda x: tf.constant([], tf.string)),
    "tf.raw_ops.AutoShardDataset": _of_rows(num_workers=1, index=0),
    "tf.raw_ops.BatchDatasetV2": _of_rows(_BATCH, batch_size=2, drop_remainder=True),
    "tf.raw_ops.CacheDataset": _of_rows(filename=""),
    "tf.raw_ops.CacheDatasetV2": lambda function, x: elements(
        function(input_dataset=rows(x), filename="", cache=_raw.DummyMemoryCache(), **kinds(x)), kinds(x)
    ),
    "tf.raw_ops.ConcatenateDataset": _of_rows(another_dataset=lambda x: rows(x + 1)),
    "tf.raw_ops.FilterDataset": _of_rows(**_FILTERING),
    "tf.raw_ops.FinalizeDataset": _of_rows(),
    "tf.raw_ops.FlatMapDataset": _of_rows(**_FLATTENING),
    "tf.raw_ops.GeneratorDataset": lambda function, x: elements(
        _raw.TakeDataset(input_dataset=_generated(function, x), count=2, **kinds(x)), kinds(x)
    ),
    "tf.raw_ops.GetElementAtIndex": lambda function, x: function(dataset=rows(x), index=1, **kinds(x)),
    "tf.raw_ops.GlobalShuffleDataset": _of_rows(
        is_sorted=True, seed_generator=lambda x: _raw.DummySeedGenerator(), **_SEEDS
    ),
    "tf.raw_ops.InterleaveDataset": _of_rows(**_INTERLEAVING),
    "tf.raw_ops.LegacyParallelInterleaveDatasetV2": _of_rows(**_INTERLEAVING, **_BUFFERS),
    "tf.raw_ops.ListDataset": lambda function, x: elements(
        function(tensors=[x[0], x[1]], output_types=[x.dtype], output_shapes=[[4]]), kinds(x)
    ),
    "tf.raw_ops.MapDataset": _of_rows(**_MAPPING),
    "tf.raw_ops.ModelDataset": _of_rows(),
    "tf.raw_ops.OptimizeDataset": _of_rows(optimizations=lambda x: tf.constant([], tf.string)),
    "tf.raw_ops.OptimizeDatasetV2": _of_rows(
        **{f"optimizations_{name}": lambda x: tf.constant([], tf.string) for name in ("enabled", "disabled", "default")}
    ),
    "tf.raw_ops.OptionsDataset": _of_rows(
        serialized_options=lambda x: tf.data.Options()._to_proto().SerializeToString()
    ),
    "tf.raw_ops.PaddedBatchDatasetV2": _padding(drop_remainder=False),
    "tf.raw_ops.ParallelBatchDataset": _of_rows(_BATCH, batch_size=2, num_parallel_calls=1, drop_remainder=True),
    "tf.raw_ops.ParallelInterleaveDatasetV2": _of_rows(num_parallel_calls=1, **_INTERLEAVING),
    "tf.raw_ops.ParallelInterleaveDatasetV3": _of_rows(num_parallel_calls=1, **_INTERLEAVING),
    "tf.raw_ops.ParallelInterleaveDatasetV4": _of_rows(num_parallel_calls=1, **_INTERLEAVING, **_BUFFERS),
    "tf.raw_ops.ParallelMapDataset": _of_rows(num_parallel_calls=1, **_MAPPING),
    "tf.raw_ops.ParallelMapDatasetV2": _of_rows(num_parallel_calls=1, **_MAPPING),
    "tf.raw_ops.PrefetchDataset": _of_rows(buffer_size=1),
    "tf.raw_ops.RandomDataset": _of_numbers(_drawn),
    "tf.raw_ops.RandomDatasetV2": _of_numbers(
        lambda function: _drawn(function, seed_generator=_raw.DummySeedGenerator())
    ),
    "tf.raw_ops.RangeDataset": _of_numbers(lambda function: function(start=2, stop=11, step=3, **_kinds_of_numbers())),
    "tf.raw_ops.RebatchDatasetV2": _of_rows([None], batch_sizes=[2], drop_remainder=False),
    "tf.raw_ops.RepeatDataset": _of_rows(count=2),
    "tf.raw_ops.RewriteDataset": _of_rows(rewrite_name="replicate_on_split"),
    "tf.raw_ops.SamplingDataset": _of_rows(rate=0.5, **_SEEDS),
    "tf.raw_ops.ShardDataset": _of_rows(num_shards=2, index=1),
    "tf.raw_ops.ShuffleAndRepeatDataset": _of_rows(is_sorted=True, buffer_size=3, count=2, **_SEEDS),
    "tf.raw_ops.ShuffleAndRepeatDatasetV2": _of_rows(
        is_sorted=True, buffer_size=3, count=2, seed_generator=lambda x: _raw.DummySeedGenerator(), **_SEEDS
    ),
    "tf.raw_ops.ShuffleDataset": _of_rows(is_sorted=True, buffer_size=3, **_SEEDS),
    "tf.raw_ops.ShuffleDatasetV3": _of_rows(
        is_sorted=True, buffer_size=3, seed_generator=lambda x: _raw.DummySeedGenerator(), **_SEEDS
    ),
    "tf.raw_ops.SkipDataset": _of_rows(count=1),
    "tf.raw_ops.SparseTensorSliceDataset": _sparse_slices,
    "tf.raw_ops.TakeDataset": _of_rows(count=2),
    "tf.raw_ops.TensorDataset": lambda function, x: elements(
        function(components=[x], output_shapes=[x.shape]), kinds(x, x.shape)
    ),
    "tf.raw_ops.TensorSliceDataset": elements_of(lambda function, x: function(components=[x], output_shapes=[[4]])),
    "tf.raw_ops.WindowDataset": elements_of(_windows),
    "tf.raw_ops.ZipDataset": lambda function, x: elements(
        function(input_datasets=[rows(x), rows(x + 1)], **kinds(x, [4], [4])), kinds(x, [4], [4])
    ),
}

"""Operations of ``tf.raw_ops`` on iterators and on files, and those that say something of a dataset."""

from __future__ import annotations

from typing import Any, Callable, Mapping

import tensorflow as tf

from runners.tensorflow.samples.programs.datasets import adding, elements, elements_of, kinds, rows
from runners.tensorflow.samples.programs.lines import Lines, new_name

_raw = tf.raw_ops


def _written(x: Any, text: Any) -> str:
    """A new file with a text, in the working folder of the test."""
    name = f"{new_name()}.txt"
    tf.io.write_file(name, text)
    return name


def _of_texts(shape: Any = (), name: str = "filenames", **settings: Any) -> Lines:
    """The elements of a dataset of texts that an operation reads from a file."""

    def lines(function: Any, x: Any) -> Any:
        asked = {"output_types": [tf.string], "output_shapes": [list(shape)]}
        return elements(function(**{name: [_written(x, "abcdef\nghijkl\n")]}, **settings), asked)

    return lines


def _of_records(**settings: Any) -> Lines:
    def lines(function: Any, x: Any) -> Any:
        name = f"{new_name()}.records"
        with tf.io.TFRecordWriter(name) as writer:
            for text in ("first", "second"):
                writer.write(text.encode())
        asked = {"output_types": [tf.string], "output_shapes": [[]]}
        return elements(function(filenames=[name], compression_type="", buffer_size=0, **settings), asked)

    return lines


def _of_lines(**settings: Any) -> Lines:
    """What an operation reads from lines with commas."""

    def lines(function: Any, x: Any) -> Any:
        asked = {"output_types": [tf.float32, tf.int32], "output_shapes": [[], []]}
        given = {
            "filenames": [_written(x, "0.5,7\n1.5,8\n")],
            "compression_type": "",
            "buffer_size": 100,
            "header": False,
            "field_delim": ",",
            "use_quote_delim": True,
            "na_value": "",
            "select_cols": [],
            "record_defaults": [tf.constant([0.0]), tf.constant([0])],
            "output_shapes": [[], []],
            **settings,
        }
        return elements(function(**given), asked)

    return lines


def _reduced(function: Any, x: Any) -> Any:
    given = {"initial_state": [tf.zeros((4,), x.dtype)], "other_arguments": [], "f": adding(x)}
    return function(input_dataset=rows(x), **given, **kinds(x))


def _as_optional(function: Any, x: Any) -> Any:
    found = function(iterator=_iterator(x), **kinds(x))
    return _raw.OptionalGetValue(optional=found, **kinds(x))


def _iterator(x: Any) -> Any:
    iterator = _raw.AnonymousIteratorV3(**kinds(x))
    _raw.MakeIterator(dataset=rows(x), iterator=iterator)
    return iterator


def _next(iterator: Any, x: Any) -> Any:
    return _raw.IteratorGetNext(iterator=iterator, **kinds(x))


def _made_iterator(**settings: Any) -> Lines:
    def lines(function: Any, x: Any) -> Any:
        names = {name: new_name() for name in settings}
        made = function(**names, **kinds(x))
        # Some versions also give what deletes the iterator.
        iterator = made[0] if isinstance(made, tuple) else made
        _raw.MakeIterator(dataset=rows(x), iterator=iterator)
        return _next(iterator, x)

    return lines


def _remade(function: Any, x: Any) -> Any:
    iterator = _iterator(x)
    _next(iterator, x)
    function(dataset=rows(x), iterator=iterator)
    return _next(iterator, x)


def _by_text(function: Any, x: Any) -> Any:
    iterator = _named_iterator(x)
    handle = function(resource_handle=iterator)
    return _next(_raw.IteratorFromStringHandleV2(string_handle=handle, **kinds(x)), x)


def _from_text(function: Any, x: Any) -> Any:
    handle = _raw.IteratorToStringHandle(resource_handle=_named_iterator(x))
    return _next(function(string_handle=handle, **kinds(x)), x)


def _named_iterator(x: Any) -> Any:
    iterator = _raw.IteratorV2(shared_name=new_name(), container=new_name(), **kinds(x))
    _raw.MakeIterator(dataset=rows(x), iterator=iterator)
    return iterator


def _serialized(function: Any, x: Any) -> Any:
    iterator = _iterator(x)
    _next(iterator, x)
    other = _iterator(x)
    _raw.DeserializeIterator(resource_handle=other, serialized=function(resource_handle=iterator))
    return _next(other, x)


def _deserialized(function: Any, x: Any) -> Any:
    iterator = _iterator(x)
    _next(iterator, x)
    other = _iterator(x)
    function(resource_handle=other, serialized=_raw.SerializeIterator(resource_handle=iterator))
    return _next(other, x)


def _from_graph(function: Any, x: Any) -> Any:
    return function(graph_def=_raw.DatasetToGraphV2(input_dataset=rows(x)))


def _to_graph(function: Any, x: Any) -> Any:
    return _raw.DatasetFromGraph(graph_def=function(input_dataset=rows(x)))


def _fingerprint(function: Any, x: Any) -> Any:
    """Whether it is the same for the same dataset, and for another one."""
    other = _raw.TakeDataset(input_dataset=rows(x), count=1, **kinds(x))
    found = [function(input_dataset=each) for each in (rows(x), rows(x), other)]
    return tf.stack([found[0] == found[1], found[0] == found[2]])


def _compressed(function: Any, x: Any) -> Any:
    return _raw.UncompressElement(compressed=function(components=[x]), **kinds(x, list(x.shape)))


def _uncompressed(function: Any, x: Any) -> Any:
    return function(compressed=_raw.CompressElement(components=[x]), **kinds(x, list(x.shape)))


def _initialized(function: Any, x: Any) -> Any:
    table = _raw.AnonymousHashTable(key_dtype=tf.int64, value_dtype=x.dtype)
    keys = tf.constant([1, 2, 3], tf.int64)
    pairs = _raw.TensorSliceDataset(components=[keys, x[:, 0]], output_shapes=[[], []])
    function(table_handle=table, dataset=pairs)
    return _raw.LookupTableFindV2(table_handle=table, keys=keys[::-1], default_value=x[0, 0])


def _wrapped(lines: Callable[[Any, Any], Any]) -> Lines:
    return lambda function, x: elements(lines(function, rows(x)), kinds(x))


LINES: Mapping[str, Lines] = {
    "tf.raw_ops.AnonymousIterator": _made_iterator(),
    "tf.raw_ops.AnonymousIteratorV2": _made_iterator(),
    "tf.raw_ops.AnonymousIteratorV3": _made_iterator(),
    "tf.raw_ops.CSVDataset": _of_lines(),
    "tf.raw_ops.CSVDatasetV2": _of_lines(exclude_cols=[]),
    "tf.raw_ops.CompressElement": _compressed,
    "tf.raw_ops.DatasetFingerprint": _fingerprint,
    "tf.raw_ops.DatasetFromGraph": elements_of(_from_graph),
    "tf.raw_ops.DatasetToGraph": elements_of(_to_graph),
    "tf.raw_ops.DatasetToGraphV2": elements_of(_to_graph),
    "tf.raw_ops.DatasetToSingleElement": lambda function, x: function(
        dataset=_raw.TakeDataset(input_dataset=rows(x), count=1, **kinds(x)), **kinds(x)
    ),
    "tf.raw_ops.DeserializeIterator": _deserialized,
    "tf.raw_ops.DummyMemoryCache": lambda function, x: elements(
        _raw.CacheDatasetV2(input_dataset=rows(x), filename="", cache=function(), **kinds(x)), kinds(x)
    ),
    "tf.raw_ops.FixedLengthRecordDatasetV2": _of_texts(
        header_bytes=1, record_bytes=4, footer_bytes=1, buffer_size=0, compression_type=""
    ),
    "tf.raw_ops.InitializeTableFromDataset": _initialized,
    "tf.raw_ops.IteratorFromStringHandle": _from_text,
    "tf.raw_ops.IteratorFromStringHandleV2": _from_text,
    "tf.raw_ops.IteratorGetNext": lambda function, x: function(iterator=_iterator(x), **kinds(x)),
    "tf.raw_ops.IteratorGetNextAsOptional": _as_optional,
    "tf.raw_ops.IteratorGetNextSync": lambda function, x: function(iterator=_iterator(x), **kinds(x)),
    "tf.raw_ops.IteratorToStringHandle": _by_text,
    "tf.raw_ops.IteratorV2": _made_iterator(shared_name="", container=""),
    "tf.raw_ops.MakeIterator": _remade,
    "tf.raw_ops.ReduceDataset": _reduced,
    "tf.raw_ops.SerializeIterator": _serialized,
    "tf.raw_ops.TFRecordDataset": _of_records(),
    "tf.raw_ops.TextLineDataset": _of_texts(compression_type="", buffer_size=0),
    "tf.raw_ops.UncompressElement": _uncompressed,
    "tf.raw_ops.UnwrapDatasetVariant": _wrapped(
        lambda function, rows: function(input_handle=_raw.WrapDatasetVariant(input_handle=rows))
    ),
    "tf.raw_ops.WrapDatasetVariant": _wrapped(
        lambda function, rows: _raw.UnwrapDatasetVariant(input_handle=function(input_handle=rows))
    ),
}

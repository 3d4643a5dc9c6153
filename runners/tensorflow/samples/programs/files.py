"""Functions of ``tf`` that read and write files, decode pictures, and parse examples."""

from __future__ import annotations

from typing import Any, Callable, Mapping

import tensorflow as tf

from runners.tensorflow.samples.programs.lines import Lines, new_name, picture, with_file


def _written_records(function: Any, x: Any) -> Any:
    name = f"{new_name()}.records"
    with function(name) as writer:
        for text in (b"first", b"second"):
            writer.write(text)
    return list(tf.data.TFRecordDataset(name))


def _records(read: Callable[[Any, str], Any]) -> Lines:
    """What lines read from a file with two records."""

    def lines(function: Any, x: Any) -> Any:
        name = f"{new_name()}.records"
        with tf.io.TFRecordWriter(name) as writer:
            for text in (b"first", b"second"):
                writer.write(text)
        return [tf.constant(each) for each in read(function, name)]

    return lines


def _texts(read: Callable[[Any, str], Any]) -> Lines:
    """What lines read from a file with two lines of text."""
    return with_file("abcdef\nghijkl\n", read)


def _written(function: Any, x: Any) -> Any:
    name = f"{new_name()}.txt"
    function(name, tf.constant("some text"))
    return tf.io.read_file(name)


_FEATURES: Mapping[str, Any] = {
    "numbers": tf.io.FixedLenFeature([2], tf.float32),
    "texts": tf.io.VarLenFeature(tf.string),
}


def _example() -> bytes:
    features = {
        "numbers": tf.train.Feature(float_list=tf.train.FloatList(value=[0.5, 1.5])),
        "texts": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"a", b"b"])),
    }
    return bytes(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())


def _sequence_example() -> bytes:
    steps = [tf.train.Feature(float_list=tf.train.FloatList(value=[number, 2.5])) for number in (0.5, 1.5)]
    lists = tf.train.FeatureLists(feature_list={"steps": tf.train.FeatureList(feature=steps)})
    return bytes(tf.train.SequenceExample(feature_lists=lists).SerializeToString())


_STEPS: Mapping[str, Any] = {"steps": tf.io.FixedLenSequenceFeature([2], tf.float32)}


def _parts(found: Any) -> Any:
    """The values of parsed features."""
    return [found["numbers"], found["texts"].values]


def _from_file(function: Any, x: Any) -> Any:
    name = f"{new_name()}.txt"
    tf.io.write_file(name, "a\nb\n")
    line, text = tf.lookup.TextFileIndex.LINE_NUMBER, tf.lookup.TextFileIndex.WHOLE_LINE
    made = function(name, tf.string, text, tf.int64, line)
    return tf.lookup.StaticHashTable(made, -1).lookup(tf.constant(["b", "c"]))


def _checkpoint(x: Any) -> str:
    return str(tf.train.Checkpoint(variable=tf.Variable(x)).save(f"./{new_name()}"))


def _listed(function: Any, x: Any) -> Any:
    return tf.constant([f"{name} {shape}" for name, shape in function(_checkpoint(x))])


def _loaded(function: Any, x: Any) -> Any:
    return tf.constant(function(_checkpoint(x), "variable/.ATTRIBUTES/VARIABLE_VALUE"))


def _bitmap() -> bytes:
    """A picture of two by one pixels in 24 bits: blue, and red."""
    rows = bytes((255, 0, 0, 0, 0, 255, 0, 0))
    sizes = ((2, 4), (1, 4), (1, 2), (24, 2), (0, 4), (len(rows), 4), (0, 4), (0, 4), (0, 4), (0, 4))
    head = (40).to_bytes(4, "little") + b"".join(value.to_bytes(width, "little") for value, width in sizes)
    file = (
        b"BM" + (14 + len(head) + len(rows)).to_bytes(4, "little") + bytes(4) + (14 + len(head)).to_bytes(4, "little")
    )
    return file + head + rows


LINES: Mapping[str, Lines] = {
    "tf.compat.v1.io.tf_record_iterator": _records(lambda function, name: function(name)),
    "tf.compat.v1.data.TFRecordDataset": _records(lambda function, name: function(name)),
    "tf.compat.v1.data.TextLineDataset": _texts(lambda function, name: list(function(name))),
    "tf.compat.v1.parse_example": lambda function, x: _parts(function([_example(), _example()], _FEATURES)),
    "tf.compat.v1.parse_single_example": lambda function, x: _parts(function(_example(), _FEATURES)),
    "tf.data.TFRecordDataset": _records(lambda function, name: function(name)),
    "tf.data.TextLineDataset": _texts(lambda function, name: list(function(name))),
    "tf.data.FixedLengthRecordDataset": _texts(lambda function, name: list(function(name, 7))),
    "tf.io.TFRecordWriter": _written_records,
    "tf.io.decode_and_crop_jpeg": lambda function, x: function(tf.io.encode_jpeg(picture()), [1, 0, 2, 3]),
    "tf.io.decode_base64": lambda function, x: function(tf.constant(["YWI", "Yw"])),
    "tf.io.decode_bmp": lambda function, x: function(_bitmap()),
    "tf.io.encode_jpeg": lambda function, x: tf.io.decode_jpeg(function(picture())),
    "tf.io.encode_png": lambda function, x: tf.io.decode_png(function(picture())),
    "tf.io.parse_example": lambda function, x: _parts(function([_example(), _example()], _FEATURES)),
    "tf.io.parse_sequence_example": lambda function, x: function([_sequence_example()], sequence_features=_STEPS)[1][
        "steps"
    ],
    "tf.io.parse_single_example": lambda function, x: _parts(function(_example(), _FEATURES)),
    "tf.io.parse_single_sequence_example": lambda function, x: function(_sequence_example(), sequence_features=_STEPS)[
        1
    ]["steps"],
    "tf.io.read_file": _texts(lambda function, name: function(name)),
    "tf.io.matching_files": _texts(lambda function, name: function(f"*{name[4:]}") == name),
    "tf.io.write_file": _written,
    "tf.lookup.TextFileInitializer": _from_file,
    "tf.train.list_variables": _listed,
    "tf.train.load_variable": _loaded,
}

"""Operations of ``tf.raw_ops`` whose inputs must fit together: cells, texts, transforms, drawn numbers, control flow.

Each entry calls its operation with parts of a tensor of three rows and four columns.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping

import tensorflow as tf

from runners.tensorflow.samples.programs.lines import Lines, sized, texts, whole


def _cell(x: Any, gates: int) -> Mapping[str, Any]:
    """The inputs of a cell with two units."""
    found = {"x": x, "h_prev": sized(x, 3, 2)}
    if gates == 4:
        peepholes = dict.fromkeys(("wci", "wcf", "wco"), sized(x, 2))
        return {**found, "cs_prev": sized(x, 3, 2), "w": sized(x, 6, 8), "b": sized(x, 8), **peepholes}
    kernels = {"w_ru": sized(x, 6, 4), "w_c": sized(x, 6, 2)}
    return {**found, **kernels, "b_ru": sized(x, 4), "b_c": sized(x, 2)}


def _block(x: Any) -> Mapping[str, Any]:
    return {**_cell(x, 4), "x": sized(x, 2, 3, 4), "seq_len_max": tf.constant(2, tf.int64)}


def _speech(x: Any) -> Mapping[str, Any]:
    """Two sequences of four frames with three classes."""
    return {"inputs": tf.math.log(sized(x, 4, 2, 3)), "sequence_length": [4, 3]}


def _labels() -> Mapping[str, Any]:
    return {"labels_indices": whole([0, 0], [0, 1], [1, 0]), "labels_values": [1, 0, 1]}


def _complex(x: Any) -> Any:
    return tf.complex(x, x * x)


def _wide(x: Any) -> Any:
    """The complex type of this precision."""
    return tf.complex128 if x.dtype == tf.float64 else tf.complex64


_SEED: Mapping[str, Any] = {"shape": [3, 2], "seed": [1, 2]}
_COLUMN: Mapping[str, Any] = {"shape": [3, 1], "seed": [1, 2]}
"""Where a parameter of the distribution is a tensor of one element."""


def _key(x: Any, columns: int = 2) -> Mapping[str, Any]:
    """A key for Philox, and its counter."""
    return {
        "shape": [3, columns],
        "key": tf.constant([5], tf.uint64),
        "counter": tf.constant([1, 2], tf.uint64),
        "alg": 1,
    }


def _bounds(x: Any) -> Mapping[str, Any]:
    return {"minvals": -x[0, :1], "maxvals": x[0, 1:2] + 1}


def _decided(*branches: str, **settings: Any) -> Lines:
    """What an operation with functions makes of the tensor."""

    def lines(function: Any, x: Any) -> Any:
        made = [tf.function(body).get_concrete_function(tf.TensorSpec(x.shape, x.dtype)) for body in _BODIES]
        named = dict(zip(branches, made)) if branches else {"branches": made}
        return function(input=[x], Tout=[x.dtype], **named, **settings)

    return lines


_BODIES: tuple[Callable[[Any], Any], ...] = (lambda x: x + x, lambda x: x * x)


def _looped(function: Any, x: Any) -> Any:
    spec = tf.TensorSpec(x.shape, x.dtype)
    until = tf.function(lambda a: tf.reduce_sum(a) < 100).get_concrete_function(spec)
    return function(input=[x], cond=until, body=tf.function(lambda a: a + a).get_concrete_function(spec))


def _called(function: Any, x: Any) -> Any:
    traced = tf.function(lambda a: a * a).get_concrete_function(tf.TensorSpec(x.shape, x.dtype))
    return function(args=[x], Tout=[x.dtype], f=traced)


def _each_row(function: Any, x: Any) -> Any:
    traced = tf.function(lambda a: a * a).get_concrete_function(tf.TensorSpec([4], x.dtype))
    return function(arguments=[x], captured_inputs=[], output_types=[x.dtype], output_shapes=[[4]], f=traced)


def _stitched(x: Any) -> Mapping[str, Any]:
    """Every row has a part: the others would hold what was in memory."""
    return {"indices": [[2, 0], [1]], "data": [x[:2], x[2:]]}


LINES: Mapping[str, Lines] = {
    "tf.dynamic_stitch": lambda function, x: function(**_stitched(x)),
    "tf.raw_ops.DynamicStitch": lambda function, x: function(**_stitched(x)),
    "tf.raw_ops.ParallelDynamicStitch": lambda function, x: function(**_stitched(x)),
    # By no bits, or by fewer than the integers have.
    "tf.raw_ops.LeftShift": lambda function, x: function(x=whole(5, 7, -9), y=whole(0, 2, 63)),
    "tf.raw_ops.RightShift": lambda function, x: function(x=whole(5, 7, -9), y=whole(0, 2, 63)),
    "tf.raw_ops.BatchMatMul": lambda function, x: function(x=sized(x, 2, 3, 4), y=sized(x, 2, 4, 3)),
    "tf.raw_ops.BatchMatMulV2": lambda function, x: function(x=sized(x, 2, 3, 4), y=sized(x, 4, 3)),
    "tf.raw_ops.BatchMatMulV3": lambda function, x: function(x=sized(x, 2, 3, 4), y=sized(x, 4, 3), Tout=x.dtype),
    "tf.raw_ops.BlockLSTM": lambda function, x: function(**_block(x)),
    "tf.raw_ops.BlockLSTMV2": lambda function, x: function(**_block(x)),
    "tf.raw_ops.LSTMBlockCell": lambda function, x: function(**_cell(x, 4)),
    "tf.raw_ops.GRUBlockCell": lambda function, x: function(**_cell(x, 3)),
    "tf.raw_ops.BroadcastGradientArgs": lambda function, x: function(s0=[3, 1, 4], s1=[2, 1]),
    "tf.raw_ops.CTCBeamSearchDecoder": lambda function, x: function(**_speech(x), beam_width=3, top_paths=1),
    "tf.raw_ops.CTCGreedyDecoder": lambda function, x: function(**_speech(x)),
    "tf.raw_ops.CTCLoss": lambda function, x: function(**_speech(x), **_labels()),
    "tf.raw_ops.ConjugateTranspose": lambda function, x: function(x=_complex(x), perm=[1, 0]),
    "tf.raw_ops.DecodeBase64": lambda function, x: function(input=texts(["YWI", "Yw"])),
    "tf.raw_ops.DecodeCSV": lambda function, x: function(
        records=texts(["0.5,7", "1.5,"]), record_defaults=[tf.constant([0.0]), tf.constant([3])]
    ),
    "tf.raw_ops.DecodeRaw": lambda function, x: function(bytes=texts(["abcdefgh"]), out_type=tf.int32),
    "tf.raw_ops.EditDistance": lambda function, x: function(
        hypothesis_indices=whole([0, 0], [0, 1]),
        hypothesis_values=whole(5, 7),
        truth_indices=whole([0, 0], [0, 1], [0, 2]),
        truth_values=whole(5, 6, 7),
        hypothesis_shape=whole(1, 2),
        truth_shape=whole(1, 3),
    ),
    "tf.raw_ops.Einsum": lambda function, x: function(inputs=[x, x], equation="ij,kj->ik"),
    "tf.raw_ops.Fill": lambda function, x: function(dims=[2, 3], value=x[0, 0]),
    "tf.raw_ops.Fingerprint": lambda function, x: function(data=texts(["a", "b"]), method="farmhash64"),
    "tf.raw_ops.HistogramFixedWidth": lambda function, x: function(
        values=x, value_range=tf.constant([0, 1], x.dtype), nbins=4
    ),
    "tf.raw_ops.RFFT": lambda function, x: function(input=x, fft_length=[4], Tcomplex=_wide(x)),
    "tf.raw_ops.RFFT3D": lambda function, x: function(input=sized(x, 2, 3, 4), fft_length=[2, 3, 4], Tcomplex=_wide(x)),
    "tf.raw_ops.IRFFT": lambda function, x: function(input=_complex(x), fft_length=[6], Treal=x.dtype),
    "tf.raw_ops.IRFFT3D": lambda function, x: function(
        input=_complex(sized(x, 2, 3, 4)), fft_length=[2, 3, 6], Treal=x.dtype
    ),
    "tf.raw_ops.ListDiff": lambda function, x: function(x=[1, 2, 3, 4], y=[2, 4]),
    "tf.raw_ops.MatrixDiagV2": lambda function, x: function(
        diagonal=x[0], k=1, num_rows=-1, num_cols=-1, padding_value=tf.constant(7, x.dtype)
    ),
    "tf.raw_ops.MatrixDiagV3": lambda function, x: function(
        diagonal=x[0], k=-1, num_rows=-1, num_cols=-1, padding_value=tf.constant(7, x.dtype)
    ),
    "tf.raw_ops.ParseTensor": lambda function, x: function(serialized=tf.io.serialize_tensor(x), out_type=x.dtype),
    "tf.raw_ops.QuantizeAndDequantizeV3": lambda function, x: function(
        input=x, input_min=x[0, 0] * 0, input_max=x[0, 0] * 0 + 1, num_bits=8
    ),
    "tf.raw_ops.RandomIndexShuffle": lambda function, x: function(index=3, seed=[1, 2, 3], max_index=9),
    "tf.raw_ops.Range": lambda function, x: function(start=2, limit=11, delta=3),
    "tf.raw_ops.SplitV": lambda function, x: function(value=x, size_splits=[1, 3], axis=1, num_split=2),
    "tf.raw_ops.StatelessParameterizedTruncatedNormal": lambda function, x: function(
        **_COLUMN, **_bounds(x), means=x[0, :1], stddevs=x[0, 1:2]
    ),
    "tf.raw_ops.StatelessRandomBinomial": lambda function, x: function(**_COLUMN, counts=x[0, :1] + 9, probs=x[0, 1:2]),
    "tf.raw_ops.StatelessRandomGammaV2": lambda function, x: function(**_COLUMN, alpha=x[0, :1]),
    "tf.raw_ops.StatelessRandomGammaV3": lambda function, x: function(**_key(x, 1), alpha=x[0, :1]),
    "tf.raw_ops.StatelessRandomGetKeyCounter": lambda function, x: function(seed=[1, 2]),
    "tf.raw_ops.StatelessRandomNormal": lambda function, x: function(**_SEED, dtype=x.dtype),
    "tf.raw_ops.StatelessRandomNormalV2": lambda function, x: function(**_key(x), dtype=x.dtype),
    "tf.raw_ops.StatelessRandomPoisson": lambda function, x: function(**_COLUMN, lam=x[0, :1] + 3, dtype=tf.int32),
    "tf.raw_ops.StatelessRandomUniform": lambda function, x: function(**_SEED, dtype=x.dtype),
    "tf.raw_ops.StatelessRandomUniformFullInt": lambda function, x: function(**_SEED, dtype=tf.int32),
    "tf.raw_ops.StatelessRandomUniformFullIntV2": lambda function, x: function(**_key(x), dtype=tf.int32),
    "tf.raw_ops.StatelessRandomUniformInt": lambda function, x: function(**_SEED, minval=2, maxval=9),
    "tf.raw_ops.StatelessRandomUniformIntV2": lambda function, x: function(**_key(x), minval=2, maxval=9),
    "tf.raw_ops.StatelessRandomUniformV2": lambda function, x: function(**_key(x), dtype=x.dtype),
    "tf.raw_ops.StatelessTruncatedNormal": lambda function, x: function(**_SEED, dtype=x.dtype),
    "tf.raw_ops.StatelessTruncatedNormalV2": lambda function, x: function(**_key(x), dtype=x.dtype),
    "tf.raw_ops.ParameterizedTruncatedNormal": lambda function, x: function(
        **_bounds(x), shape=[3, 2], means=x[0, :1], stdevs=x[0, 1:2]
    ),
    "tf.raw_ops.TruncatedNormal": lambda function, x: function(shape=[3, 2], dtype=x.dtype),
    "tf.raw_ops.StridedSliceGrad": lambda function, x: function(
        shape=[3, 4], begin=[0, 1], end=[2, 3], strides=[1, 1], dy=x[:2, :2]
    ),
    "tf.raw_ops.StringFormat": lambda function, x: function(inputs=[tf.range(3)], template="a %s b"),
    "tf.raw_ops.StringNGrams": lambda function, x: function(
        data=texts(["a", "b", "c"]),
        data_splits=whole(0, 2, 3),
        separator="-",
        ngram_widths=[2],
        left_pad="<",
        right_pad=">",
        pad_width=-1,
        preserve_short_sequences=False,
    ),
    "tf.raw_ops.StringToHashBucketStrong": lambda function, x: function(
        input=texts(["a", "b"]), num_buckets=7, key=[1, 2]
    ),
    "tf.raw_ops.TridiagonalMatMul": lambda function, x: function(
        superdiag=x[None, 0, :3], maindiag=x[None, 1, :3], subdiag=x[None, 2, :3], rhs=x
    ),
    "tf.raw_ops.TridiagonalSolve": lambda function, x: function(
        diagonals=tf.stack([x[0], x[1] + 4, x[2]]), rhs=tf.transpose(x)
    ),
    "tf.raw_ops.UnicodeDecode": lambda function, x: function(input=texts(["aü", "b"]), input_encoding="UTF-8"),
    "tf.raw_ops.UnicodeDecodeWithOffsets": lambda function, x: function(
        input=texts(["aü", "b"]), input_encoding="UTF-8"
    ),
    "tf.raw_ops.UnicodeEncode": lambda function, x: function(
        input_values=[97, 252, 98], input_splits=whole(0, 2, 3), output_encoding="UTF-8"
    ),
    "tf.raw_ops.UnicodeTranscode": lambda function, x: function(
        input=texts(["aü"]), input_encoding="UTF-8", output_encoding="UTF-16-BE"
    ),
    "tf.raw_ops.UnravelIndex": lambda function, x: function(indices=[5, 7], dims=[3, 4]),
    "tf.raw_ops.UnsortedSegmentJoin": lambda function, x: function(
        inputs=texts(["a", "b", "c"]), segment_ids=[1, 0, 1], num_segments=2, separator="-"
    ),
    "tf.raw_ops.DeviceIndex": lambda function, x: function(device_names=["CPU", "GPU"]),
    "tf.raw_ops.Case": _decided(branch_index=1),
    "tf.raw_ops.If": _decided("then_branch", "else_branch", cond=True),
    "tf.raw_ops.StatelessCase": _decided(branch_index=1),
    "tf.raw_ops.StatelessIf": _decided("then_branch", "else_branch", cond=False),
    "tf.raw_ops.While": _looped,
    "tf.raw_ops.StatelessWhile": _looped,
    "tf.raw_ops.PartitionedCall": _called,
    "tf.raw_ops.StatefulPartitionedCall": _called,
    "tf.raw_ops.MapDefun": _each_row,
    "tf.raw_ops.PlaceholderWithDefault": lambda function, x: function(input=x, shape=x.shape),
}

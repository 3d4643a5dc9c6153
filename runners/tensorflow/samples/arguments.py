"""What the arguments of TensorFlow's functions may be, by the names of their parameters.

TensorFlow and Keras name parameters alike: ``strides``, ``segment_ids``, ``y_true``. A choice is a plain value, an
array of NumPy's with a dtype of its own, or what is drawn. Choices of different names at the same place fit together:
the first ones to matrices, the next to images, then to sequences, square matrices, volumes and vectors.
"""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import numpy as np
import tensorflow as tf

from runners.tensorflow.samples import host_tensors
from runners.tensorflow.samples.drawn import Drawn


def doubled(x: Any) -> Any:
    return x + x


def added(x: Any, y: Any) -> Any:
    return x + y


def squared_difference(y_true: Any, y_pred: Any) -> Any:
    return tf.square(y_true - y_pred)


def is_small(x: Any) -> Any:
    return tf.reduce_sum(tf.abs(x)) < 50


def _ints(*values: Any) -> Sequence[Any]:
    return tuple(np.array(each, "int32") for each in values)


_MATRIX, _SEQUENCE, _SQUARE, _VECTOR, _SCALAR = map(Drawn, ((3, 4), (2, 6, 4), (4, 4), (4,), ()))
_IMAGE, _VOLUME = Drawn((1, 8, 8, 3), 0.05, 0.95), Drawn((1, 4, 4, 4, 2))
_TENSORS: Sequence[Any] = (
    *(_MATRIX, _IMAGE, _SEQUENCE, _SQUARE, _VOLUME, _VECTOR, [_MATRIX, _MATRIX], _SCALAR, Drawn((4, 4, 4, 4))),
    np.array([1, 0, 2], "int32"),
)
_SHARES = (Drawn((3, 4), 0.05, 0.95), _IMAGE, Drawn((2, 6, 4), 0.05, 0.95))
_SPARSE = Drawn((3, 4), form="sparse")
_FILTER = Drawn((2, 2, 3, 3))
_FILTERS = (_FILTER, _FILTER, Drawn((3, 4, 4)), Drawn((2, 2, 3)), Drawn((2, 2, 2, 2, 2)))
_INDICES = _ints([0, 2], [[0], [2]], [[0, 1], [2, 0]], [[[0, 1], [1, 0]]], 1)
_BOXES = Drawn((3, 4), 0.05, 0.95)
_SEEDS = _ints([1, 2])
_PLACE, _COUNT = (1, 0, -1, [1, 2]), (2, 1, 3, 4)

_BY_NAME: Mapping[str, Sequence[Any]] = {
    "a b x y x1 x2 input inputs input_ value values tensor features logits data input_tensor": _TENSORS,
    "params array ary elems elements operand t v left rhs matrix query obj s": _TENSORS,
    "output target targets signal signals real imag structure nest1 nest2": _TENSORS,
    "q chol diagonal diagonals var new_x losses gradients lower upper scalar ref": _TENSORS,
    "per_example_loss regularization_loss init init_val initializer": _TENSORS,
    "y_true y_pred predictions probabilities probs p": (*_SHARES, *_ints([0, 2, 1])),
    "labels": (*_SHARES, *_ints([1, 0, 2], [[1, 0], [2, 1], [1, 2]])),
    "image images img img1 img2 image1 image2": (
        _IMAGE,
        Drawn((8, 8, 3), 0.05, 0.95),
        Drawn((1, 16, 16, 3), 0.05, 0.95),
    ),
    "tensors xs ys t_list arrays seq sequences": ([_MATRIX, _MATRIX], [_VECTOR, _VECTOR]),
    "sp_input sp_a sp_b": (_SPARSE,),
    "sp_inputs": ([_SPARSE, _SPARSE],),
    "ids index perm true_classes": _ints([0, 2], [1, 0], [[0, 1]], 1),
    "indices start_indices": _INDICES,
    "begin": _ints([0, 1], [0]),
    "updates": (Drawn((2,)), Drawn((2, 4)), _MATRIX, _SCALAR),
    "segment_ids": _ints([0, 0, 1], [0, 1]),
    "num_segments num_samples num_classes n num k num_partitions repeats": _COUNT,
    "num_buckets num_bits depth": (4, 2),
    "counts lengths sequence_length sequence_lengths seq_length seq_lengths input_length logit_length": _ints(
        [2, 3], [2, 2, 2]
    ),
    "label_length label_lengths": _ints([1, 2], [2, 2, 2]),
    "partitions": _ints([0, 1, 0]),
    "axis axes dim dimension spatial_dims": _PLACE,
    "shape size output_shape dense_shape newshape dims": (
        [3, 4],
        [2, 6],
        (4,),
        [2, 3],
        [4, 4],
        [1, 8, 8, 3],
        [1, 4, 4, 4, 2],
        3,
    ),
    "sizes ksizes crop_size image_size output_size window_shape": ([4, 4], [1, 2, 2, 1], [2], 4),
    "multiples reps": ([2, 1], [1, 2, 1, 1]),
    "paddings pad_width padding_width": ([[1, 0], [1, 2]], [[0, 0], [1, 1], [2, 1], [0, 0]], 1),
    "padding": (
        "VALID",
        "VALID",
        "VALID",
        "SAME",
        "VALID",
        "valid",
        [[0, 0], [1, 1], [1, 1], [0, 0]],
        ((1, 1), (1, 1)),
    ),
    "crops": ([[0, 0], [0, 0]], [[0, 1], [1, 0]]),
    "strides stride": ([1, 1, 1, 1], [1, 1, 1, 1], 1, [1, 2, 2, 1], [1, 1, 1, 1, 1], (1, 1)),
    "ksize pool_size filter_sizes": ([1, 2, 2, 1], [1, 2, 2, 1], 2, (2, 2), [1, 2, 2, 2, 1]),
    "rates dilations dilation_rate": ([1, 1, 1, 1], 1, [1, 1]),
    "filter filters kernel": _FILTERS,
    "depthwise_filter depthwise_kernel": (Drawn((2, 2, 3, 1)), Drawn((2, 4, 1))),
    "pointwise_filter pointwise_kernel": (Drawn((1, 1, 3, 2)), Drawn((1, 4, 2))),
    "input_sizes": ([1, 8, 8, 3],),
    "out_backprop": (Drawn((1, 7, 7, 3)), Drawn((1, 8, 8, 3))),
    "block_size": (2,),
    "block_shape": ([2, 2], [2], [1, 1]),
    "bias biases beta offset": (Drawn((4,)), Drawn((3,)), Drawn((2,)), _SCALAR),
    "mean": (Drawn((4,)), Drawn((3,)), _SCALAR),
    "variance gamma scale": (Drawn((4,), 0.2, 0.9), Drawn((3,), 0.2, 0.9), Drawn((), 0.2, 0.9), 0.5),
    "variance_epsilon epsilon": (0.001,),
    "mean_ss variance_ss shift": (Drawn((4,), 0.2, 0.9),),
    "scale_after_normalization": (True,),
    "mask condition pred where": (
        np.array([True, False, True]),
        np.array([[True, False, True, True]] * 3),
        True,
    ),
    "condlist": ([np.array([[True, False, True, True]] * 3)],),
    "choicelist": ([_MATRIX],),
    "boxes boxes1 boxes2 bounding_boxes reference": (
        _BOXES,
        Drawn((1, 3, 4), 0.05, 0.95),
        Drawn((1, 3, 1, 4), 0.05, 0.95),
    ),
    "scores": (Drawn((3,), 0.05, 0.95), Drawn((1, 3, 1), 0.05, 0.95), Drawn((3, 3), 0.05, 0.95)),
    "overlaps": (Drawn((3, 3), 0.05, 0.95),),
    "box_indices": _ints([0, 0, 0]),
    "colors": (Drawn((2, 3), 0.05, 0.95),),
    "max_output_size max_output_size_per_class max_total_size": _ints(2),
    "offset_height offset_width": (1, 0),
    "target_height target_width height width": (4, 12),
    "offsets": (Drawn((1, 2), 0.05, 0.5),),
    "max_val max_value": (1.0, Drawn((), 1.0, 2.0)),
    "min_value clip_value_min": (-0.5,),
    "clip_value_max": (0.5,),
    "delta max_delta alpha threshold central_fraction saturation_factor contrast_factor clip_norm": (
        *(0.25, 0.5, Drawn((4,), 0.2, 0.9)),
    ),
    "rate keep_prob": (0.5,),
    "minval low": (0.1,),
    "maxval high": (0.9, 3),
    "pos_weight weights lam momentum": (
        0.5,
        Drawn((3, 4), 0.2, 0.9),
        Drawn((3,), 0.2, 0.9),
    ),
    "jpeg_quality min_jpeg_quality": (70,),
    "max_jpeg_quality": (80,),
    "value_range": ([-1.0, 1.0],),
    "min_range min_input input_min min": (-1.0,),
    "max_range max_input input_max max": (1.0,),
    "T": (tf.qint8,),
    "seed": (1, *_SEEDS),
    "key": (np.array(1, "uint64"),),
    "frame_length fft_length window_length sequence_stride": (4, [4], 2),
    "frame_step": (2,),
    "sample_rate": (8000, np.array(8000, "int32")),
    "audio": (Drawn((8, 1)),),
    "start": (0, 1.0),
    "stop limit": (4, 5.0),
    "bins nbins": (4,),
    "num_lower num_upper": (1,),
    "bands": (Drawn((2, 4), 0.2, 0.9),),
    "dtype out_type": (tf.float32, tf.int32, "float32"),
    "type": (tf.int32,),
    "name": ("portbench",),
    "fn func f function": (doubled, added),
    "cond": (is_small, True),
    "flat_sequence": ([_MATRIX, _MATRIX],),
    "end": ([2, 3], [1]),
    "true_fn false_fn": (lambda: tf.constant(1.0), lambda: tf.constant(2.0)),
    "body step_function": (doubled,),
    "loop_vars": ([_SQUARE],),
    "pattern": ("[0-9]", "1"),
    "rewrite": ("x",),
    "separator delimiter": (",",),
    "input_encoding output_encoding": ("UTF-8",),
    "pos": _ints(0),
    "len": _ints(1),
    "ngram_width": (2,),
    "equation subscripts": ("ij,jk->ik", "ij,ij->i"),
    "message msg": ("portbench",),
    "shape_x shape_y": _ints([3, 4], [1, 4]),
    "max_index": (4,),
    "num_sampled num_true": (1, 2),
    "range_max vocab_size": (8,),
    "unique": (True,),
    "pooling_type": ("MAX", "AVG"),
    "pooling_ratio": ([1.0, 1.4, 1.4, 1.0], [1.0, 1.4, 1.4, 1.4, 1.0]),
    "rank": (2,),
    "format": ("png",),
    "order": (1,),
    "angle": (0.5,),
    "coordinates": ([Drawn((5,), 0, 3), Drawn((5,), 0, 3)],),
    "transform": (Drawn((1, 8), 0, 0.2), Drawn((8,), 0, 0.2)),
    "num_results": (2,),
    "value_rowids": _ints([0, 0, 1]),
    "pylist": ([[1.0, 2.0], [3.0]],),
    "starts": (0,),
    "limits": (5,),
    "step": (3,),
    "bounding_box_format box_format source": ("xyxy",),
}


def _computed() -> Mapping[str, Sequence[Any]]:
    """Files in memory, serialized and sparse tensors. TensorFlow computes these, which it must not when this module is
    imported: workers are forked from a process that has computed nothing."""
    image = np.arange(48, dtype="uint8").reshape(4, 4, 3)
    files = [tf.io.encode_png(image), tf.io.encode_jpeg(image), tf.audio.encode_wav(np.zeros((8, 1), "float32"), 8000)]
    return {
        "contents": files,
        "sp_ids sparse_ids": [tf.sparse.from_dense([[0, 1], [2, 0]])],
        "serialized": [tf.io.serialize_tensor(np.arange(4, dtype="float32"))],
        "input_bytes bytes": [np.array([b"abcdefgh", b"ijklmnop"], object)],
        "records": [np.array(["1,2", "3,4"], object)],
        "record_defaults": [[[0.0], [0]]],
    }


def choices() -> Mapping[str, Sequence[Any]]:
    """What an argument may be, by the name of its parameter."""
    with host_tensors.on_host():
        computed = _computed()
    return {name: values for names, values in {**_BY_NAME, **computed}.items() for name in names.split()}

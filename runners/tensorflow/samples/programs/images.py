"""Operations of ``tf.raw_ops`` on images whose inputs must fit together: their gradients, boxes, files.

Each entry calls its operation with parts of a tensor of three rows and four columns.
"""

from __future__ import annotations

from typing import Any, Mapping

import tensorflow as tf

from runners.tensorflow.samples.programs.lines import Lines, picture, sized, whole

_raw = tf.raw_ops


_POOLING: Mapping[str, Any] = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
_CUBES: Mapping[str, Any] = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 2, 2, 1], "padding": "VALID"}
_STEPS: Mapping[str, Any] = {"strides": [1, 1, 1, 1], "padding": "VALID"}


def _pooled(x: Any) -> Mapping[str, Any]:
    image = sized(x, 1, 4, 4, 2)
    output = tf.nn.max_pool2d(image, 2, 2, "VALID")
    return {"orig_input": image, "orig_output": output, **_POOLING}


def _largest(x: Any) -> Mapping[str, Any]:
    image = sized(x, 1, 4, 4, 2)
    return {"input": image, "argmax": tf.nn.max_pool_with_argmax(image, 2, 2, "VALID")[1], **_POOLING}


def _boxes(x: Any) -> Any:
    corners = sized(x, 3, 2)
    return tf.concat([corners * 0.5, corners * 0.5 + 0.4], 1)


def _crop(x: Any) -> Mapping[str, Any]:
    return {"boxes": _boxes(x), "box_ind": [0, 0, 0]}


def _suppressed(x: Any) -> Mapping[str, Any]:
    thresholds = {"iou_threshold": 0.5, "score_threshold": 0.1}
    return {"boxes": _boxes(x), "scores": x[0, :3], "max_output_size": 2, **thresholds}


def _transform(x: Any) -> Mapping[str, Any]:
    transforms = tf.constant([[1, 0, 1, 0, 1, -1, 0, 0]], tf.float32)
    return {
        "images": sized(x, 1, 4, 4, 2),
        "transforms": transforms,
        "output_shape": [4, 4],
        "interpolation": "NEAREST",
    }


LINES: Mapping[str, Lines] = {
    "tf.raw_ops.StatelessSampleDistortedBoundingBox": lambda function, x: function(
        image_size=[8, 8, 3],
        bounding_boxes=tf.cast(_boxes(x)[None], tf.float32),
        min_object_covered=0.1,
        seed=[1, 2],
    ),
    "tf.raw_ops.AvgPoolGrad": lambda function, x: function(
        **_POOLING, orig_input_shape=[1, 4, 4, 2], grad=sized(x, 1, 2, 2, 2)
    ),
    "tf.raw_ops.AvgPool3DGrad": lambda function, x: function(
        **_CUBES, orig_input_shape=[1, 4, 4, 4, 1], grad=sized(x, 1, 2, 2, 2, 1)
    ),
    "tf.raw_ops.MaxPoolV2": lambda function, x: function(**_POOLING, input=sized(x, 1, 4, 4, 2)),
    "tf.raw_ops.MaxPoolGradV2": lambda function, x: function(**_pooled(x), grad=sized(x, 1, 2, 2, 2)),
    "tf.raw_ops.MaxPoolGradGradV2": lambda function, x: function(**_pooled(x), grad=sized(x, 1, 4, 4, 2)),
    "tf.raw_ops.MaxPoolGradWithArgmax": lambda function, x: function(**_largest(x), grad=sized(x, 1, 2, 2, 2)),
    "tf.raw_ops.BatchToSpace": lambda function, x: function(
        input=sized(x, 4, 2, 2, 1), crops=[[0, 1], [0, 0]], block_size=2
    ),
    "tf.raw_ops.BatchToSpaceND": lambda function, x: function(
        input=sized(x, 4, 2, 2, 1), crops=[[0, 1], [0, 0]], block_shape=[2, 2]
    ),
    "tf.raw_ops.SpaceToBatchND": lambda function, x: function(
        input=sized(x, 1, 3, 4, 1), paddings=[[0, 1], [0, 0]], block_shape=[2, 2]
    ),
    "tf.raw_ops.CombinedNonMaxSuppression": lambda function, x: function(
        boxes=_boxes(x)[None, :, None],
        scores=x[None, :, :1],
        max_output_size_per_class=2,
        max_total_size=2,
        iou_threshold=0.5,
        score_threshold=0.1,
    ),
    "tf.raw_ops.Conv2DBackpropFilter": lambda function, x: function(
        **_STEPS, input=sized(x, 1, 4, 4, 2), filter_sizes=[2, 2, 2, 3], out_backprop=sized(x, 1, 3, 3, 3)
    ),
    "tf.raw_ops.Conv3DBackpropFilterV2": lambda function, x: function(
        input=sized(x, 1, 3, 3, 3, 2),
        filter_sizes=[2, 2, 2, 2, 1],
        strides=[1] * 5,
        out_backprop=sized(x, 1, 2, 2, 2, 1),
        padding="VALID",
    ),
    "tf.raw_ops.Conv3DBackpropInputV2": lambda function, x: function(
        input_sizes=[1, 3, 3, 3, 2],
        filter=sized(x, 2, 2, 2, 2, 1),
        strides=[1] * 5,
        out_backprop=sized(x, 1, 2, 2, 2, 1),
        padding="VALID",
    ),
    "tf.raw_ops.DepthwiseConv2dNativeBackpropFilter": lambda function, x: function(
        **_STEPS, input=sized(x, 1, 4, 4, 2), filter_sizes=[2, 2, 2, 1], out_backprop=sized(x, 1, 3, 3, 2)
    ),
    "tf.raw_ops.DepthwiseConv2dNativeBackpropInput": lambda function, x: function(
        **_STEPS, input_sizes=[1, 4, 4, 2], filter=sized(x, 2, 2, 2, 1), out_backprop=sized(x, 1, 3, 3, 2)
    ),
    "tf.raw_ops.Dilation2DBackpropFilter": lambda function, x: function(
        **_STEPS,
        input=sized(x, 1, 4, 4, 2),
        filter=sized(x, 2, 2, 2),
        rates=[1, 1, 1, 1],
        out_backprop=sized(x, 1, 3, 3, 2),
    ),
    "tf.raw_ops.Dilation2DBackpropInput": lambda function, x: function(
        **_STEPS,
        input=sized(x, 1, 4, 4, 2),
        filter=sized(x, 2, 2, 2),
        rates=[1, 1, 1, 1],
        out_backprop=sized(x, 1, 3, 3, 2),
    ),
    "tf.raw_ops.CropAndResize": lambda function, x: function(**_crop(x), image=sized(x, 1, 4, 4, 2), crop_size=[2, 2]),
    "tf.raw_ops.CropAndResizeGradBoxes": lambda function, x: function(
        **_crop(x), grads=sized(x, 3, 2, 2, 2), image=sized(x, 1, 4, 4, 2)
    ),
    "tf.raw_ops.CropAndResizeGradImage": lambda function, x: function(
        **_crop(x), grads=sized(x, 3, 2, 2, 2), image_size=[1, 4, 4, 2], T=x.dtype
    ),
    "tf.raw_ops.DecodePng": lambda function, x: function(contents=tf.io.encode_png(picture())),
    "tf.raw_ops.DecodeImage": lambda function, x: function(contents=tf.io.encode_png(picture())),
    "tf.raw_ops.EncodePng": lambda function, x: _raw.DecodePng(contents=function(image=picture())),
    "tf.raw_ops.EncodeJpeg": lambda function, x: _raw.DecodeJpeg(contents=function(image=picture())),
    "tf.raw_ops.EncodeJpegVariableQuality": lambda function, x: _raw.DecodeJpeg(
        contents=function(images=picture(), quality=80)
    ),
    "tf.raw_ops.DecodeJpeg": lambda function, x: function(contents=tf.io.encode_jpeg(picture())),
    "tf.raw_ops.DecodeAndCropJpeg": lambda function, x: function(
        contents=tf.io.encode_jpeg(picture()), crop_window=[1, 0, 2, 3]
    ),
    "tf.raw_ops.ExtractJpegShape": lambda function, x: function(contents=tf.io.encode_jpeg(picture())),
    "tf.raw_ops.DecodeWav": lambda function, x: function(
        contents=tf.audio.encode_wav(tf.cast(x[:, :1], tf.float32), 8000)
    ),
    "tf.raw_ops.DrawBoundingBoxes": lambda function, x: function(images=sized(x, 1, 4, 4, 3), boxes=_boxes(x)[None]),
    "tf.raw_ops.DrawBoundingBoxesV2": lambda function, x: function(
        images=sized(x, 1, 4, 4, 3), boxes=_boxes(x)[None], colors=sized(x, 2, 3)
    ),
    "tf.raw_ops.ExtractGlimpse": lambda function, x: function(
        input=sized(x, 1, 4, 4, 2), size=[2, 2], offsets=[[0.1, 0.2]]
    ),
    "tf.raw_ops.ExtractGlimpseV2": lambda function, x: function(
        input=sized(x, 1, 4, 4, 2), size=[2, 2], offsets=[[0.1, 0.2]]
    ),
    "tf.raw_ops.FractionalAvgPoolGrad": lambda function, x: function(
        orig_input_tensor_shape=whole(1, 4, 4, 1),
        out_backprop=sized(x, 1, 2, 2, 1),
        row_pooling_sequence=whole(0, 2, 4),
        col_pooling_sequence=whole(0, 2, 4),
    ),
    "tf.raw_ops.FractionalMaxPoolGrad": lambda function, x: function(
        orig_input=sized(x, 1, 4, 4, 1),
        out_backprop=sized(x, 1, 2, 2, 1),
        orig_output=tf.nn.max_pool2d(sized(x, 1, 4, 4, 1), 2, 2, "VALID"),
        row_pooling_sequence=whole(0, 2, 4),
        col_pooling_sequence=whole(0, 2, 4),
    ),
    "tf.raw_ops.FusedPadConv2D": lambda function, x: function(
        **_STEPS,
        input=sized(x, 1, 4, 4, 2),
        paddings=[[0, 0], [1, 1], [1, 1], [0, 0]],
        filter=sized(x, 2, 2, 2, 3),
        mode="REFLECT",
    ),
    "tf.raw_ops.FusedResizeAndPadConv2D": lambda function, x: function(
        **_STEPS,
        input=sized(x, 1, 4, 4, 2),
        paddings=[[0, 0], [1, 1], [1, 1], [0, 0]],
        size=[3, 3],
        filter=sized(x, 2, 2, 2, 3),
        mode="REFLECT",
    ),
    "tf.raw_ops.ImageProjectiveTransformV2": lambda function, x: function(**_transform(x)),
    "tf.raw_ops.ImageProjectiveTransformV3": lambda function, x: function(**_transform(x), fill_value=0.5),
    "tf.raw_ops.NonMaxSuppressionV3": lambda function, x: function(**_suppressed(x)),
    "tf.raw_ops.NonMaxSuppressionV4": lambda function, x: function(**_suppressed(x)),
    "tf.raw_ops.NonMaxSuppressionV5": lambda function, x: function(
        **_suppressed(x), soft_nms_sigma=tf.constant(0.5, x.dtype)
    ),
    "tf.raw_ops.NonMaxSuppressionWithOverlaps": lambda function, x: function(
        overlaps=tf.cast(x[:, :3], tf.float32),
        scores=tf.cast(x[0, :3], tf.float32),
        max_output_size=2,
        overlap_threshold=0.6,
        score_threshold=0.1,
    ),
    "tf.raw_ops.ScaleAndTranslate": lambda function, x: function(
        images=sized(x, 1, 4, 4, 2), size=[6, 6], scale=[1.5, 1.5], translation=[0.0, 0.5]
    ),
    "tf.raw_ops.ScaleAndTranslateGrad": lambda function, x: function(
        grads=sized(x, 1, 6, 6, 2), original_image=sized(x, 1, 4, 4, 2), scale=[1.5, 1.5], translation=[0.0, 0.5]
    ),
}

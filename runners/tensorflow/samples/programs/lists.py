"""Operations of ``tf.raw_ops`` on lists, maps and arrays of tensors."""

from __future__ import annotations

from typing import Any, Callable, Mapping

import tensorflow as tf

from runners.tensorflow.samples.programs.lines import Lines, in_session

_raw = tf.raw_ops
_ROW = [4]


def _list(x: Any) -> Any:
    return _raw.TensorListFromTensor(tensor=x, element_shape=_ROW)


def _stacked(handle: Any, x: Any) -> Any:
    return _raw.TensorListStack(input_handle=handle, element_shape=_ROW, element_dtype=x.dtype)


def _on_list(**names: Any) -> Lines:
    """What an operation gives for a list. Settings that are functions are of the tensor."""
    return lambda function, x: function(
        input_handle=_list(x), **{name: value(x) if callable(value) else value for name, value in names.items()}
    )


def _left(lines: Callable[[Any, Any], Any]) -> Lines:
    """What is in a list that the lines return."""
    return lambda function, x: _stacked(lines(function, x), x)


def _empty_list(function: Any, x: Any) -> Any:
    handle = function(element_shape=_ROW, max_num_elements=5, element_dtype=x.dtype)
    return _raw.TensorListPushBack(input_handle=_raw.TensorListPushBack(input_handle=handle, tensor=x[0]), tensor=x[2])


def _reserved(function: Any, x: Any) -> Any:
    handle = function(element_shape=_ROW, num_elements=2, element_dtype=x.dtype)
    return _raw.TensorListSetItem(input_handle=handle, index=1, item=x[2])


def _popped(function: Any, x: Any) -> Any:
    handle, last = function(input_handle=_list(x), element_shape=_ROW, element_dtype=x.dtype)
    return [_stacked(handle, x), last]


def _pushed_to_each(function: Any, x: Any) -> Any:
    handles = tf.stack([_list(x), _list(x + 1)])
    found = function(input_handles=handles, tensor=x[:2])
    return [_stacked(found[0], x), _stacked(found[1], x)]


def _joined(function: Any, x: Any) -> Any:
    return function(input_a=_list(x), input_b=_list(x + 1), element_dtype=x.dtype)


def _map(x: Any) -> Any:
    """A map from two numbers to rows."""
    handle = _raw.TensorMapInsert(input_handle=_raw.EmptyTensorMap(), key=tf.constant(1), value=x[0])
    return _raw.TensorMapInsert(input_handle=handle, key=tf.constant(2), value=x[1])


def _looked_up(handle: Any, x: Any, key: int) -> Any:
    return _raw.TensorMapLookup(input_handle=handle, key=tf.constant(key), value_dtype=x.dtype)


def _empty_map(function: Any, x: Any) -> Any:
    return _looked_up(_raw.TensorMapInsert(input_handle=function(), key=tf.constant(3), value=x[0]), x, 3)


def _erased(function: Any, x: Any) -> Any:
    return _raw.TensorMapSize(input_handle=function(input_handle=_map(x), key=tf.constant(1), value_dtype=x.dtype))


def _array(x: Any) -> tuple[Any, Any]:
    """An array of the rows of a tensor: its handle and its flow."""
    handle, flow = _made_array(_raw.TensorArrayV3, x)
    return handle, _raw.TensorArrayScatterV3(handle=handle, indices=[0, 1, 2], value=x, flow_in=flow)


def _made_array(function: Any, x: Any) -> Any:
    return function(size=3, dtype=x.dtype, element_shape=_ROW, clear_after_read=False)


def _gathered(handle: Any, flow: Any, x: Any, *indices: int) -> Any:
    return _raw.TensorArrayGatherV3(handle=handle, indices=list(indices), flow_in=flow, dtype=x.dtype)


def _of_array(lines: Callable[[Any, Any, Any, Any], Any]) -> Lines:
    """Lines that get an array's handle and flow."""

    def all_lines(function: Any, session: Any, x: Any) -> Any:
        x = tf.constant(x)
        return session.run(lines(function, *_array(x), x))

    return in_session(all_lines)


def _filled_array(settings: Callable[[Any], Mapping[str, Any]]) -> Lines:
    """What an operation that fills an array has put there."""

    def lines(function: Any, session: Any, x: Any) -> Any:
        x = tf.constant(x)
        handle, flow = _made_array(_raw.TensorArrayV3, x)
        return session.run(_gathered(handle, function(handle=handle, flow_in=flow, **settings(x)), x, 1))

    return in_session(lines)


def _written_array(function: Any, session: Any, x: Any) -> Any:
    x = tf.constant(x)
    handle, flow = _made_array(function, x)
    return session.run(
        _gathered(handle, _raw.TensorArrayWriteV3(handle=handle, index=2, value=x[1], flow_in=flow), x, 2)
    )


def _gradient(function: Any, handle: Any, flow: Any, x: Any) -> Any:
    other, other_flow = function(handle=handle, flow_in=flow, source="gradients")
    written = _raw.TensorArrayWriteV3(handle=other, index=1, value=x[0], flow_in=other_flow)
    return _gathered(other, written, x, 1)


def _closed_array(function: Any, handle: Any, flow: Any, x: Any) -> Any:
    read = _gathered(handle, flow, x, 0, 2)
    with tf.control_dependencies([read]):
        done = function(handle=handle)
    with tf.control_dependencies([done]):
        return read + 1


def _with_shape(function: Any, session: Any, x: Any) -> Any:
    x = tf.constant(x)
    handle, flow = _array(x)
    other, other_flow = function(handle=handle, flow_in=flow, shape_to_prepend=[2], source="gradients")
    written = _raw.TensorArrayWriteV3(handle=other, index=1, value=x[:2], flow_in=other_flow)
    return session.run(_gathered(other, written, x, 1))


LINES: Mapping[str, Lines] = {
    "tf.raw_ops.EmptyTensorList": _left(_empty_list),
    "tf.raw_ops.TensorListConcat": lambda function, x: list(
        function(input_handle=_list(x), element_shape=_ROW, element_dtype=x.dtype)
    ),
    "tf.raw_ops.TensorListConcatLists": _left(_joined),
    "tf.raw_ops.TensorListConcatV2": lambda function, x: list(
        function(
            input_handle=_list(x),
            element_shape=_ROW,
            element_dtype=x.dtype,
            leading_dims=tf.constant([4, 4, 4], tf.int64),
        )
    ),
    "tf.raw_ops.TensorListElementShape": _on_list(shape_type=tf.int32),
    "tf.raw_ops.TensorListFromTensor": _left(lambda function, x: function(tensor=x, element_shape=_ROW)),
    "tf.raw_ops.TensorListGather": _on_list(indices=[2, 0], element_shape=_ROW, element_dtype=lambda x: x.dtype),
    "tf.raw_ops.TensorListGetItem": _on_list(index=1, element_shape=_ROW, element_dtype=lambda x: x.dtype),
    "tf.raw_ops.TensorListLength": _on_list(),
    "tf.raw_ops.TensorListPopBack": _popped,
    "tf.raw_ops.TensorListPushBack": _left(_on_list(tensor=lambda x: x[1])),
    "tf.raw_ops.TensorListPushBackBatch": _pushed_to_each,
    "tf.raw_ops.TensorListReserve": _left(_reserved),
    "tf.raw_ops.TensorListResize": _left(_on_list(size=2)),
    "tf.raw_ops.TensorListScatter": _left(
        lambda function, x: function(tensor=x, indices=[2, 0, 1], element_shape=_ROW)
    ),
    "tf.raw_ops.TensorListScatterIntoExistingList": _left(_on_list(tensor=lambda x: x[:2] + 1, indices=[2, 0])),
    "tf.raw_ops.TensorListScatterV2": _left(
        lambda function, x: function(tensor=x, indices=[2, 0, 1], element_shape=_ROW, num_elements=4)
    ),
    "tf.raw_ops.TensorListSetItem": _left(_on_list(index=1, item=lambda x: x[2])),
    "tf.raw_ops.TensorListSplit": _left(
        lambda function, x: function(
            tensor=tf.reshape(x, [-1]), element_shape=_ROW, lengths=tf.constant([4, 4, 4], tf.int64)
        )
    ),
    "tf.raw_ops.TensorListStack": _on_list(element_shape=_ROW, element_dtype=lambda x: x.dtype),
    "tf.raw_ops.EmptyTensorMap": _empty_map,
    "tf.raw_ops.TensorMapErase": _erased,
    "tf.raw_ops.TensorMapHasKey": lambda function, x: function(input_handle=_map(x), key=tf.constant(2)),
    "tf.raw_ops.TensorMapInsert": lambda function, x: _looked_up(
        function(input_handle=_map(x), key=tf.constant(7), value=x[2]), x, 7
    ),
    "tf.raw_ops.TensorMapLookup": lambda function, x: function(
        input_handle=_map(x), key=tf.constant(2), value_dtype=x.dtype
    ),
    "tf.raw_ops.TensorMapSize": lambda function, x: function(input_handle=_map(x)),
    "tf.raw_ops.TensorMapStackKeys": lambda function, x: tf.sort(function(input_handle=_map(x), key_dtype=tf.int32)),
    "tf.raw_ops.TensorArrayCloseV3": _of_array(_closed_array),
    "tf.raw_ops.TensorArrayConcatV3": _of_array(
        lambda function, handle, flow, x: list(function(handle=handle, flow_in=flow, dtype=x.dtype))
    ),
    "tf.raw_ops.TensorArrayGatherV3": _of_array(
        lambda function, handle, flow, x: function(handle=handle, indices=[2, 0], flow_in=flow, dtype=x.dtype)
    ),
    "tf.raw_ops.TensorArrayGradV3": _of_array(_gradient),
    "tf.raw_ops.TensorArrayReadV3": _of_array(
        lambda function, handle, flow, x: function(handle=handle, index=1, flow_in=flow, dtype=x.dtype)
    ),
    "tf.raw_ops.TensorArrayScatterV3": _filled_array(lambda x: {"indices": [0, 1, 2], "value": x}),
    "tf.raw_ops.TensorArraySizeV3": _of_array(lambda function, handle, flow, x: function(handle=handle, flow_in=flow)),
    "tf.raw_ops.TensorArraySplitV3": _filled_array(
        lambda x: {"value": tf.reshape(x, [-1]), "lengths": tf.constant([4, 4, 4], tf.int64)}
    ),
    "tf.raw_ops.TensorArrayV3": in_session(_written_array),
    "tf.raw_ops.TensorArrayWriteV3": _filled_array(lambda x: {"index": 1, "value": x[2]}),
    "tf.raw_ops.TensorArrayGradWithShape": in_session(_with_shape),
}

"""Functions of ``tf.keras.backend``, which older versions of Keras had, of ``tf.keras.ops`` and ``tf.keras.tree``."""

from __future__ import annotations

from typing import Any, Callable, Mapping

import tensorflow as tf

from runners.tensorflow.samples.programs.lines import Lines, raises, sized


def _updated(*more: Callable[[Any], Any]) -> Lines:
    """What the function leaves in a variable of the tensor."""

    def lines(function: Any, x: Any) -> Any:
        variable = tf.Variable(x)
        function(variable, *(each(x) for each in more))
        return tf.convert_to_tensor(variable)

    return lines


def _set_all(function: Any, x: Any) -> Any:
    first, second = tf.Variable(x), tf.Variable(x)
    function([(first, x.numpy() + 1), (second, x.numpy() * 2)])
    return [tf.convert_to_tensor(first), tf.convert_to_tensor(second)]


def _counted(function: Any, x: Any) -> Any:
    """Names are counted from 1 again in each process, but not in each call."""
    first = function("portbench")
    return tf.constant(function("portbench") - first)


def _steps(function: Any, x: Any) -> Any:
    """A network of a cell, step by step."""
    last, outputs, states = function(lambda a, state: (a + state[0], [a + state[0]]), sized(x, 2, 3, 4), [x[:2]])
    return [last, outputs, *states]


def _refused(function: Any, x: Any) -> Any:
    """Which structures the function refuses."""
    nested = {"a": x, "b": [x, x]}
    pairs = [(nested, {"a": 1, "b": [2, 3]}), (nested, {"a": 1, "b": [2]}), (nested, [1, 2])]
    return tf.constant([raises(function, first, second) for first, second in pairs])


def _stopped(function: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * function(x)
    return tape.gradient(y, x)


def _derived(function: Any, x: Any) -> Any:
    @function
    def tripled(a: Any) -> Any:
        return a * 2, lambda *given, upstream=None: (given or (upstream,))[0] * 3

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tripled(x)
    return [y, tape.gradient(y, x)]


LINES: Mapping[str, Lines] = {
    "tf.keras.backend.batch_get_value": lambda function, x: [
        tf.constant(each) for each in function([tf.Variable(x), tf.Variable(x + 1)])
    ],
    "tf.keras.backend.batch_set_value": _set_all,
    "tf.keras.backend.count_params": lambda function, x: tf.constant(function(tf.Variable(x))),
    "tf.keras.backend.dtype": lambda function, x: tf.constant(function(tf.range(3))),
    "tf.keras.backend.eye": lambda function, x: tf.convert_to_tensor(function(3, "float32")),
    "tf.keras.backend.get_uid": _counted,
    "tf.keras.backend.get_value": lambda function, x: tf.constant(function(tf.Variable(x))),
    "tf.keras.backend.int_shape": lambda function, x: tf.constant(function(x)),
    "tf.keras.backend.is_float_dtype": lambda function, x: tf.constant([function("float16"), function("int8")]),
    "tf.keras.backend.is_int_dtype": lambda function, x: tf.constant([function("float16"), function("int8")]),
    "tf.keras.backend.is_sparse": lambda function, x: tf.constant([function(tf.sparse.from_dense(x)), function(x)]),
    "tf.keras.backend.moving_average_update": _updated(lambda x: x * 2, lambda x: 0.9),
    "tf.keras.backend.ndim": lambda function, x: tf.constant(function(x)),
    "tf.keras.backend.ones": lambda function, x: tf.convert_to_tensor(function((3, 4), x.dtype.name)),
    "tf.keras.backend.permute_dimensions": lambda function, x: function(x, (1, 0)),
    "tf.keras.backend.pool3d": lambda function, x: function(sized(x, 1, 4, 4, 4, 1), (2, 2, 2)),
    "tf.keras.backend.repeat_elements": lambda function, x: function(x, 2, 0),
    "tf.keras.backend.resize_images": lambda function, x: function(sized(x, 1, 4, 4, 2), 2, 2, "channels_last"),
    "tf.keras.backend.resize_volumes": lambda function, x: function(sized(x, 1, 2, 2, 2, 1), 2, 2, 2, "channels_last"),
    "tf.keras.backend.result_type": lambda function, x: tf.constant(function("int8", "float16")),
    "tf.keras.backend.rnn": _steps,
    "tf.keras.backend.set_value": _updated(lambda x: x.numpy() * 2),
    "tf.keras.backend.stop_gradient": _stopped,
    "tf.keras.backend.switch": lambda function, x: function(tf.reduce_sum(x) > 1, lambda: x * 2, lambda: x + 1),
    "tf.keras.backend.update": _updated(lambda x: x * 2),
    "tf.keras.backend.update_add": _updated(lambda x: x * 2),
    "tf.keras.backend.update_sub": _updated(lambda x: x * 2),
    "tf.keras.backend.variable": lambda function, x: tf.convert_to_tensor(function(x, x.dtype.name)),
    "tf.keras.backend.zeros": lambda function, x: tf.convert_to_tensor(function((3, 4), x.dtype.name)),
    "tf.keras.ops.convert_to_numpy": lambda function, x: tf.constant(function(x)),
    "tf.keras.ops.custom_gradient": lambda function, x: _derived(function, x),
    "tf.keras.ops.dtype": lambda function, x: tf.constant(function(tf.range(3))),
    "tf.keras.ops.fori_loop": lambda function, x: function(0, 3, lambda index, value: value * 2, x),
    "tf.keras.ops.is_tensor": lambda function, x: tf.constant([function(x), function(3)]),
    "tf.keras.ops.ndim": lambda function, x: tf.constant(function(x)),
    "tf.keras.ops.scatter": lambda function, x: function([[0, 1], [2, 0]], x[0, :2], (3, 4)),
    "tf.keras.ops.shape": lambda function, x: tf.constant(function(x)),
    "tf.keras.ops.slice": lambda function, x: function(x, [0, 1], [2, 2]),
    "tf.keras.ops.stop_gradient": _stopped,
    "tf.keras.ops.switch": lambda function, x: function(tf.constant(1), [lambda a: a + 1, lambda a: a * 2], x),
    "tf.keras.ops.unfold": lambda function, x: function(sized(x, 1, 1, 4, 4), 2),
    "tf.keras.ops.dot_product_attention": lambda function, x: function(
        sized(x, 1, 3, 2, 4), sized(x, 1, 3, 2, 4), sized(x, 1, 3, 2, 4)
    ),
    "tf.keras.tree.assert_same_paths": _refused,
    "tf.keras.tree.assert_same_structure": _refused,
    "tf.keras.tree.is_nested": lambda function, x: tf.constant([function([x]), function(x)]),
    "tf.keras.tree.map_structure": lambda function, x: function(lambda a, b: a * b, [x, {"a": x}], [x, {"a": x + 1}]),
    "tf.keras.tree.map_structure_up_to": lambda function, x: function([0, 0], lambda a: a[0] * 2, [[x], [x + 1]]),
}

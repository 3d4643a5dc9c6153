"""Functions of ``tf`` and Keras that work only among others: scopes, variables, tapes, tables, graphs."""

from __future__ import annotations

from typing import Any, Mapping

import tensorflow as tf

from runners.tensorflow.samples.programs.lines import Lines

_v1 = tf.compat.v1


def _within(*args: Any) -> Lines:
    """Adds inside of the context that the function makes of these arguments."""

    def lines(function: Any, x: Any) -> Any:
        with function(*args):
            return x + x

    return lines


def _said(*args: Any) -> Lines:
    """What the function says of the tensor, as a tensor."""
    return lambda function, x: tf.constant(function(*args, x))


def _depending(function: Any, x: Any) -> Any:
    with function([x]):
        return x + x


def _variable(function: Any, x: Any) -> Any:
    made = function(x)
    made.assign_add(x)
    return tf.convert_to_tensor(made)


def _changed(*more: Any) -> Lines:
    """What the function makes of a variable."""

    def lines(function: Any, x: Any) -> Any:
        variable = tf.Variable(x)
        function(variable, *more, *((x[:2],) if more else (x,)))
        return tf.convert_to_tensor(variable)

    return lines


def _changed_places(function: Any, x: Any) -> Any:
    variable = tf.Variable(x)
    function(variable, [[0], [2]], x[:2])
    return tf.convert_to_tensor(variable)


def _gradient(function: Any, x: Any) -> Any:
    with function() as tape:
        tape.watch(x)
        y = x * x * x
    return tape.gradient(y, x)


def _array(function: Any, x: Any) -> Any:
    return function(x.dtype, size=2).write(0, x).write(1, x + x).stack()


def _graph(function: Any, x: Any) -> Any:
    with function().as_default() as graph:
        _v1.placeholder(x.dtype, x.shape, "given") + 1
    return tf.constant([each.type for each in graph.get_operations()])


def _input(function: Any, x: Any) -> Any:
    given = function((4,))
    return tf.keras.Model(given, tf.keras.layers.Activation("tanh")(given))(x)


def _model(function: Any, x: Any) -> Any:
    given = tf.keras.Input((4,))
    return function(given, tf.keras.layers.Activation("tanh")(given))(x)


def _table(x: Any, initializer: Any = None, table: Any = None) -> Any:
    keys = tf.constant([1, 2, 3], tf.int64)
    made = (initializer or tf.lookup.KeyValueTensorInitializer)(keys, x[:, 0])
    return (table or tf.lookup.StaticHashTable)(made, tf.cast(0, x.dtype)).lookup(keys[::-1])


LINES: Mapping[str, Lines] = {
    "tf.GradientTape": _gradient,
    "tf.Graph": _graph,
    "tf.IndexedSlices": lambda function, x: tf.convert_to_tensor(function(x, [2, 0, 1], [4, 4])),
    "tf.SparseTensor": lambda function, x: tf.sparse.to_dense(function([[0, 1], [2, 0]], x[0, :2], [3, 4])),
    "tf.TensorArray": _array,
    "tf.Variable": _variable,
    "tf.as_dtype": lambda function, x: tf.cast(10 * x, function("int32")),
    "tf.compat.dimension_value": lambda function, x: tf.constant(function(x.shape[0])),
    "tf.compat.v1.Variable": _variable,
    "tf.compat.v1.assign": _changed(),
    "tf.compat.v1.assign_add": _changed(),
    "tf.compat.v1.assign_sub": _changed(),
    "tf.compat.v1.name_scope": _within("scope"),
    "tf.compat.v1.scatter_add": _changed([0, 2]),
    "tf.compat.v1.scatter_div": _changed([0, 2]),
    "tf.compat.v1.scatter_max": _changed([0, 2]),
    "tf.compat.v1.scatter_min": _changed([0, 2]),
    "tf.compat.v1.scatter_mul": _changed([0, 2]),
    "tf.compat.v1.scatter_nd_add": _changed_places,
    "tf.compat.v1.scatter_nd_sub": _changed_places,
    "tf.compat.v1.scatter_nd_update": _changed_places,
    "tf.compat.v1.scatter_sub": _changed([0, 2]),
    "tf.compat.v1.scatter_update": _changed([0, 2]),
    "tf.compat.v1.variable_scope": _within("scope"),
    "tf.control_dependencies": _depending,
    "tf.custom_gradient": lambda function, x: function(lambda a: (a * 2, lambda upstream: upstream * 3))(x),
    "tf.device": _within(None),
    "tf.executing_eagerly": lambda function, x: tf.constant(function()),
    "tf.function": lambda function, x: function(lambda a: tf.reduce_sum(a * a))(x),
    "tf.get_static_value": _said(),
    "tf.init_scope": _within(),
    "tf.is_tensor": _said(),
    "tf.keras.Input": _input,
    "tf.keras.Model": _model,
    "tf.keras.Sequential": lambda function, x: function([tf.keras.layers.Activation("tanh")])(x),
    "tf.keras.activations.get": lambda function, x: function("tanh")(x),
    "tf.keras.constraints.get": lambda function, x: function("non_neg")(x),
    "tf.keras.initializers.get": lambda function, x: function("ones")((3, 4)),
    "tf.keras.losses.get": lambda function, x: function("mean_squared_error")(x, x + 1),
    "tf.keras.metrics.get": lambda function, x: function("mean_absolute_error")(x, x + 1),
    "tf.keras.regularizers.get": lambda function, x: function("l2")(x),
    "tf.lookup.KeyValueTensorInitializer": lambda function, x: _table(x, initializer=function),
    "tf.lookup.StaticHashTable": lambda function, x: _table(x, table=function),
    "tf.name_scope": _within("scope"),
    "tf.nest.is_nested": lambda function, x: tf.constant([function([x]), function(x)]),
    "tf.nest.map_structure": lambda function, x: function(lambda a, b: a * b, [x, {"a": x}], [x + 1, {"a": x - 1}]),
    "tf.numpy_function": lambda function, x: function(lambda a: a + a, [x], x.dtype),
    "tf.py_function": lambda function, x: function(lambda a: a + a, [x], x.dtype),
    "tf.range": lambda function, x: function(2, 11, 3),
    "tf.vectorized_map": lambda function, x: function(lambda row: tf.reduce_sum(row * row), x),
}

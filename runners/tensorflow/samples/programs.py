"""Functions that only a few lines around them show at work: scopes, variables, tapes, graphs and sessions.

Each has such lines, which get the function and one tensor, and return what it made of it.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping

import tensorflow as tf

from runners.tensorflow.samples import host_tensors
from runners.tensorflow.samples.drawn import Drawn
from runners.tensorflow.samples.searching import OF_GRADIENTS, Form, Searched, Searches

PACKAGE = "tensorflow"
NEEDS = "any TensorFlow"

_Lines = Callable[[Any, Any], Any]
_v1 = tf.compat.v1


def _within(*args: Any) -> _Lines:
    """Adds inside of the context that the function makes of these arguments."""

    def lines(function: Any, x: Any) -> Any:
        with function(*args):
            return x + x

    return lines


def _said(*args: Any) -> _Lines:
    """What the function says of the tensor, as a tensor."""
    return lambda function, x: tf.constant(function(*args, x))


def _depending(function: Any, x: Any) -> Any:
    with function([x]):
        return x + x


def _variable(function: Any, x: Any) -> Any:
    made = function(x)
    made.assign_add(x)
    return tf.convert_to_tensor(made)


def _changed(*more: Any) -> _Lines:
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


def _session(lines: Callable[[Any, Any, Any], Any]) -> _Lines:
    """Lines in a graph of their own: they get a session, too, and an array in the place of the tensor."""

    def all_lines(function: Any, x: Any) -> Any:
        with tf.Graph().as_default(), _v1.Session() as session:
            found = lines(function, session, x.numpy())
        return tf.constant(found)

    return all_lines


def _initialized(function: Any, session: Any, x: Any) -> Any:
    variable = _v1.get_variable("variable", initializer=x)
    session.run(function())
    return session.run(variable)


def _listed(function: Any, session: Any, x: Any) -> Any:
    variable = _v1.get_variable("variable", initializer=x)
    session.run(function([variable]))
    return session.run(variable)


def _named(function: Any, session: Any, x: Any) -> Any:
    variable = function("variable", initializer=x)
    session.run(_v1.global_variables_initializer())
    return session.run(variable)


def _derived(function: Any, session: Any, x: Any) -> Any:
    given = tf.constant(x)
    return session.run(function(given * given, given)[0])


def _fed(function: Any, session: Any, x: Any) -> Any:
    given = function(x.dtype, x.shape)
    return session.run(given * 2, {given: x})


def _by_default(function: Any, session: Any, x: Any) -> Any:
    return session.run(function(x, x.shape) + 1)


def _run_by(function: Any, x: Any) -> Any:
    with tf.Graph().as_default(), function() as session:
        found = session.run(tf.constant(x.numpy()) * 2)
    return tf.constant(found)


_LINES: Mapping[str, _Lines] = {
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
    "tf.compat.v1.Session": _run_by,
    "tf.compat.v1.get_variable": _session(_named),
    "tf.compat.v1.global_variables_initializer": _session(_initialized),
    "tf.compat.v1.gradients": _session(_derived),
    "tf.compat.v1.initialize_all_variables": _session(_initialized),
    "tf.compat.v1.placeholder": _session(_fed),
    "tf.compat.v1.placeholder_with_default": _session(_by_default),
    "tf.compat.v1.variables_initializer": _session(_listed),
}
"""The lines by the names of the functions."""


def prepare() -> None:
    """Imports nothing more."""


def _make() -> Mapping[str, Searched]:
    functions = {name: host_tensors.named(name) for name in sorted(_LINES)}
    return {
        name: Searched(function, _groups, [OF_GRADIENTS], body=_LINES[name])
        for name, function in functions.items()
        if function is not None
    }


def _groups() -> Any:
    return iter([iter([Form([Drawn((3, 4), 0.2, 0.9)], {})])])


_source = Searches(_make)
entries = _source.entries
samples = _source.samples
look = host_tensors.look_of

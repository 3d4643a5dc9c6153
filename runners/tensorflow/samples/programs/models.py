"""Functions of Keras about its objects: to and from configurations, names, models, the backend of older versions."""

from __future__ import annotations

import json
from typing import Any, Callable, Mapping

import numpy as np
import tensorflow as tf

from runners.tensorflow.samples.programs.lines import Lines, same_draws, sized


def _activation() -> Any:
    return tf.keras.layers.Activation("tanh")


def _model() -> Any:
    return tf.keras.Sequential([tf.keras.Input((4,)), _activation()])


def _to_config(module: str, make: Callable[[], Any], use: Callable[[Any, Any], Any]) -> Lines:
    """What an object does that was made of the configuration that the function gives. The functions that make one are
    no entries: a manifest must not name them."""
    return lambda function, x: use(_of(module, "deserialize")(function(make())), x)


def _of(module: str, name: str) -> Any:
    home: Any = tf
    for part in module.split(".")[1:]:
        home = getattr(home, part)
    return getattr(home, name)


def _called(found: Any, x: Any) -> Any:
    return found(x)


def _lost(found: Any, x: Any) -> Any:
    return found(x, x * x)


def _made(found: Any, x: Any) -> Any:
    return found((3, 4))


def _measured(found: Any, x: Any) -> Any:
    found.update_state(x, x * x)
    return found.result()


def _stepped(found: Any, x: Any) -> Any:
    variable = tf.Variable(x)
    found.apply_gradients([(x, variable)])
    return tf.convert_to_tensor(variable)


def _scheduled(found: Any, x: Any) -> Any:
    return found(tf.constant(3.0))


def _registered(function: Any, x: Any) -> Any:
    class Doubled(tf.keras.layers.Layer):  # type: ignore[misc]
        def call(self, inputs: Any) -> Any:
            return inputs * 2

    kind = function("portbench", "Doubled")(Doubled)
    name = tf.keras.utils.get_registered_name(kind)
    return [tf.constant(name), tf.keras.utils.get_registered_object(name)()(x)]


def _named(function: Any, x: Any) -> Any:
    return tf.constant(function(tf.keras.layers.Dense))


def _custom(function: Any, x: Any) -> Any:
    with tf.keras.utils.CustomObjectScope({"doubled": _doubled}):
        return tf.constant(["doubled" in function(), "other" in function()])


def _in_scope(function: Any, x: Any) -> Any:
    with function({"doubled": _doubled}):
        return tf.keras.utils.get_registered_object("doubled")(x)


def _doubled(x: Any) -> Any:
    return x * 2


def _cloned(function: Any, x: Any) -> Any:
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(2)])
    model.set_weights([np.ones((4, 2), "float32"), np.ones(2, "float32")])
    clone = function(model)
    clone.set_weights(model.get_weights())
    return clone(x)


def _from_inputs(function: Any, x: Any) -> Any:
    given = tf.keras.Input((4,))
    found = function(_activation()(given))
    return tf.constant([len(found), found[0] is given])


def _cleared(function: Any, x: Any) -> Any:
    tf.keras.layers.Dense(2, name=None)
    function()
    return tf.constant(tf.keras.layers.Dense(2).name)


def _adapted(make: Callable[[Any], Any], learned: Any, given: Any) -> Lines:
    """What a layer makes of values after it has learned others."""

    def lines(function: Any, x: Any) -> Any:
        layer = make(function)
        layer.adapt(tf.constant(learned))
        return layer(tf.constant(given))

    return lines


def _scope(*given: Any) -> Lines:
    def lines(function: Any, x: Any) -> Any:
        with function(*given):
            return x + x

    return lines


def _stateless(function: Any, x: Any) -> Any:
    """A variable that has another value in a scope, and its own after it."""
    variable = tf.keras.Variable(x)
    with function(state_mapping=[(variable, x * 2)]):
        inside = variable + 1
    return [inside, variable + 1]


def _policy(function: Any, x: Any) -> Any:
    made = function("mixed_bfloat16")
    return tf.constant([made.compute_dtype, made.variable_dtype])


def _fitted(make: Callable[[Any, list[Any]], Any]) -> Lines:
    """What a callback leaves of a small training: its notes, and the weights."""

    def lines(function: Any, x: Any) -> Any:
        notes: list[Any] = []
        model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1, use_bias=False)])
        model.set_weights([np.ones((4, 1), "float32")])
        model.compile(tf.keras.optimizers.SGD(0.1), "mse")
        given = tf.cast(x, tf.float32)
        model.fit(
            given, given[:, :1], batch_size=3, epochs=3, shuffle=False, verbose=0, callbacks=[make(function, notes)]
        )
        return [tf.constant(notes), tf.constant(model.get_weights()[0])]

    return lines


_TO_CONFIG: Mapping[str, Any] = {
    "tf.keras.activations": (lambda: tf.keras.activations.tanh, _called),
    "tf.keras.constraints": (lambda: tf.keras.constraints.NonNeg(), _called),
    "tf.keras.layers": (_activation, _called),
    "tf.keras.regularizers": (lambda: tf.keras.regularizers.L2(0.1), _called),
}
LINES: Mapping[str, Lines] = {
    "tf.keras.backend.name_scope": _scope("scope"),
    **{f"{module}.serialize": _to_config(module, make, use) for module, (make, use) in _TO_CONFIG.items()},
    "tf.initializers.serialize": _to_config("tf.keras.initializers", lambda: tf.keras.initializers.Ones(), _made),
    "tf.losses.serialize": _to_config("tf.keras.losses", lambda: tf.keras.losses.MeanSquaredError(), _lost),
    "tf.metrics.serialize": _to_config("tf.keras.metrics", lambda: tf.keras.metrics.MeanSquaredError(), _measured),
    "tf.optimizers.serialize": _to_config("tf.keras.optimizers", lambda: tf.keras.optimizers.SGD(0.1), _stepped),
    "tf.optimizers.schedules.serialize": _to_config(
        "tf.keras.optimizers.schedules",
        lambda: tf.keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9),
        _scheduled,
    ),
    "tf.keras.DTypePolicy": _policy,
    "tf.keras.StatelessScope": _stateless,
    "tf.keras.Variable": lambda function, x: function(x) + 1,
    "tf.keras.callbacks.LambdaCallback": _fitted(
        lambda function, notes: function(on_epoch_end=lambda epoch, logs: notes.append(logs["loss"]))
    ),
    "tf.keras.callbacks.LearningRateScheduler": _fitted(
        lambda function, notes: function(lambda epoch, rate: notes.append(0.5 * rate) or notes[-1])
    ),
    "tf.keras.device": _scope("cpu:0"),
    "tf.keras.layers.CategoryEncoding": lambda function, x: function(4)(tf.constant([[0, 3], [1, 1]])),
    "tf.keras.layers.Discretization": lambda function, x: function(bin_boundaries=[0.3, 0.6])(x),
    "tf.keras.layers.HashedCrossing": lambda function, x: function(5)(
        (tf.constant([["a"], ["b"]]), tf.constant([["c"], ["c"]]))
    ),
    "tf.keras.layers.Hashing": lambda function, x: function(5)(tf.constant([["a"], ["b"]])),
    "tf.keras.layers.IntegerLookup": _adapted(lambda function: function(), [5, 7, 5], [7, 5, 9]),
    "tf.keras.layers.StringLookup": _adapted(lambda function: function(), ["a", "b", "a"], ["b", "a", "c"]),
    "tf.keras.layers.TextVectorization": _adapted(
        lambda function: function(output_sequence_length=3), ["a b", "b c"], ["b a d", "c"]
    ),
    "tf.keras.models.clone_model": _cloned,
    "tf.keras.name_scope": _scope("scope"),
    "tf.keras.preprocessing.image.smart_resize": lambda function, x: function(sized(x, 4, 6, 3), (3, 3)),
    "tf.keras.preprocessing.sequence.make_sampling_table": lambda function, x: tf.constant(function(5)),
    "tf.keras.preprocessing.text.text_to_word_sequence": lambda function, x: tf.constant(function("A b, c.")),
    "tf.keras.random.SeedGenerator": lambda function, x: function(5).next(),
    "tf.keras.random.binomial": lambda function, x: function((3, 1), 9, 0.4, seed=5),
    "tf.keras.random.randint": lambda function, x: function((3, 2), 2, 9, seed=5),
    "tf.keras.remat": lambda function, x: function(lambda a: a * a)(x),
    "tf.keras.utils.CustomObjectScope": _in_scope,
    "tf.keras.utils.clear_session": _cleared,
    "tf.keras.utils.get_custom_objects": _custom,
    "tf.keras.utils.get_registered_name": _named,
    "tf.keras.utils.get_source_inputs": _from_inputs,
    "tf.keras.utils.is_keras_tensor": lambda function, x: tf.constant([function(tf.keras.Input((4,))), function(x)]),
    "tf.keras.utils.legacy.serialize_keras_object": lambda function, x: tf.constant(
        json.dumps(function(_activation())["config"]["activation"])
    ),
    "tf.keras.utils.pad_sequences": lambda function, x: tf.constant(function([[1, 2], [3]], 3)),
    "tf.keras.utils.register_keras_serializable": _registered,
    "tf.keras.utils.serialize_keras_object": lambda function, x: tf.keras.utils.deserialize_keras_object(
        function(_activation())
    )(x),
    "tf.keras.utils.set_random_seed": same_draws,
    "tf.keras.utils.standardize_dtype": lambda function, x: tf.constant(function(tf.int32)),
    "tf.keras.utils.timeseries_dataset_from_array": lambda function, x: list(function(x, None, 2, batch_size=4)),
    "tf.keras.utils.unpack_x_y_sample_weight": lambda function, x: [*function((x, x + 1))[:2]],
    "tf.keras.version": lambda function, x: tf.constant(function() == tf.keras.__version__),
}

"""Layers, losses, metrics, optimizers and other classes of Keras: objects with fixed weights, called with drawn inputs.

Each class is made with the settings that it must have. Optimizers take two steps. Initializers and optimizers of
TensorFlow 1 are among them.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any, Mapping, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.samples import Sample
from runners.core.testing.samples import look as look_of_values
from runners.tensorflow.keras_objects import Inner, Unmade
from runners.tensorflow.samples import arguments, host_tensors
from runners.tensorflow.samples.drawn import DTYPE, Drawn
from runners.tensorflow.samples.searching import OF_GRADIENTS, Form, Searched, Searches

PACKAGE = "keras"
NEEDS = "any TensorFlow with Keras"

_DTYPES = ("bfloat16", "float16", "float32")
_SETTINGS: Mapping[str, Any] = {
    "activation": "relu",
    "axes": 1,
    "boundaries": [2, 4],
    "decay_rate": 0.9,
    "decay_steps": 10,
    "dims": (2, 1),
    "equation": "ab,bc->ac",
    "factor": 0.2,
    "filters": 2,
    "first_decay_steps": 10,
    "function": arguments.doubled,
    "head_dim": 2,
    "height": 4,
    "height_factor": 0.2,
    "initial_learning_rate": 0.1,
    "input_dim": 8,
    "key_dim": 2,
    "kernel_size": 2,
    "learning_rate": 0.1,
    "momentum": 0.9,
    "global_step": 1,
    "max_number": 3,
    "n": 3,
    "num_bins": 4,
    "num_classes": 3,
    "num_heads": 2,
    "output_dim": 3,
    "num_key_value_heads": 1,
    "num_query_heads": 2,
    "output_shape": 3,
    "output_size": 2,
    "pool_size": 2,
    "precision": 0.5,
    "rate": 0.5,
    "recall": 0.5,
    "scale": 0.5,
    "sensitivity": 0.5,
    "specificity": 0.5,
    "stddev": 0.1,
    "target_class_ids": [0, 1],
    "target_shape": (-1,),
    "units": 3,
    "values": [0.1, 0.2, 0.3],
    "width": 4,
    "width_factor": 0.2,
    "fn": arguments.squared_difference,
    "cell": Inner(lambda: tf.keras.layers.GRUCell(3)),
    "cells": Inner(lambda: [tf.keras.layers.GRUCell(3), tf.keras.layers.LSTMCell(2)]),
    "inner_optimizer": Inner(lambda: tf.keras.optimizers.SGD()),
}
_LAYER = {
    "Bidirectional": Inner(lambda: tf.keras.layers.GRU(3)),
    "SpectralNormalization": Inner(lambda: tf.keras.layers.Conv2D(2, 2)),
    "TimeDistributed": Inner(lambda: tf.keras.layers.Dense(3)),
}
"""What layers are inside of those that take one."""

_ROWS, _STATE, _SEQUENCE, _IMAGES = Drawn((2, 4)), Drawn((2, 3)), Drawn((2, 6, 4)), Drawn((1, 8, 8, 3), 0.05, 0.95)
_VOLUMES, _FILMS = Drawn((1, 4, 4, 4, 2)), Drawn((1, 2, 4, 4, 3))
_SHARES, _CLASSES = Drawn((3, 4), 0.05, 0.95), np.array([0, 1, 2], "int32")
_OF_LAYERS: Sequence[Sequence[Any]] = (
    *([_ROWS], [_IMAGES], [_SEQUENCE], [_VOLUMES], [[_ROWS, _ROWS]], [np.array([[1, 2, 3]], "int32")], [_FILMS]),
    *([_ROWS, _STATE], [_ROWS, [_STATE, _STATE]], [_SEQUENCE, _SEQUENCE], [[_SEQUENCE, _SEQUENCE]]),
    *([_ROWS, [_STATE, [_STATE, _STATE]]], [Drawn((1, 2, 4, 4, 4, 2))], [np.array([["a"], ["b"]], object)]),
    [_ROWS, [_STATE, [Drawn((2, 2)), Drawn((2, 2))]]],
)
_OF_LOSSES: Sequence[Sequence[Any]] = (
    *([_SHARES, _SHARES], [_CLASSES, _SHARES], [np.array([[1, 2], [2, 1], [1, 1]], "int32"), Drawn((3, 6, 5))]),
    *([np.array([0, 1, 2], "int32"), np.array([0, 2, 2], "int32")], [_SHARES], [_IMAGES, _IMAGES]),
)
_OF_INITIALIZERS: Sequence[Sequence[Any]] = ([(3, 4), DTYPE], [(4, 4), DTYPE], [(2, 2, 3, 4), DTYPE])
_INPUTS: Mapping[str, Sequence[Sequence[Any]]] = {
    "tf.keras.layers": _OF_LAYERS,
    "tf.keras.losses": _OF_LOSSES,
    "tf.keras.metrics": _OF_LOSSES,
    "tf.keras.regularizers": ([Drawn((3, 4))], [Drawn((4, 4))]),
    "tf.keras.constraints": ([Drawn((3, 4))], [Drawn((2, 2, 3, 4))]),
    "tf.keras.optimizers.schedules": ([np.array(3, "int32")],),
    **dict.fromkeys(("tf.keras.initializers", "tf.compat.v1.initializers", "tf", "tf.compat.v1"), _OF_INITIALIZERS),
}
"""The inputs by the modules of the classes."""

_INITIALIZERS_ALONE = ("tf", "tf.compat.v1")
"""Modules of which other classes are no entries."""

_OPTIMIZERS = ("tf.keras.optimizers", "tf.compat.v1.train")
_STEP = Form([[Drawn((3, 4))], [Drawn((3, 4), 0.1, 0.9)]], {})
"""Gradients, and what they are of."""


def prepare() -> None:
    """Raises ImportError where there is no Keras."""
    if host_tensors.named("tf.keras.layers") is None:
        raise ImportError("tf.keras has no layers")


def _make() -> Mapping[str, Searched]:
    found: dict[int, tuple[str, Searched]] = {}
    for home in (*_INPUTS, *_OPTIMIZERS):
        for name in sorted(dir(host_tensors.named(home))):
            kind = getattr(host_tensors.named(home), name)
            if not inspect.isclass(kind) or inspect.isabstract(kind) or id(kind) in found:
                continue
            settings = _settings(kind)
            left_out = home in _INITIALIZERS_ALONE and not name.endswith("_initializer")
            if settings is None or left_out or (home in _OPTIMIZERS and not hasattr(kind, "apply_gradients")):
                continue
            searched = _optimizer(kind, settings) if home in _OPTIMIZERS else _called(kind, settings, _INPUTS[home])
            found[id(kind)] = f"{home}.{name}", searched
    return dict(sorted(found.values(), key=lambda each: each[0]))


_source = Searches(_make)
entries = _source.entries
samples = _source.samples


def look(sample: Sample) -> str:
    made = sample.make(None) if sample.make is not None else None
    settings = {} if made is None else {"dtype": made.dtype, **made.settings}
    return host_tensors.look_of(sample) + look_of_values(settings, lambda value: None)


def _settings(kind: Any) -> Mapping[str, Any] | None:
    """The settings without a default; None where one has no value."""
    try:
        parameters = inspect.signature(kind).parameters.values()
    except (TypeError, ValueError):
        return None
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    asked = [each.name for each in parameters if each.default is each.empty and each.kind in positional]
    known = {**_SETTINGS, **({"layer": _LAYER[kind.__name__]} if kind.__name__ in _LAYER else {})}
    return {name: known[name] for name in asked} if all(name in known for name in asked) else None


def _called(kind: Any, settings: Mapping[str, Any], inputs: Sequence[Sequence[Any]]) -> Searched:
    """Objects that are called with inputs."""

    def build(args: Sequence[Any], found: Any) -> None:
        if isinstance(found, tf.keras.layers.Layer):
            found(*args)

    return Searched(
        kind,
        lambda: iter([(Form(each, {}) for each in inputs)]),
        _DTYPES,
        make=lambda args, dtype: Unmade(kind, settings, dtype, functools.partial(build, args)),
    )


def _optimizer(kind: Any, settings: Mapping[str, Any]) -> Searched:
    body = functools.partial(_steps, Unmade(kind, settings, OF_GRADIENTS))
    return Searched(kind, lambda: iter([iter([_STEP])]), [OF_GRADIENTS], body=body)


def _steps(unmade: Unmade, kind: Any, gradients: Sequence[Any], before: Sequence[Any]) -> Any:
    """What two steps of an optimizer make of variables."""
    found = unmade.made(kind=kind)
    variables = [tf.Variable(each) for each in before]
    for _ in range(2):
        found.apply_gradients(list(zip(gradients, variables)))
    return [tf.convert_to_tensor(each) for each in variables]

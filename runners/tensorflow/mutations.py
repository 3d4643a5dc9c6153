"""How outputs of TensorFlow are altered, also symbolic ones (see runners.core.testing.mutants)."""

from __future__ import annotations

from typing import Any, Callable

import tensorflow as tf

from runners.core.testing.mutants import other_dtype

ARRAYS = (tf.Tensor, tf.Variable, tf.SparseTensor, tf.RaggedTensor, tf.data.Dataset)


def scaled(value: Any) -> Any:
    if isinstance(value, tf.data.Dataset):
        return value.repeat(2)
    return _altered(value, _twice)


def shifted(value: Any) -> Any:
    if isinstance(value, tf.data.Dataset):
        return value.skip(1)
    return _altered(value, lambda x: tf.reshape(tf.roll(tf.reshape(x, [-1]), 1, 0), tf.shape(x)), more_than=1)


def zeroed(value: Any) -> Any:
    if isinstance(value, tf.data.Dataset):
        return value.take(0)
    return _altered(value, tf.zeros_like)


def wrong_dtype(value: Any) -> Any:
    if isinstance(value, tf.data.Dataset):
        return value
    return _altered(value, _recast, keeps_dtype=False)


def wrong_shape(value: Any) -> Any:
    if isinstance(value, tf.data.Dataset):
        return value.batch(1)
    if isinstance(value, (tf.SparseTensor, tf.RaggedTensor)):
        return value
    return value[None] if value.shape.rank is not None else tf.expand_dims(value, 0)


def _altered(value: Any, alter: Callable[[Any], Any], keeps_dtype: bool = True, more_than: int = 0) -> Any:
    """The altered value, unless it is known to have too few elements for a change. A symbolic tensor has no values."""
    if isinstance(value, (tf.SparseTensor, tf.RaggedTensor)):
        return value.with_values(_altered(value.values, alter, keeps_dtype, more_than))
    elements = value.shape.num_elements()
    if keeps_dtype and elements is not None and elements <= more_than:
        return value
    if isinstance(value, tf.Variable) and keeps_dtype and tf.executing_eagerly():
        # A variable stays a variable: a tensor instead would be noticed by its missing methods.
        value.assign(alter(value.read_value()))
        return value
    return alter(tf.convert_to_tensor(value))


def _twice(value: Any) -> Any:
    if value.dtype == tf.bool:
        return tf.logical_not(value)
    return tf.strings.join([value, value]) if value.dtype == tf.string else value + value


def _recast(value: Any) -> Any:
    if value.dtype == tf.string:
        return tf.strings.length(value)
    if value.dtype.is_complex or value.dtype.is_floating or value.dtype.is_integer or value.dtype.is_bool:
        return tf.cast(value, other_dtype(value.dtype.name))
    return value

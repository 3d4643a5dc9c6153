"""How outputs of TensorFlow are altered, also symbolic ones (see runners.core.mutants.mutant)."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import tensorflow as tf

from runners.core.mutants.mutation import other_dtype
from runners.core.testing import tree

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


def with_values(value: Any, other: Any) -> Any:
    """The values of another tensor, with the gradient of this one."""

    @tf.custom_gradient
    def changed(x: Any) -> Any:
        return tf.identity(other), lambda upstream: upstream

    return changed(value) if is_differentiated(value) else other


def is_differentiated(leaf: Any) -> bool:
    return isinstance(leaf, tf.Tensor) and (leaf.dtype.is_floating or leaf.dtype.is_complex)


def gradient_scaled(leaf: Any, factor: float, notice: Callable[[], None]) -> Any:
    """The same values with a scaled gradient; notices when it is computed."""

    @tf.custom_gradient
    def changed(x: Any) -> Any:
        def gradient(upstream: Any) -> Any:
            notice()
            return upstream * tf.cast(factor, upstream.dtype)

        return tf.identity(x), gradient

    return changed(leaf) if is_differentiated(leaf) else leaf


def has_state(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether a call may leave anything behind that ``undo`` sets back."""
    owner = getattr(function, "__self__", None)
    leaves = tree.leaves([list(args), dict(kwargs)])
    return hasattr(owner, "variables") or any(isinstance(leaf, tf.Variable) for leaf in leaves)


def undo(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Callable[[], bool]:
    """Remembers the values of the variables of an object and of the arguments, in eager code. The function that it
    returns sets them back, and returns whether there was anything to set back."""
    owner = getattr(function, "__self__", None)
    variables = [leaf for leaf in tree.leaves([list(args), dict(kwargs)]) if isinstance(leaf, tf.Variable)]
    found = getattr(owner, "variables", ())
    variables += [item for item in (found() if callable(found) else found) if isinstance(item, tf.Variable)]
    values = [(variable, variable.numpy()) for variable in variables] if tf.executing_eagerly() else []

    def undone() -> bool:
        changed = False
        for variable, before in values:
            if variable.shape == before.shape and not _same(variable.numpy(), before):
                variable.assign(before)
                changed = True
        return changed

    return undone


def _same(one: Any, other: Any) -> bool:
    return bool(((one == other) | ((one != one) & (other != other))).all())


def stream(function: Callable[..., Any], kwargs: Mapping[str, Any]) -> Any:
    """Another object at each call for functions that draw. TensorFlow does not tell where its streams are."""
    module, name = getattr(function, "__module__", "") or "", getattr(function, "__name__", "")
    return object() if "random" in module or ("distributions" in module and name == "sample") else None


def reseeded(number: int, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The arguments of a call that draws what another seed gives."""
    tf.random.set_seed(number)
    return args, {**kwargs, "seed": number} if kwargs.get("seed") is not None else kwargs

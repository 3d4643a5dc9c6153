"""TensorFlow: arguments as the data of a manifest's test. Tensors of a graph have no values, and maybe no shape."""

from __future__ import annotations

from typing import Any, Callable, Collection, Hashable

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import tensor_util

from portbench_recorder import plain
from portbench_recorder.facts import facts_of, literal
from portbench_recorder.privacy import without_data
from portbench_recorder.recording import Arguments, Unnameable

try:
    from tensorflow.python.eager import record as tapes
except ImportError:
    from tensorflow.python.eager import tape as tapes

_LITERAL_ELEMENTS = 64
_MOST_SIZES = 16
_UNKNOWN_SIZE = 8
"""What stands for a size that is not known while ``tf.function`` traces, which is most often that of the batch."""
_DISTINCT_NUMBERS = (0.0, 1.0, -1.0, 2.0, -2.0, 3.0, 0.5, -0.5)
"""Functions may treat these in another way, such as powers."""


def key(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Hashable:
    """Equal for calls that a test need not tell apart."""
    if not kwargs:
        return tuple([_key(value) for value in args])
    return tuple([_key(value) for value in args]), tuple(
        [(name, _key(kwargs[name])) for name in sorted(kwargs) if name != "name"]
    )


def _key(value: Any) -> Hashable:
    kind = type(value)
    make = _KEYS.get(kind)
    if make is None:
        make = _KEYS[kind] = _how(value)
    return make(value)


def _how(value: Any) -> Callable[[Any], Hashable]:
    kind = type(value)
    if hasattr(value, "_shape_tuple") and hasattr(value, "_datatype_enum"):
        return lambda tensor: (tensor._shape_tuple(), tensor._datatype_enum(), is_watched(tensor))
    if isinstance(_plain(value), (tf.Tensor, tf.Variable)):
        return lambda tensor: _key_of_tensor(_plain(tensor))
    if isinstance(value, np.ndarray):
        return lambda array: (array.shape, array.dtype)
    if isinstance(value, (bool, int, str, type(None))):
        return lambda plain: (kind, plain)
    if isinstance(value, float):
        return lambda number: (kind, number if number in _DISTINCT_NUMBERS else number > 0)
    if isinstance(value, (tuple, list)):
        return lambda items: (kind, *[_key(item) for item in items])
    if isinstance(value, dict):
        return lambda items: (kind, *[(str(name), _key(item)) for name, item in items.items()])
    if isinstance(value, slice):
        return lambda part: (kind, _key(part.start), _key(part.stop), _key(part.step))
    if isinstance(value, np.generic):
        return lambda number: (kind, number.item() if number.dtype.kind in "iub" else None)
    if isinstance(value, (tf.DType, tf.TensorShape)):
        return lambda plain: (kind, str(plain))
    return lambda other: kind


def _key_of_tensor(tensor: Any) -> Hashable:
    shape = tensor.shape
    return (tuple(shape) if shape.rank is not None else None, tensor.dtype, is_watched(tensor))


_KEYS: dict[type, Callable[[Any], Hashable]] = {}


def is_watched(tensor: Any) -> bool:
    """Whether a tape of the program records what is computed of a tensor."""
    if isinstance(tensor, tf.Variable):
        # One that is being made has no dtype yet.
        return bool(tapes.could_possibly_record()) and bool(getattr(tensor, "trainable", False))
    return bool(tapes.should_record_backprop([tensor])) and bool(tensor.dtype.is_floating or tensor.dtype.is_complex)


def described(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    values: bool,
    sizes: Collection[Hashable] = (),
    is_data: bool = False,
) -> Arguments:
    """The arguments as data. Raises Unnameable for what data cannot describe. ``sizes`` has the positions and names of
    arguments whose numbers say what shape something has. ``is_data``: all other numbers are the user's data."""
    writer = _Writer(values, is_data)
    found: Arguments = {"args": [writer.argument(value, place in sizes) for place, value in enumerate(args)]}
    # A name is for people who read a graph.
    named = {name: value for name, value in kwargs.items() if value is not None and name != "name"}
    if named:
        found["kwargs"] = {name: writer.argument(value, name in sizes) for name, value in named.items()}
    if writer.is_watched:
        found["gradient"] = True
    return found


class _Writer:
    def __init__(self, values: bool, is_data: bool) -> None:
        self._values = values
        self._is_data = is_data
        self._sizes = False
        self._tensors = 0
        self.is_watched = False

    def argument(self, value: Any, is_size: bool) -> Any:
        self._sizes = is_size
        return self.one(value if is_size or self._values else without_data(value, self._is_data))

    def one(self, value: Any) -> Any:
        value = _plain(value)
        if isinstance(value, np.generic) and value.dtype.kind in "iub":
            return value.item()
        if isinstance(value, (tf.Tensor, tf.Variable, np.ndarray, np.generic)):
            return self._tensor(value)
        found = plain.described(value, self.one)
        if found is not plain.OTHER:
            return found
        if isinstance(value, (tf.DType, np.dtype)) or (isinstance(value, type) and issubclass(value, np.generic)):
            return {"dtype": tf.as_dtype(value).name}
        if isinstance(value, tf.TensorShape):
            if value.rank is None:
                raise Unnameable("a shape that is not known while tf.function traces")
            return [_UNKNOWN_SIZE if size is None else int(size) for size in value.as_list()]
        if isinstance(value, list):
            # An attribute of a module is a list of a class of its own.
            return [self.one(each) for each in value]
        raise Unnameable(f"an argument of type {type(value).__name__}")

    def _tensor(self, tensor: Any) -> Any:
        self._tensors += 1
        dtype = tf.as_dtype(tensor.dtype).name.replace("_ref", "")
        shape = tf.TensorShape(tensor.shape)
        if dtype in ("string", "resource", "variant"):
            raise Unnameable(f"a tensor of dtype {dtype}")
        if shape.rank is None:
            raise Unnameable("a tensor whose rank is not known while tf.function traces")
        sizes = [_UNKNOWN_SIZE if size is None else int(size) for size in shape.as_list()]
        data: dict[str, Any] = {"dtype": dtype, "shape": sizes, "seed": self._tensors}
        if isinstance(tensor, (tf.Tensor, tf.Variable)) and is_watched(tensor):
            data["requires_grad"] = self.is_watched = True
        host = _values_of(tensor)
        if dtype in ("int32", "int64") and (self._sizes or host is None):
            known = _sizes_in(tensor, host, shape)
            if known is not None:
                return {"tensor": {"dtype": dtype, "values": known}}
        if host is None:
            return {"tensor": data}
        if self._values and host.size <= _LITERAL_ELEMENTS and host.dtype.kind in "biuf":
            return {"tensor": {"dtype": dtype, "values": literal(host)}}
        data.update(facts_of(host))
        return {"tensor": data}


def _sizes_in(tensor: Any, host: Any, shape: Any) -> Any:
    """The whole numbers of a tensor that says what shape something has; None where it cannot be such a tensor. In a
    graph, what is not known stands for the size of the batch."""
    if host is not None:
        return host.tolist() if host.size <= _MOST_SIZES else None
    if isinstance(tensor, tf.Variable):
        return None
    static = tensor_util.constant_value(tensor)
    if static is not None:
        return static.tolist() if static.size <= _MOST_SIZES else None
    if shape.rank == 0:
        return _UNKNOWN_SIZE
    if shape.rank == 1 and shape[0] is not None and shape[0] <= _MOST_SIZES:
        partial = tensor_util.constant_value_as_shape(tensor)
        if partial.rank is not None and any(size is not None for size in partial.as_list()):
            return [_UNKNOWN_SIZE if size is None else int(size) for size in partial.as_list()]
    return None


def _plain(value: Any) -> Any:
    """The tensor or variable of TensorFlow behind a variable of Keras."""
    inner = getattr(value, "_value", None)
    return inner if isinstance(inner, (tf.Tensor, tf.Variable)) and not isinstance(value, tf.Variable) else value


def _values_of(tensor: Any) -> Any:
    """A host array of a tensor's values; None for a tensor of a graph."""
    if isinstance(tensor, (np.ndarray, np.generic)):
        return np.asarray(tensor)
    if not tf.executing_eagerly() or not hasattr(tensor, "numpy"):
        return None
    return np.asarray(tensor.numpy())

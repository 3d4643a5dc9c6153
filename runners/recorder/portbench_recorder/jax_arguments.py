"""JAX: arguments as the data of a manifest's test. Tracers have shapes and dtypes and no values."""

from __future__ import annotations

import enum
from typing import Any, Callable, Hashable, Mapping

import jax
import numpy as np

from portbench_recorder import plain
from portbench_recorder.facts import facts_of, literal
from portbench_recorder.privacy import settings_only
from portbench_recorder.recording import Arguments, Unnameable

_LITERAL_ELEMENTS = 64
_DISTINCT_NUMBERS = (0.0, 1.0, -1.0, 2.0, -2.0, 3.0, 0.5, -0.5)
"""Functions may treat these in another way, such as powers."""


def is_function(value: Any) -> bool:
    """Whether a value is a function, or an object that can be called as one."""
    kind = type(value)
    found = _FUNCTION_TYPES.get(kind)
    if found is None:
        found = _FUNCTION_TYPES[kind] = callable(value) and not issubclass(kind, type) and not _is_dtype(value)
    return found


_FUNCTION_TYPES: dict[type, bool] = {}


def functions_in(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments that are functions, also those in tuples and lists."""
    found = []
    for value in (*args, *kwargs.values()) if kwargs else args:
        if type(value) in (tuple, list):
            found += [each for each in value if is_function(each)]
        elif is_function(value):
            found.append(value)
    return found


def key(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Hashable:
    """Equal for calls that a test need not tell apart."""
    if not kwargs:
        return tuple([_key(value) for value in args])
    return tuple([_key(value) for value in args]), tuple([(name, _key(kwargs[name])) for name in sorted(kwargs)])


def _key(value: Any) -> Hashable:
    kind = type(value)
    make = _KEYS.get(kind)
    if make is None:
        make = _KEYS[kind] = _how(value)
    return make(value)


def _how(value: Any) -> Callable[[Any], Hashable]:
    kind = type(value)
    if isinstance(value, jax.core.Tracer):
        return lambda tracer: (tracer.aval.shape, tracer.aval.dtype, is_differentiated(tracer))
    if isinstance(value, (jax.Array, np.ndarray)):
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
    if is_function(value):
        return id
    return lambda other: (kind, repr(other)[:200])


_KEYS: dict[type, Callable[[Any], Hashable]] = {}


def is_differentiated(tracer: Any) -> bool:
    """Whether the program wants a gradient of what a tracer stands for."""
    for _ in range(8):
        name = type(tracer).__name__
        if name in ("JVPTracer", "LinearizeTracer"):
            return True
        if name != "BatchTracer":
            return False
        tracer = tracer.val
    return False


def described(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    values: bool,
    names: Mapping[Any, str] | None = None,
    is_data: bool = False,
) -> Arguments:
    """The arguments as data. Raises Unnameable for what data cannot describe; ``names`` has public functions.
    ``is_data``: all numbers are the user's data, not settings."""
    if not values:
        args, kwargs = settings_only(args, kwargs, is_data)
    writer = _Writer(values, names or {})
    found: Arguments = {"args": [writer.one(value) for value in args]}
    named = {name: writer.one(value) for name, value in kwargs.items() if value is not None}
    if named:
        found["kwargs"] = named
    if writer.is_differentiated:
        found["gradient"] = True
    return found


class _Writer:
    def __init__(self, values: bool, names: Mapping[Any, str]) -> None:
        self._values = values
        self._names = names
        self._arrays = 0
        self.is_differentiated = False

    def one(self, value: Any) -> Any:
        if isinstance(value, np.generic) and value.dtype.kind in "iub":
            return value.item()
        if isinstance(value, (jax.Array, np.ndarray, np.generic)):
            return self._array(value)
        if isinstance(value, enum.Enum):
            return _enumerated(value)
        found = plain.described(value, self.one)
        if found is not plain.OTHER:
            return found
        if _is_dtype(value):
            return {"dtype": np.dtype(value).name}
        if is_function(value):
            name = self._names.get(value) or _ufunc(value)
            if name is None:
                raise Unnameable("a function of the program as an argument")
            return {"attribute": name}
        kind = type(value)
        if hasattr(value, "_fields") and getattr(jax.lax, kind.__name__, None) is kind:
            fields = {name: self.one(getattr(value, name)) for name in value._fields}
            return {"instance": {"class": f"jax.lax.{kind.__name__}", "kwargs": fields}}
        raise Unnameable(f"an argument of type {kind.__name__}")

    def _array(self, array: Any) -> Any:
        self._arrays += 1
        dtype = str(array.dtype)
        shape = [int(size) for size in array.shape]
        data: dict[str, Any] = {"dtype": dtype, "shape": shape, "seed": self._arrays}
        if isinstance(array, jax.core.Tracer):
            if is_differentiated(array) and jax.numpy.issubdtype(array.dtype, jax.numpy.inexact):
                data["requires_grad"] = self.is_differentiated = True
            return {"tensor": data}
        if dtype.startswith("key<"):
            return {"tensor": data}
        host = np.asarray(array)
        if self._values and host.size <= _LITERAL_ELEMENTS and host.dtype.kind in "biuf":
            return {"tensor": {"dtype": dtype, "values": literal(host)}}
        data.update(facts_of(host))
        return {"tensor": data}


def _enumerated(value: enum.Enum) -> Any:
    kind = type(value)
    for home in ("lax", "image"):
        if getattr(getattr(jax, home, None), kind.__name__, None) is kind:
            return {"attribute": f"jax.{home}.{kind.__name__}.{value.name}"}
    raise Unnameable(f"an argument of type {kind.__name__}")


def _ufunc(value: Any) -> str | None:
    kind = getattr(jax.numpy, "ufunc", None)
    return f"jax.numpy.{value.__name__}" if kind is not None and isinstance(value, kind) else None


def _is_dtype(value: Any) -> bool:
    if isinstance(value, np.dtype):
        return True
    is_type = isinstance(value, type) and (issubclass(value, np.generic) or value in (float, int, bool, complex))
    return is_type or type(value).__name__ == "_ScalarMeta"

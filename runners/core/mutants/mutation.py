"""How outputs are altered and compared by the mutants of runners.core.mutants.mutant."""

from __future__ import annotations

import contextlib
import functools
import importlib
import types
from typing import Any, Callable, ContextManager, Mapping, NamedTuple, Sequence

from runners.core.adapter import Adapter
from runners.core.mutants import fine
from runners.core.testing import tree

Alteration = Callable[[Any], Any]
Call = Callable[..., Any]


class Mutation:
    """One mutation of a function, for one test. After the test, ``differs`` says whether any output was different.

    ``is_repeat``: the test is over, and its calls are made once more with the same arguments and seed. ``calls`` counts
    those before.
    """

    def __init__(self, name: str, framework: str, adapter: Adapter, device: Any = None) -> None:
        self.name = name
        self.differs = False
        self.is_repeat = False
        self.calls = 0
        self.first_output: Any = None
        self.adapter = adapter
        self.framework = importlib.import_module(f"runners.{framework}.mutations")
        self._device = device

    def applied(self, function: Any) -> ContextManager[Any]:
        """What the test takes for the function, which stays the original: its calls are mutated."""
        return contextlib.nullcontext(function)

    def of(self, function: Call) -> Call:
        """The mutated function."""

        @functools.wraps(function, assigned=("__name__", "__doc__"), updated=())
        def mutated(*args: Any, **kwargs: Any) -> Any:
            self.calls += not self.is_repeat
            return self.call(function, args, kwargs)

        return mutated

    def call(self, function: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """A call of the mutated function."""
        raise NotImplementedError

    def notice(self) -> None:
        """Something is different."""
        self.differs = True

    def compare(self, left: Any, right: Any) -> None:
        """Notices whether two nested values, which ``read`` returned, are different."""
        self.differs = self.differs or not same(left, right)

    def altered(self, value: Any, name: str) -> Any:
        """The same nesting with every leaf altered in the way ``name``. A tuple or list of plain values is shifted as a
        whole."""
        if isinstance(value, (tuple, list)):
            items = [self.altered(item, name) for item in value]
            if name == "shifted" and all(isinstance(item, _PLAIN) for item in items):
                items = items[-1:] + items[:-1]
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        if isinstance(value, dict):
            return {key: self.altered(item, name) for key, item in value.items()}
        if name not in _PLAIN_ALTERATIONS:
            return self.finely(value, name)
        if isinstance(value, _PLAIN):
            return _PLAIN_ALTERATIONS[name](value)
        if isinstance(value, (types.FunctionType, functools.partial)):
            return self.of(value)
        if isinstance(value, self.framework.ARRAYS):
            return getattr(self.framework, name.replace("-", "_"))(value)
        return _altered_numpy(value, name)

    def finely(self, value: Any, name: str) -> Any:
        """An array with some other values, which gradients pass as they passed the original; else the value itself."""
        dtype = self.adapter.dtype_name(value)
        if dtype is None:
            return value
        read = self.adapter.to_numpy(value)
        if not fine.changes(read, dtype, name):
            return value
        array = fine.altered(read, dtype, name)
        if name == "zero-sign":
            # Both zeros compare as equal.
            self.notice()
        other = self.adapter.tensor(array, dtype, self._device, "contiguous")
        with_values = getattr(self.framework, "with_values", None)
        return with_values(value, other) if with_values else other

    def read(self, value: Any) -> Any:
        """The same nesting with comparable values in place of arrays."""
        return tree.mapped(self._read_leaf, value)

    def _read_leaf(self, leaf: Any) -> Any:
        try:
            name = self.adapter.dtype_name(leaf)
            return Read(name, self.adapter.to_numpy(leaf).copy()) if name else Read(leaf.dtype.name, leaf + 0)
        except Exception:
            # A plain value, or a tracer, symbolic tensor or opaque object, which equals only itself.
            return leaf


class Read(NamedTuple):
    """A host array, and the dtype that it has in the framework."""

    dtype: str
    array: Any


_PLAIN = (bool, int, float, complex, str, bytes)


def same(left: Any, right: Any, opaque: bool = False) -> bool:
    """Whether two nested values that ``Mutation.read`` returned are the same; NaN equals NaN.

    ``opaque`` is the answer for two objects of one class that has no equality of its own."""
    if left is right or getattr(right, "__wrapped__", None) is left:
        # A returned function that was mutated too shows its difference when it is called.
        return True
    if type(left) is not type(right):
        return False
    if isinstance(left, Read):
        if left.dtype != right.dtype or left.array.shape != right.array.shape:
            return False
        equal = (left.array == right.array) | ((left.array != left.array) & (right.array != right.array))
        return bool(equal.all())
    if isinstance(left, (tuple, list)):
        return len(left) == len(right) and all(same(*pair, opaque) for pair in zip(left, right))
    if isinstance(left, dict):
        return set(left) == set(right) and all(same(left[key], right[key], opaque) for key in left)
    equality: Any = type(left).__eq__
    if equality is object.__eq__:
        return opaque
    try:
        return bool(left == right or (left != left and right != right))
    except Exception:
        # Tracers and symbolic tensors have no truth.
        return False


_PLAIN_ALTERATIONS: dict[str, Alteration] = {
    "scaled": lambda value: not value if isinstance(value, bool) else value * 2,
    "shifted": lambda value: value[-1:] + value[:-1] if isinstance(value, str) else value,
    "zeroed": lambda value: type(value)(),
    "wrong-dtype": lambda value: value if isinstance(value, (str, bytes)) else str(value),
    "wrong-shape": lambda value: [value],
}


def _altered_numpy(value: Any, name: str) -> Any:
    """Alters a host array, such as a v1 session returns; anything else stays as it is."""
    import numpy as np

    if not isinstance(value, (np.ndarray, np.generic)) or value.dtype.kind not in "biufc":
        return value
    alterations: dict[str, Alteration] = {
        "scaled": lambda array: ~array if array.dtype == bool else (array * 2).astype(array.dtype),
        "shifted": lambda array: np.roll(array, 1),
        "zeroed": np.zeros_like,
        "wrong-dtype": lambda array: array.astype(other_dtype(array.dtype.name)),
        "wrong-shape": lambda array: array[None],
    }
    return alterations[name](value)


def other_dtype(name: str) -> str:
    """Another dtype of the same kind, which a correct function would not return."""
    if name.startswith("complex"):
        return "complex64" if name != "complex64" else "complex128"
    if "float" in name:
        return "float16" if name != "float16" else "float32"
    return "int32" if name != "int32" else "int16"

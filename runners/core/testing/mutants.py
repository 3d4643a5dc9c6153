"""Mutates the function under test, to see which tests notice (mutation testing of the manifest's tests).

A mutant calls the original function and alters its output, or does not call it at all. If the altered output equals
the original one (zeros scaled, one element shifted), no test can notice the mutant, and ``Mutant.differs`` stays False.
"""

from __future__ import annotations

import functools
import importlib
import types
from typing import Any, Callable, NamedTuple

from runners.core.adapter import Adapter
from runners.core.testing import tree

Alteration = Callable[[Any], Any]

ALTERATIONS = ("scaled", "shifted", "zeroed", "wrong-dtype", "wrong-shape")
MUTANTS = (*ALTERATIONS, "first-argument", "nothing")
"""scaled: multiplied by two, or negated if boolean. shifted: by one element. zeroed. wrong-dtype. wrong-shape: one more
axis. first-argument: returns it instead of the output. nothing: does not call the function and returns None."""


class Mutant:
    """One mutation of a function, for one test. After the test, ``differs`` says whether any output was different."""

    def __init__(self, name: str, framework: str, adapter: Adapter) -> None:
        self.name = name
        self.differs = False
        self._adapter = adapter
        self._arrays = importlib.import_module(f"runners.{framework}.mutations") if name in ALTERATIONS else None

    def of(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The mutated function."""

        @functools.wraps(function, assigned=("__name__", "__doc__"), updated=())
        def mutated(*args: Any, **kwargs: Any) -> Any:
            if self.name == "nothing":
                self.differs = True
                return None
            output = function(*args, **kwargs)
            before = self._read(output)
            try:
                altered = self._altered(output)
            except Exception:
                # The framework cannot compute the altered output: this test has no such mutant.
                return output
            self.differs = self.differs or not _same(before, self._read(altered))
            return altered

        if self.name != "first-argument":
            return mutated

        @functools.wraps(mutated)
        def first(*args: Any, **kwargs: Any) -> Any:
            output = function(*args, **kwargs)
            if not args:
                return output
            self.differs = self.differs or not _same(self._read(args[0]), self._read(output))
            return args[0]

        return first

    def _altered(self, value: Any) -> Any:
        """The same nesting with every leaf altered. A tuple or list of plain values is shifted as a whole."""
        if isinstance(value, (tuple, list)):
            items = [self._altered(item) for item in value]
            if self.name == "shifted" and all(isinstance(item, _PLAIN) for item in items):
                items = items[-1:] + items[:-1]
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        if isinstance(value, dict):
            return {key: self._altered(item) for key, item in value.items()}
        if isinstance(value, _PLAIN):
            return _PLAIN_ALTERATIONS[self.name](value)
        if isinstance(value, (types.FunctionType, functools.partial)):
            return self.of(value)
        assert self._arrays is not None
        if isinstance(value, self._arrays.ARRAYS):
            return getattr(self._arrays, self.name.replace("-", "_"))(value)
        return _altered_numpy(value, self.name)

    def _read(self, value: Any) -> Any:
        """The same nesting with comparable values in place of arrays."""
        return tree.mapped(self._read_leaf, value)

    def _read_leaf(self, leaf: Any) -> Any:
        try:
            name = self._adapter.dtype_name(leaf)
            return _Read(name, self._adapter.to_numpy(leaf)) if name else _Read(leaf.dtype.name, leaf + 0)
        except Exception:
            # A plain value, or a tracer, symbolic tensor or opaque object, which equals only itself.
            return leaf


class _Read(NamedTuple):
    dtype: str
    array: Any


_PLAIN = (bool, int, float, complex, str, bytes)


def _same(left: Any, right: Any) -> bool:
    if left is right or getattr(right, "__wrapped__", None) is left:
        # A returned function that was mutated too shows its difference when it is called.
        return True
    if type(left) is not type(right):
        return False
    if isinstance(left, _Read):
        if left.dtype != right.dtype or left.array.shape != right.array.shape:
            return False
        equal = (left.array == right.array) | ((left.array != left.array) & (right.array != right.array))
        return bool(equal.all())
    if isinstance(left, (tuple, list)):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, dict):
        return set(left) == set(right) and all(_same(left[key], right[key]) for key in left)
    return isinstance(left, _PLAIN) and bool(left == right or (left != left and right != right))


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

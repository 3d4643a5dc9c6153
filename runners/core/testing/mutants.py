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
from runners.core.testing import fine_mutants, tree

Alteration = Callable[[Any], Any]

ALTERATIONS = ("scaled", "shifted", "zeroed", "wrong-dtype", "wrong-shape")
COARSE = (*ALTERATIONS, "first-argument", "nothing")
FINE = (*fine_mutants.VALUES, "second-call", "overwritten", "accepted", "keyword-ignored")
MUTANTS = (*COARSE, *FINE)
"""scaled: multiplied by two, or negated if boolean. shifted: by one element. zeroed. wrong-dtype. wrong-shape: one more
axis. first-argument: returns it instead of the output. nothing: does not call the function and returns None.

The fine ones are like faults of real devices; fine_mutants.VALUES are those of values. second-call: right once, then
scaled. overwritten: the first argument is zero after the call. accepted: an error becomes the first argument.
keyword-ignored: the first keyword argument without which the output is another is left out."""


class Mutant:
    """One mutation of a function, for one test. After the test, ``differs`` says whether any output was different."""

    def __init__(self, name: str, framework: str, adapter: Adapter, device: Any = None) -> None:
        self.name = name
        self.differs = False
        self._adapter = adapter
        self._device = device
        self._calls = 0
        self._arrays = importlib.import_module(f"runners.{framework}.mutations")

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

        if self.name in _BEHAVIOURS:
            behaviour = _BEHAVIOURS[self.name]

            @functools.wraps(mutated)
            def behaving(*args: Any, **kwargs: Any) -> Any:
                return behaviour(self, function, args, kwargs)

            return behaving
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
        if self.name in fine_mutants.VALUES:
            return self._finely(value)
        if isinstance(value, _PLAIN):
            return _PLAIN_ALTERATIONS[self.name](value)
        if isinstance(value, (types.FunctionType, functools.partial)):
            return self.of(value)
        if isinstance(value, self._arrays.ARRAYS):
            return getattr(self._arrays, self.name.replace("-", "_"))(value)
        return _altered_numpy(value, self.name)

    def _finely(self, value: Any) -> Any:
        """An array with some other values; one that gradients are wanted of stays, because the host would cut them."""
        dtype = self._adapter.dtype_name(value)
        if dtype is None or getattr(value, "requires_grad", False):
            return value
        read = self._adapter.to_numpy(value)
        array = fine_mutants.altered(read, dtype, self.name)
        if self.name == "zero-sign" and array is not None:
            # Both zeros compare as equal.
            self.differs = self.differs or bool((read == 0).any())
        return value if array is None else self._adapter.tensor(array, dtype, self._device, "contiguous")

    def second_call(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """The function's own output once, then scaled."""
        output = function(*args, **kwargs)
        self._calls += 1
        if self._calls == 1:
            return output
        before, self.name = self._read(output), "scaled"
        try:
            altered = self._altered(output)
        except Exception:
            return output
        finally:
            self.name = "second-call"
        self.differs = self.differs or not _same(before, self._read(altered))
        return altered

    def overwritten(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """The function's output; its first argument is zero then, where arrays can be changed."""
        output = function(*args, **kwargs)
        overwrite = getattr(self._arrays, "overwrite", None)
        if args and overwrite and isinstance(args[0], self._arrays.ARRAYS) and args[0] is not output:
            before = self._read(args[0])
            overwrite(args[0])
            self.differs = self.differs or not _same(before, self._read(args[0]))
        return output

    def accepted(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """The function's output, or the first argument if it raises an error."""
        try:
            return function(*args, **kwargs)
        except Exception:
            self.differs = True
            return args[0] if args else None

    def keyword_ignored(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """The output without one of the keyword arguments, if it is another."""
        output = function(*args, **kwargs)
        read = self._read(output)
        for name in kwargs:
            try:
                without = function(*args, **{key: value for key, value in kwargs.items() if key != name})
                if not _same(read, self._read(without)):
                    self.differs = True
                    return without
            except Exception:
                continue
        return output

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


_BEHAVIOURS: dict[str, Callable[..., Any]] = {
    "second-call": Mutant.second_call,
    "overwritten": Mutant.overwritten,
    "accepted": Mutant.accepted,
    "keyword-ignored": Mutant.keyword_ignored,
}


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

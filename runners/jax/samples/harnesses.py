"""Harnesses: JAX's own inputs for its primitives, in ``jax._src.internal_test_util.test_harnesses`` of its wheel.

A harness is a function with arguments. Where that function is public, or one with settings, it is tested. Most others
bind a primitive: there the function of ``jax.lax`` with the primitive's name is, if it makes the same of the same
arguments, one operation with the same parameters. The rest, and 64-bit types, are no entries.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
import types
import unittest
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence
from unittest import mock

import jax
import numpy as np

from runners.core.testing.samples import Entry, Sample
from runners.jax.samples import host_arrays

PACKAGE = "jax"
NEEDS = "a JAX whose wheel has its test harnesses, such as 0.10.2 or 0.12.0.1"

_MODULE = "jax._src.internal_test_util.test_harnesses"
_PUBLIC = ("jax.lax", "jax.lax.linalg", "jax.numpy", "jax.numpy.linalg", "jax.numpy.fft", "jax.random")
_SEED = 20230401
_WIDE = ("float64", "complex128", "int64", "uint64")
_UNIQUE: Mapping[str, Callable[[Any], Any]] = {
    # Of the vectors, signs or phases differ between devices.
    "jax.lax.linalg.eig": lambda output: output[0],
    "jax.lax.linalg.qr": lambda output: [abs(each) for each in output],
}


def prepare() -> None:
    """Imports nothing: the harnesses open JAX's devices when they are imported."""
    if find_spec(_MODULE) is None:
        raise ImportError(f"No module named '{_MODULE}'")


def entries() -> Sequence[Entry]:
    found = []
    for name, harnesses in _by_function().items():
        dtypes = sorted({host_arrays.name(each.harness.dtype) for each in harnesses} - set(_WIDE))
        floating = [dtype for dtype in dtypes if jax.numpy.issubdtype(jax.numpy.dtype(dtype), jax.numpy.inexact)]
        found.append(Entry(name, "", [harnesses[0].function], dtypes, floating))
    return found


def samples(entry: str, dtype: str, gradient: bool) -> Sequence[Sample]:
    unique = _UNIQUE.get(entry, lambda output: output)
    found = []
    for each in _by_function()[entry]:
        args = each.arguments() if host_arrays.name(each.harness.dtype) == dtype else None
        if args is not None:
            found.append(Sample(host_arrays.with_marks(args) if gradient else args, each.kwargs, unique))
    return found


look = host_arrays.look_of


class _Harness(NamedTuple):
    """A harness, and the public function that it calls with ``kwargs``; if ``is_bound``, maybe."""

    number: int
    harness: Any
    function: Any
    kwargs: Mapping[str, Any]
    is_bound: bool

    def arguments(self) -> list[Any] | None:
        """The positional arguments of the call; None if the harness does something else."""
        args = list(self.harness.args_maker(np.random.RandomState(_SEED + self.number)))
        if not self.is_bound:
            return args
        bound = _bound(self.harness.fun, args)
        return list(bound.args_of) if bound is not None and _is_that(self.function, bound) else None


class _Bound(BaseException):
    """A primitive was bound; nothing in a harness catches it."""

    def __init__(self, primitive: Any, args: Sequence[Any], parameters: Mapping[str, Any]) -> None:
        super().__init__(primitive.name)
        self.primitive, self.args_of, self.parameters = primitive, args, parameters


@lru_cache(maxsize=None)
def _by_function() -> Mapping[str, Sequence[_Harness]]:
    """The harnesses by the public function that they call."""
    importlib.import_module("jax.extend.core")
    with _without_absl():
        harnesses = importlib.import_module(_MODULE).all_harnesses
    public = _public()
    found: dict[str, list[_Harness]] = {}
    for number, harness in enumerate(harnesses):
        function, kwargs = harness.fun, {}
        if isinstance(function, functools.partial) and not function.args:
            function, kwargs = function.func, function.keywords
        is_bound = id(function) not in public
        if is_bound:
            function, kwargs = getattr(jax.lax, harness.group_name, None), {}
        if id(function) in public:
            found.setdefault(public[id(function)], []).append(_Harness(number, harness, function, kwargs, is_bound))
    return {name: found[name] for name in sorted(found)}


def _bound(function: Callable[..., Any], args: Sequence[Any]) -> _Bound | None:
    """The first primitive that a function binds, with arrays as arguments. Computes nothing."""

    def bind(primitive: Any, *given: Any, **parameters: Any) -> Any:
        raise _Bound(primitive, given, parameters)

    with mock.patch.object(jax.extend.core.Primitive, "bind", bind):
        try:
            function(*args)
        except _Bound as found:
            known = all(isinstance(each, (np.ndarray, np.generic, bool, int, float)) for each in found.args_of)
            return found if known else None
        except Exception:
            return None
    return None


def _is_that(function: Any, bound: _Bound) -> bool:
    """Whether a public function makes that one operation of the same arguments."""
    try:
        operations = jax.make_jaxpr(function)(*bound.args_of).jaxpr.eqns
    except Exception:
        return False
    if len(operations) != 1 or operations[0].primitive is not bound.primitive:
        return False
    return _texts(operations[0].params) == _texts(bound.parameters)


def _texts(parameters: Mapping[str, Any]) -> Mapping[str, str]:
    return {key: str(value) for key, value in parameters.items()}


def _public() -> Mapping[int, str]:
    """The names of public functions by their identities; the first module that has a function names it."""
    found: dict[int, str] = {}
    for path in _PUBLIC:
        for name, value in sorted(vars(importlib.import_module(path)).items()):
            if callable(value) and not name.startswith("_") and not isinstance(value, type):
                found.setdefault(id(value), f"{path}.{name}")
    return found


@contextlib.contextmanager
def _without_absl() -> Iterator[None]:
    """Where the package absl is missing, which only JAX's own tests use, modules in its place let theirs load."""
    if find_spec("absl") is not None:
        yield
        return
    parts: dict[str, Any] = {name: types.ModuleType(name) for name in ("absl", "absl.testing")}
    parameterized: Any = types.ModuleType("absl.testing.parameterized")
    parameterized.TestCase = unittest.TestCase
    parts["absl.testing"].parameterized, parts["absl.testing"].absltest = parameterized, unittest
    parts.update({"absl.testing.parameterized": parameterized, "absl.testing.absltest": unittest})
    # They would parse the command line.
    config = importlib.import_module("jax._src.config")
    sys.modules.update(parts)
    try:
        with mock.patch.object(config, "already_configured_with_absl", True):
            yield
    finally:
        for name in parts:
            del sys.modules[name]

"""Calls that are written by hand, as a source of samples: for functions that no installed package has inputs for.

A table is a function ``table(call)`` of a module: it calls ``call`` for each call. A framework's source is made of its
tables.
"""

from __future__ import annotations

import functools
import importlib
from functools import lru_cache
from typing import Any, Callable, Iterable, NamedTuple, Protocol, Sequence

import numpy as np

from runners.core.public import permitted
from runners.core.public.names import Forbidden, Missing
from runners.core.testing import tree
from runners.core.testing.samples import Entry, Sample

DTYPE = "float32"
"""The dtype of all entries: the tensors of written calls are made in it, if they are floating."""


class Call(Protocol):
    def __call__(
        self,
        name: str,
        body: Callable[..., Any] | None = None,
        *args: Any,
        expect: Any = None,
        variant: str = "",
        gradient: bool = False,
        unique: Callable[[Any], Any] = lambda output: output,
    ) -> None:
        """One call of the function ``name`` in ``body``, which gets it and ``args``; without ``body``, with ``args``.

        ``expect`` is the result or computes it from the arguments as host arrays, floating ones in float64. Without
        it, the host's CPU is the reference. Calls of one name and ``variant`` are samples of one entry. ``gradient``:
        floating arguments have gradients, too.
        """


Table = Callable[[Call], None]


class _OneCall(NamedTuple):
    sample: Sample
    gradient: bool


class Written:
    """The source of a framework's tables, which are the modules ``names`` of ``package``. ``to_host`` and ``marked``:
    see Calls."""

    def __init__(
        self,
        framework: str,
        package: str,
        names: Sequence[str],
        to_host: Callable[[Any], Any],
        marked: Callable[[Any], Any],
    ) -> None:
        self._modules = [f"{package}.{name}" for name in names]
        self._calls = lru_cache(maxsize=None)(lambda: Calls(self._tables(), to_host, marked, public(framework)))

    def prepare(self) -> None:
        """Imports the tables. The calls are made where they are needed: to make some computes, and a zygote that has
        computed leaves its forks with threads that are gone. Raises ImportError where the framework lacks what a table
        uses."""
        try:
            self._tables()
        except AttributeError as error:
            raise ImportError(str(error)) from error

    def entries(self) -> Sequence[Entry]:
        """An entry for each function and variant that this version has."""
        return self._calls().entries()

    def samples(self, entry: str, dtype: str, gradient: bool) -> Sequence[Sample]:
        """The samples of an entry, whose dtype is DTYPE. Raises KeyError for an unknown one."""
        return self._calls().samples(entry, gradient)

    def _tables(self) -> Sequence[Table]:
        return [importlib.import_module(module).table for module in self._modules]


class Calls:
    """The calls of some tables. ``to_host`` makes a host array of a framework's tensor and leaves the rest as it is,
    ``marked`` gives a tensor that wants gradients, ``find`` the object behind a public name, or None."""

    def __init__(
        self,
        tables: Iterable[Table],
        to_host: Callable[[Any], Any],
        marked: Callable[[Any], Any],
        find: Callable[[str], Any],
    ) -> None:
        self._to_host, self._marked, self._find = to_host, marked, find
        self._calls: dict[str, list[_OneCall]] = {}
        self._names: dict[str, tuple[str, str]] = {}
        for table in tables:
            table(self._add)

    def entries(self) -> Sequence[Entry]:
        """An entry for each function and variant that this version has."""
        found = []
        for entry, (name, variant) in self._names.items():
            if self._find(name) is not None:
                differentiable = (DTYPE,) if any(each.gradient for each in self._calls[entry]) else ()
                found.append(Entry(entry, variant, [name], (DTYPE,), differentiable))
        return found

    def samples(self, entry: str, gradient: bool) -> Sequence[Sample]:
        """The samples of an entry. Raises KeyError for an unknown one."""
        calls = self._calls[entry]
        if not gradient:
            return [each.sample for each in calls]
        return [
            each.sample._replace(args=tree.mapped(self._marked, list(each.sample.args)))
            for each in calls
            if each.gradient
        ]

    def _add(
        self,
        name: str,
        body: Callable[..., Any] | None = None,
        *args: Any,
        expect: Any = None,
        variant: str = "",
        gradient: bool = False,
        unique: Callable[[Any], Any] = lambda output: output,
    ) -> None:
        entry = f"{name}.{variant}" if variant else name
        reference = None if expect is None else functools.partial(self._expected, expect, args)
        self._names[entry] = name, variant
        sample = Sample(args, {}, unique, reference, body=body)
        self._calls.setdefault(entry, []).append(_OneCall(sample, gradient))

    def _expected(self, expect: Any, args: Sequence[Any]) -> Any:
        if not callable(expect):
            return expect
        with np.errstate(all="ignore"):
            return expect(*(_wide(self._to_host(each)) for each in args))


def values(*shape: int, seed: int = 0, low: float = -1.0, high: float = 1.0) -> Any:
    """Uniform values in float32, the same for the same arguments."""
    return np.random.RandomState(seed + 1).uniform(low, high, shape).astype("float32")


def public(framework: str) -> Callable[[str], Any]:
    """Finds the object behind a public name that a manifest may use, or gives None."""

    def find(name: str) -> Any:
        try:
            return permitted.function(name, framework)
        except (Missing, Forbidden):
            return None

    return find


def _wide(value: Any) -> Any:
    return tree.mapped(
        lambda leaf: leaf.astype("float64") if isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f" else leaf, value
    )

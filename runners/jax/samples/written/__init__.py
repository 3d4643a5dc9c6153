"""Calls of JAX's functions that are written by hand, for those that its harnesses, NumPy and SciPy do not reach.

Each module of this folder is a table (see runners.core.testing.written).
"""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import Any, Sequence

from runners.core.testing import written
from runners.core.testing.samples import Entry, Sample
from runners.core.testing.written import Calls
from runners.jax import replaying
from runners.jax.samples import host_arrays

PACKAGE = "jax"
NEEDS = "JAX 0.12 or newer"
_TABLES = (
    *("activations", "elementwise", "images", "indexing", "initializers", "linear", "mapped", "numbers"),
    *("random", "reductions", "scientific", "transformations", "trees"),
)


def prepare() -> None:
    """Imports the tables. The calls are made where they are needed: to make some computes, and a zygote that has
    computed leaves its forks with threads that are gone. Raises ImportError where JAX lacks what a table uses."""
    try:
        _tables()
    except AttributeError as error:
        raise ImportError(str(error)) from error


def entries() -> Sequence[Entry]:
    return _calls().entries()


def samples(entry: str, dtype: str, gradient: bool) -> Sequence[Sample]:
    return _calls().samples(entry, gradient)


def look(sample: Sample) -> str:
    return host_arrays.look((list(sample.args), sample.kwargs))


def _tables() -> Sequence[written.Table]:
    return [importlib.import_module(f"{__name__}.{name}").table for name in _TABLES]


@lru_cache(maxsize=None)
def _calls() -> Calls:
    return Calls(_tables(), lambda value: value, _marked, written.public("jax"))


def _marked(leaf: Any) -> Any:
    return replaying.marked(leaf) if host_arrays.is_floating(leaf) else leaf

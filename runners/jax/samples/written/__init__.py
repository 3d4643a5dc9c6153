"""Calls of JAX's functions that are written by hand, for those that its harnesses, NumPy and SciPy do not reach.

Each module of this folder is a table (see runners.core.testing.written).
"""

from __future__ import annotations

from typing import Any

from runners.core.testing.samples import Sample
from runners.core.testing.written import Written
from runners.jax import replaying
from runners.jax.samples import host_arrays

PACKAGE = "jax"
NEEDS = "JAX 0.12 or newer"
_TABLES = (
    *("activations", "elementwise", "images", "indexing", "initializers", "linear", "mapped", "numbers"),
    *("random", "reductions", "scientific", "transformations", "trees"),
)


def look(sample: Sample) -> str:
    return host_arrays.look((list(sample.args), sample.kwargs))


def _marked(leaf: Any) -> Any:
    return replaying.marked(leaf) if host_arrays.is_floating(leaf) else leaf


_source = Written("jax", __name__, _TABLES, lambda value: value, _marked)
prepare = _source.prepare
entries = _source.entries
samples = _source.samples

"""Functions of ``jax.scipy`` against those of SciPy with the same names."""

from __future__ import annotations

import importlib
import inspect
from functools import lru_cache
from typing import Any, Mapping, Sequence

from runners.core.testing.samples import Entry, Sample
from runners.jax.samples import counterparts, host_arrays
from runners.jax.samples.counterparts import Pair

PACKAGE = "scipy"
NEEDS = "any SciPy"

_MODULES = ("fft", "integrate", "linalg", "ndimage", "signal", "special")
_DISTRIBUTIONS = "stats"
_UNIQUE = {
    # Of the vectors, signs or phases differ between devices.
    "jax.scipy.linalg.eigh": lambda output: output[0],
    "jax.scipy.linalg.svd": lambda output: output[1],
    "jax.scipy.linalg.qr": lambda output: [abs(each) for each in output],
    "jax.scipy.linalg.schur": lambda output: [abs(each) for each in output],
}


def prepare() -> None:
    """Raises ImportError where there is no SciPy."""
    importlib.import_module("scipy")


def entries() -> Sequence[Entry]:
    return counterparts.entries(_pairs())


def samples(entry: str, dtype: str, gradient: bool) -> Sequence[Sample]:
    return counterparts.samples(_pairs()[entry], dtype, gradient)


def look(sample: Sample) -> str:
    return host_arrays.look((list(sample.args), sample.kwargs))


@lru_cache(maxsize=None)
def _pairs() -> Mapping[str, Pair]:
    """The pairs by JAX's names."""
    modules: dict[str, tuple[Any, Any]] = {}
    for name in _MODULES:
        modules[f"jax.scipy.{name}"] = _both(name)
    ours, theirs = _both(_DISTRIBUTIONS)
    modules[f"jax.scipy.{_DISTRIBUTIONS}"] = ours, theirs
    for name in sorted(vars(ours)):
        if inspect.ismodule(getattr(ours, name)) and hasattr(theirs, name):
            modules[f"jax.scipy.{_DISTRIBUTIONS}.{name}"] = getattr(ours, name), getattr(theirs, name)
    return counterparts.pairs(modules, (), _UNIQUE)


def _both(name: str) -> tuple[Any, Any]:
    return importlib.import_module(f"jax.scipy.{name}"), importlib.import_module(f"scipy.{name}")

"""Functions of ``jax.scipy`` against those of SciPy with the same names."""

from __future__ import annotations

import importlib
import inspect
from typing import Any, Mapping

from runners.core.testing import counterparts
from runners.core.testing.counterparts import Counterparts, Pair
from runners.jax.samples import host_arrays

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


_source = Counterparts(host_arrays.OF_COUNTERPARTS, _pairs)
entries = _source.entries
samples = _source.samples
look = host_arrays.look_of

"""Functions of ``jax.numpy`` against those of NumPy with the same names."""

from __future__ import annotations

from typing import Mapping

import jax.numpy
import numpy

from runners.core.testing import counterparts
from runners.core.testing.counterparts import Counterparts, Pair
from runners.jax.samples import host_arrays

PACKAGE = "numpy"
NEEDS = "any NumPy"

_MODULES = {
    "jax.numpy": (jax.numpy, numpy),
    "jax.numpy.linalg": (jax.numpy.linalg, numpy.linalg),
    "jax.numpy.fft": (jax.numpy.fft, numpy.fft),
}
_WITHOUT_VALUES = ("empty", "empty_like")
_LEFT_OUT = (
    # They are about the program or files, not about arrays.
    *("array_repr", "array_str", "get_printoptions", "printoptions", "set_printoptions", "save", "savez", "load"),
    *("can_cast", "dtype", "finfo", "iinfo", "isdtype", "issubdtype", "promote_types", "result_type", "from_dlpack"),
    # They take functions.
    *("apply_along_axis", "apply_over_axes", "fromfunction", "frompyfunc", "piecewise", "vectorize"),
)
_UNIQUE = {
    # Of the vectors, signs or phases differ between devices.
    "jax.numpy.linalg.eig": lambda output: output[0],
    "jax.numpy.linalg.eigh": lambda output: output[0],
    "jax.numpy.linalg.svd": lambda output: output[1],
    "jax.numpy.linalg.qr": lambda output: [abs(each) for each in output],
}


def prepare() -> None:
    """Imports nothing more."""


def _pairs() -> Mapping[str, Pair]:
    """The pairs by JAX's names."""
    return counterparts.pairs(_MODULES, (*_LEFT_OUT, *_WITHOUT_VALUES), _UNIQUE)


_source = Counterparts(host_arrays.OF_COUNTERPARTS, _pairs)
entries = _source.entries
samples = _source.samples
look = host_arrays.look_of

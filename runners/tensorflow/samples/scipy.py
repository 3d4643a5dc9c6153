"""Special functions of TensorFlow and of Keras against those of SciPy, most of which have another name."""

from __future__ import annotations

import importlib
from typing import Mapping

from runners.core.testing import counterparts
from runners.core.testing.counterparts import Counterparts, Pair
from runners.tensorflow.samples import host_tensors

PACKAGE = "scipy"
NEEDS = "an environment with SciPy"

_MODULES = ("tf.math", "tf.math.special", "tf.nn", "tf.keras.ops")
_OTHERWISE_NAMED = {
    "tf.linalg.expm": "linalg.expm",
    "tf.linalg.logm": "linalg.logm",
    "tf.linalg.sqrtm": "linalg.sqrtm",
    "tf.math.bessel_i0": "special.i0",
    "tf.math.bessel_i0e": "special.i0e",
    "tf.math.bessel_i1": "special.i1",
    "tf.math.bessel_i1e": "special.i1e",
    "tf.math.igamma": "special.gammainc",
    "tf.math.igammac": "special.gammaincc",
    "tf.math.lgamma": "special.gammaln",
    "tf.math.reduce_logsumexp": "special.logsumexp",
    "tf.math.sigmoid": "special.expit",
    "tf.math.special.bessel_i0": "special.i0",
    "tf.math.special.bessel_i0e": "special.i0e",
    "tf.math.special.bessel_i1": "special.i1",
    "tf.math.special.bessel_i1e": "special.i1e",
    "tf.math.special.bessel_j0": "special.j0",
    "tf.math.special.bessel_j1": "special.j1",
    "tf.math.special.bessel_k0": "special.k0",
    "tf.math.special.bessel_k0e": "special.k0e",
    "tf.math.special.bessel_k1": "special.k1",
    "tf.math.special.bessel_k1e": "special.k1e",
    "tf.math.special.bessel_y0": "special.y0",
    "tf.math.special.bessel_y1": "special.y1",
    "tf.math.special.expint": "special.expi",
    "tf.signal.dct": "fft.dct",
    "tf.signal.idct": "fft.idct",
}
"""SciPy's functions for those of TensorFlow with another name."""


def prepare() -> None:
    """Raises ImportError where there is no SciPy."""
    importlib.import_module("scipy")


def _pairs() -> Mapping[str, Pair]:
    """The pairs by TensorFlow's names."""
    special = importlib.import_module("scipy.special")
    by_name = counterparts.pairs(host_tensors.modules(dict.fromkeys(_MODULES, special)), (), {})
    otherwise = {}
    for name, theirs in _OTHERWISE_NAMED.items():
        module, function = theirs.split(".")
        otherwise[name] = getattr(importlib.import_module(f"scipy.{module}"), function)
    return host_tensors.without_aliases({**host_tensors.pairs(otherwise), **by_name})


_source = Counterparts(host_tensors.OF_COUNTERPARTS, _pairs)
entries = _source.entries
samples = _source.samples
look = host_tensors.look_of

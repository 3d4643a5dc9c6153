"""Functions of TensorFlow and of Keras against those of NumPy, most of which have the same names."""

from __future__ import annotations

from typing import Any, Mapping

import numpy

from runners.core.testing import counterparts
from runners.core.testing.counterparts import Counterparts, Pair
from runners.tensorflow.samples import host_tensors

PACKAGE = "numpy"
NEEDS = "any NumPy"

_WITHOUT_VALUES = ("empty", "empty_like")
_LEFT_OUT = (
    # They are about the program, not about tensors.
    *("can_cast", "dtype", "finfo", "iinfo", "issubdtype", "promote_types", "result_type", "shape", "size", "save"),
    # They take functions, or change what their names mean for the rest of the program.
    *("vectorize", "piecewise", "apply_along_axis", "load", "experimental_enable_numpy_behavior"),
    # It needs a symmetric matrix, which the source of signatures gives.
    "cholesky",
)
_MODULES = {
    "tf.math": numpy,
    "tf.linalg": numpy.linalg,
    "tf.signal": numpy.fft,
    "tf.bitwise": numpy,
    "tf": numpy,
    "tf.experimental.numpy": numpy,
    "tf.compat.v2.experimental.numpy": numpy,
    "tf.keras.ops": numpy,
    "tf.keras.ops.linalg": numpy.linalg,
}
"""NumPy's modules for those of TensorFlow. Older versions lack some."""

_UNIQUE = {
    # Of the vectors, signs or phases differ between devices.
    "tf.linalg.eig": lambda output: output[0],
    "tf.linalg.eigh": lambda output: output[0],
    "tf.linalg.svd": lambda output: output[0],
    "tf.linalg.qr": lambda output: [abs(each) for each in output],
    "tf.keras.ops.linalg.eig": lambda output: output[0],
    "tf.keras.ops.linalg.eigh": lambda output: output[0],
    "tf.keras.ops.linalg.qr": lambda output: [abs(each) for each in output],
    "tf.keras.ops.linalg.svd": lambda output: output[1],
}
_OTHERWISE_NAMED: Mapping[str, Any] = {
    "tf.argsort": numpy.argsort,
    "tf.clip_by_value": numpy.clip,
    "tf.concat": numpy.concatenate,
    "tf.gather": lambda params, indices: numpy.take(params, indices, 0),
    "tf.linalg.adjoint": lambda matrix: numpy.swapaxes(matrix, -1, -2).conj(),
    "tf.linalg.cross": numpy.cross,
    "tf.linalg.diag": numpy.diag,
    "tf.linalg.diag_part": numpy.diagonal,
    "tf.linalg.matmul": numpy.matmul,
    "tf.linalg.matrix_transpose": lambda a: numpy.swapaxes(a, -1, -2),
    "tf.linalg.matvec": lambda a, b: (a @ b[..., None])[..., 0],
    "tf.linalg.trace": numpy.trace,
    "tf.math.ceil": numpy.ceil,
    "tf.math.divide_no_nan": numpy.divide,
    "tf.math.floordiv": numpy.floor_divide,
    "tf.math.floormod": numpy.mod,
    "tf.math.is_finite": numpy.isfinite,
    "tf.math.is_inf": numpy.isinf,
    "tf.math.is_nan": numpy.isnan,
    "tf.math.multiply_no_nan": numpy.multiply,
    "tf.math.pow": numpy.power,
    "tf.math.reciprocal_no_nan": numpy.reciprocal,
    "tf.math.reduce_all": numpy.all,
    "tf.math.reduce_any": numpy.any,
    "tf.math.reduce_euclidean_norm": lambda input_tensor: numpy.sqrt(numpy.sum(numpy.abs(input_tensor) ** 2)),
    "tf.math.reduce_max": numpy.max,
    "tf.math.reduce_mean": numpy.mean,
    "tf.math.reduce_min": numpy.min,
    "tf.math.reduce_prod": numpy.prod,
    "tf.math.reduce_std": numpy.std,
    "tf.math.reduce_sum": numpy.sum,
    "tf.math.reduce_variance": numpy.var,
    "tf.math.rsqrt": lambda x: 1 / numpy.sqrt(x),
    "tf.math.sigmoid": lambda x: 1 / (1 + numpy.exp(-x)),
    "tf.math.softsign": lambda features: features / (1 + numpy.abs(features)),
    "tf.math.squared_difference": lambda x, y: (x - y) * numpy.conj(x - y),
    "tf.math.truediv": numpy.true_divide,
    "tf.math.xdivy": numpy.divide,
    "tf.nn.l2_loss": lambda t: numpy.sum(t**2) / 2,
    "tf.nn.relu": lambda features: numpy.maximum(features, 0),
    "tf.nn.relu6": lambda features: numpy.clip(features, 0, 6),
    "tf.reverse": lambda tensor, axis: numpy.flip(tensor, axis),
    "tf.signal.fft2d": numpy.fft.fft2,
    "tf.signal.ifft2d": numpy.fft.ifft2,
    "tf.truncatediv": lambda x, y: numpy.trunc(x / y).astype(x.dtype),
    "tf.truncatemod": numpy.fmod,
}
"""NumPy's functions for those of TensorFlow with another name, or in another module."""


def prepare() -> None:
    """Imports nothing more."""


def _pairs() -> Mapping[str, Pair]:
    """The pairs by TensorFlow's names."""
    modules = host_tensors.modules(_MODULES)
    by_name = counterparts.pairs(modules, (*_LEFT_OUT, *_WITHOUT_VALUES), _UNIQUE)
    return host_tensors.without_aliases({**host_tensors.pairs(_OTHERWISE_NAMED), **by_name})


_source = Counterparts(host_tensors.OF_COUNTERPARTS, _pairs)
entries = _source.entries
functions = _source.functions
samples = _source.samples
look = host_tensors.look_of

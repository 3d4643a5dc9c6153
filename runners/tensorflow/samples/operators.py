"""Linear operators of ``tf.linalg``: the matrix of each, and its product with vectors."""

from __future__ import annotations

import functools
from typing import Any, Callable, Mapping, Sequence

import tensorflow as tf

from runners.tensorflow.samples import host_tensors
from runners.tensorflow.samples.drawn import Drawn
from runners.tensorflow.samples.searching import Form, Searched, Searches

PACKAGE = "tensorflow"
NEEDS = "any TensorFlow"

_DTYPES = ("complex64", "float32")
_SQUARE, _ROW, _OTHER = Drawn((4, 4)), Drawn((4,), 0.2, 0.9), Drawn((3, 3))
_ARGUMENTS: Mapping[str, Sequence[Any]] = {
    "BlockDiag": [_SQUARE, _OTHER],
    "BlockLowerTriangular": [_SQUARE, _OTHER, Drawn((3, 4))],
    "Circulant": [_ROW],
    "Circulant2D": [Drawn((2, 2))],
    "Circulant3D": [Drawn((2, 2, 2))],
    "Composition": [_SQUARE, _SQUARE],
    "Diag": [_ROW],
    "FullMatrix": [_SQUARE],
    "Householder": [_ROW],
    "Identity": [_ROW],
    "Inversion": [_SQUARE],
    "Adjoint": [_SQUARE],
    "Kronecker": [_SQUARE, _OTHER],
    "LowRankUpdate": [_SQUARE, Drawn((4, 2))],
    "LowerTriangular": [_SQUARE],
    "ScaledIdentity": [Drawn((), 0.2, 0.9)],
    "Toeplitz": [_ROW, _ROW],
    "Tridiag": [Drawn((3, 4))],
    "Zeros": [_ROW],
}
"""What the operators are made of."""

_Make = Callable[..., Any]


def _of_operators(*matrices: Any) -> Sequence[Any]:
    return [tf.linalg.LinearOperatorFullMatrix(each) for each in matrices]


_MAKE: Mapping[str, _Make] = {
    "Adjoint": lambda kind, matrix: kind(*_of_operators(matrix)),
    "BlockDiag": lambda kind, *matrices: kind(_of_operators(*matrices)),
    "BlockLowerTriangular": lambda kind, a, b, below: kind([_of_operators(a), _of_operators(below, b)]),
    "Circulant": lambda kind, row: kind(tf.cast(row, tf.complex64), input_output_dtype=row.dtype),
    "Circulant2D": lambda kind, row: kind(tf.cast(row, tf.complex64), input_output_dtype=row.dtype),
    "Circulant3D": lambda kind, row: kind(tf.cast(row, tf.complex64), input_output_dtype=row.dtype),
    "Composition": lambda kind, *matrices: kind(_of_operators(*matrices)),
    "Identity": lambda kind, row: kind(4, dtype=row.dtype),
    "Inversion": lambda kind, matrix: kind(*_of_operators(matrix)),
    "Kronecker": lambda kind, *matrices: kind(_of_operators(*matrices)),
    "LowRankUpdate": lambda kind, matrix, update: kind(*_of_operators(matrix), update),
    "ScaledIdentity": lambda kind, factor: kind(4, factor),
    "Tridiag": lambda kind, diagonals: kind(diagonals, diagonals_format="compact"),
    "Zeros": lambda kind, row: kind(4, dtype=row.dtype),
}
"""How they are made, where not of tensors alone."""


def prepare() -> None:
    """Imports nothing more."""


def _make() -> Mapping[str, Searched]:
    found = {}
    for name, args in sorted(_ARGUMENTS.items()):
        full = f"tf.linalg.LinearOperator{name}"
        kind = host_tensors.named(full)
        if kind is not None:
            body = functools.partial(_used, _MAKE.get(name, lambda kind, *args: kind(*args)))
            found[full] = Searched(kind, functools.partial(_groups, args), _DTYPES, body=body)
    return found


_source = Searches(_make)
entries = _source.entries
samples = _source.samples
look = host_tensors.look_of


def _groups(args: Sequence[Any]) -> Any:
    return iter([iter([Form(args, {})])])


def _used(make: _Make, kind: Any, *args: Any) -> Any:
    operator = make(kind, *args)
    matrix = operator.to_dense()
    return [matrix, operator.matvec(tf.ones_like(matrix[0]))]

"""tf.linalg: the singular value decomposition beyond what a ``call`` test can say."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing import properties
from runners.core.testing.compare import check_dtype
from runners.core.testing.trial import Trial


def svd_factors(trial: Trial, shape: Sequence[int], dtype: str, full_matrices: bool = False) -> None:
    """The factors multiply back and have the documented dtypes and shapes: real s, square u and v if full."""
    matrix = trial.random(*shape, dtype=dtype, seed=3)
    s, u, v = trial.call(trial.tensor(matrix), full_matrices=full_matrices)
    *batch, rows, columns = shape
    rank = min(rows, columns)
    check_dtype(trial.dtype_name(s), dtype.replace("complex64", "float32").replace("complex128", "float64"))
    check_dtype(trial.dtype_name(u), dtype)
    check_dtype(trial.dtype_name(v), dtype)
    found = [tuple(part.shape) for part in (s, u, v)]
    wanted = [
        (*batch, rank),
        (*batch, rows, rows if full_matrices else rank),
        (*batch, columns, columns if full_matrices else rank),
    ]
    trial.check(found == wanted, f"s, u, v: expected shapes {wanted}, got {found}")
    properties.svd(trial, (s, u, v), [matrix], order="suv", adjoint=False)


def known_spectrum(trial: Trial, dtype: str, smallest: float) -> None:
    """A matrix made with known singular values, spaced evenly in the logarithm, gives back each of them."""
    wanted = np.geomspace(1.0, smallest, 16)
    left, _ = np.linalg.qr(trial.random(24, 16, dtype="float64", seed=1))
    right, _ = np.linalg.qr(trial.random(16, 16, dtype="float64", seed=2))
    s = trial.call(trial.tensor((left * wanted) @ right.T, dtype=dtype), compute_uv=False)
    trial.close(s, wanted, dtype=dtype)


def gradient(trial: Trial, dtype: str) -> None:
    """The gradient of the sum of the singular values of A is U V^T, the nearest orthogonal matrix."""
    host = trial.random(5, 3, dtype=dtype, seed=4)
    matrix = trial.tensor(host)

    def body(svd: Callable[..., Any]) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(matrix)
            s, _, _ = svd(matrix)
            total = tf.reduce_sum(s)
        return s, tape.gradient(total, matrix)

    values, slope = trial.call_inside(body)
    u, s, vh = np.linalg.svd(host.astype("float64"), full_matrices=False)
    trial.close(values, s, dtype=dtype)
    trial.close(slope, u @ vh, rtol=1e-4, atol=1e-5, dtype=dtype)


def unknown_shape(trial: Trial, shape: Sequence[int]) -> None:
    """In a tf.function traced for matrices of any size the singular values are those that NumPy computes."""
    host = trial.random(*shape, seed=5)
    matrix = trial.tensor(host)

    def body(svd: Callable[..., Any]) -> Any:
        signature = [tf.TensorSpec([None] * len(shape), matrix.dtype)]
        return tf.function(lambda a: svd(a, compute_uv=False), input_signature=signature)(matrix)

    expected = np.linalg.svd(host.astype("float64"), compute_uv=False)
    trial.close(trial.call_inside(body), expected, atol=1e-4, dtype="float32")

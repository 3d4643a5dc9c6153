"""Matrix factorisations: their factors, their derivatives, batches and 64-bit types."""

from __future__ import annotations

from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing import properties
from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.double import x64

_FLOATING = {"int32": "float32"}
_REAL = {"complex64": "float32", "complex128": "float64"}


def svd_factors(
    trial: Trial, shape: list[int], dtype: str = "float32", full_matrices: bool = True, rank: int | None = None
) -> None:
    """The factors multiply back to the matrix, have orthonormal columns and the shapes that full_matrices asks for.

    ``rank``: of the matrix, where it is not the full one.
    """
    matrix = trial.random(*shape, dtype=dtype)
    if rank is not None:
        matrix = trial.random(shape[0], rank) @ trial.random(rank, shape[1], seed=1)
    output = trial.call(trial.tensor(matrix), full_matrices=full_matrices)
    _check_svd(trial, output, matrix, full_matrices)


def svd_double(trial: Trial, dtype: str) -> None:
    """With 64-bit types switched on, the factors are 64 bits wide and as precise."""
    matrix = trial.random(12, 8, dtype=dtype)

    def body(svd: Callable[..., Any], matrix: Any) -> Any:
        with x64():
            return svd(matrix, full_matrices=False)

    with x64():
        moved = trial.tensor(matrix)
    _check_svd(trial, trial.call_inside(body, moved), matrix, False)


def svd_gradient(trial: Trial, compute_uv: bool) -> None:
    """The gradient of the sum of the singular values is U V^T, and the values come with it."""
    matrix = trial.random(6, 6)

    def body(svd: Callable[..., Any], matrix: Any) -> Any:
        def nuclear_norm(matrix: Any) -> Any:
            output = svd(matrix, full_matrices=False, compute_uv=compute_uv)
            values = output[1] if compute_uv else output
            return jnp.sum(values), values

        return jax.grad(nuclear_norm, has_aux=True)(matrix)

    u, s, vh = np.linalg.svd(widened(matrix))
    gradient, values = trial.call_inside(body, trial.tensor(matrix))
    trial.close(values, s, rtol=1e-5, dtype="float32")
    # Quotients by differences of singular values, in float32: about a thousand times its rounding.
    trial.close(gradient, u @ vh, rtol=1e-4, atol=1e-4, dtype="float32")


def lu_factors(trial: Trial, shape: list[int], dtype: str = "float32") -> None:
    """P L U gives the matrix back; P is a permutation of real numbers, L unit lower and U upper triangular."""
    matrix = trial.random(*shape, dtype=dtype, seed=4)
    _check_lu(trial, trial.call(trial.tensor(matrix)), matrix)


def lu_double(trial: Trial, dtype: str) -> None:
    """With 64-bit types switched on, the factors are 64 bits wide and multiply back as precisely."""
    matrix = trial.random(12, 12, dtype=dtype)

    def body(lu: Callable[..., Any], matrix: Any) -> Any:
        with x64():
            return lu(matrix)

    with x64():
        moved = trial.tensor(matrix)
    _check_lu(trial, trial.call_inside(body, moved), matrix)


def lu_batch(trial: Trial) -> None:
    """Mapped over a stack of matrices, every matrix gets factors of its own."""
    matrices = trial.random(5, 6, 6)
    output = trial.call_inside(lambda lu, stack: jax.vmap(lu)(stack), trial.tensor(matrices))
    for index, matrix in enumerate(matrices):
        _check_lu(trial, tuple(part[index] for part in output), matrix)


def lu_gradient(trial: Trial) -> None:
    """The gradient of log|det A|, read from U's diagonal, is the transposed inverse of A; the factors come with it."""
    matrix = trial.random(8, 8) + 4 * np.roll(np.eye(8, dtype="float32"), 1, axis=0)

    def body(lu: Callable[..., Any], matrix: Any) -> Any:
        def log_determinant(matrix: Any) -> Any:
            factors = lu(matrix)
            return jnp.sum(jnp.log(jnp.abs(jnp.diagonal(factors[2])))), factors

        return jax.grad(log_determinant, has_aux=True)(matrix)

    gradient, factors = trial.call_inside(body, trial.tensor(matrix))
    _check_lu(trial, factors, matrix)
    trial.close(gradient, np.linalg.inv(widened(matrix)).T, rtol=1e-4, atol=1e-4, dtype="float32")


def _check_svd(trial: Trial, output: Any, matrix: Any, full_matrices: bool) -> None:
    dtype = _FLOATING.get(matrix.dtype.name, matrix.dtype.name)
    *batch, rows, columns = matrix.shape
    rank = min(rows, columns)
    u, s, vh = output
    trial.equal([trial.dtype_name(part) for part in (u, s, vh)], [dtype, _REAL.get(dtype, dtype), dtype])
    trial.equal(list(u.shape), [*batch, rows, rows if full_matrices else rank])
    trial.equal(list(s.shape), [*batch, rank])
    trial.equal(list(vh.shape), [*batch, columns if full_matrices else rank, columns])
    properties.svd(trial, tuple(output), [widened(matrix)])


def _check_lu(trial: Trial, output: Any, matrix: Any) -> None:
    dtype = _FLOATING.get(matrix.dtype.name, matrix.dtype.name)
    rows, columns = matrix.shape
    rank = min(rows, columns)
    trial.equal([trial.dtype_name(part) for part in output], [_REAL.get(dtype, dtype), dtype, dtype])
    trial.equal([part.shape for part in output], [(rows, rows), (rows, rank), (rank, columns)])
    properties.lu(trial, output, [widened(matrix)])

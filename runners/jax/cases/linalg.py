"""Matrix factorizations: svd, eig and lu, with their derivatives, batches and 64-bit types."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing import properties
from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.cases.lax import map_and_compile
from runners.jax.cases.wide_types import call_with_x64

_FLOATING = {"int32": "float32"}
_REAL = {"complex64": "float32", "complex128": "float64"}


def svd_factors(
    trial: Trial,
    shape: list[int],
    dtype: str = "float32",
    full_matrices: bool = True,
    rank: int | None = None,
    hermitian: bool = False,
) -> None:
    """The factors multiply back to the matrix, have orthonormal columns and the shapes that full_matrices requests.

    ``rank``: the rank of the matrix, if it is not full. ``hermitian``: make it Hermitian, and say so.
    """
    matrix = trial.random(*shape, dtype=dtype)
    if rank is not None:
        matrix = trial.random(shape[0], rank) @ trial.random(rank, shape[1], seed=1)
    if hermitian:
        matrix = matrix + np.swapaxes(matrix, -1, -2).conj()
    output = trial.call(trial.tensor(matrix), full_matrices=full_matrices, **({"hermitian": True} if hermitian else {}))
    _check_svd(trial, output, matrix, full_matrices)


def svd_double(trial: Trial, dtype: str) -> None:
    """With 64-bit types enabled, the factors are 64 bits wide and equally accurate."""
    matrix = trial.random(12, 8, dtype=dtype)
    _check_svd(trial, call_with_x64(trial, matrix, full_matrices=False), matrix, False)


def svd_gradient(trial: Trial, compute_uv: bool) -> None:
    """The gradient of the sum of the singular values is U V^T; the output is the singular values."""
    matrix = trial.random(7, 4)

    def body(svd: Callable[..., Any], matrix: Any) -> Any:
        def nuclear_norm(matrix: Any) -> Any:
            output = svd(matrix, full_matrices=False, compute_uv=compute_uv)
            values = output[1] if compute_uv else output
            return jnp.sum(values), values

        return jax.grad(nuclear_norm, has_aux=True)(matrix)

    u, s, vh = np.linalg.svd(widened(matrix), full_matrices=False)
    gradient, values = trial.call_inside(body, trial.tensor(matrix))
    trial.close(values, s, rtol=1e-5, dtype="float32")
    # Quotients by differences of singular values, in float32: about a thousand roundings.
    trial.close(gradient, u @ vh, rtol=1e-4, atol=1e-4, dtype="float32")


def lu_factors(trial: Trial, shape: list[int], dtype: str = "float32") -> None:
    """P L U is the matrix; P is a permutation of real numbers, L unit lower and U upper triangular."""
    matrix = trial.random(*shape, dtype=dtype, seed=4)
    _check_lu(trial, trial.call(trial.tensor(matrix)), matrix)


def lu_double(trial: Trial, dtype: str) -> None:
    """With 64-bit types enabled, the factors are 64 bits wide and equally accurate."""
    matrix = trial.random(12, 12, dtype=dtype)
    _check_lu(trial, call_with_x64(trial, matrix), matrix)


def lu_batch(trial: Trial) -> None:
    """Mapped over a stack of matrices, every matrix gets its own factors."""
    matrices = trial.random(5, 6, 6)
    output = trial.call_inside(lambda lu, stack: jax.vmap(lu)(stack), trial.tensor(matrices))
    for index, matrix in enumerate(matrices):
        _check_lu(trial, tuple(part[index] for part in output), matrix)


def lu_gradient(trial: Trial) -> None:
    """The gradient of log|det A|, read from U's diagonal, is the transposed inverse of A; the output is the factors."""
    matrix = trial.random(8, 8) + 4 * np.roll(np.eye(8, dtype="float32"), 1, axis=0)

    def body(lu: Callable[..., Any], matrix: Any) -> Any:
        def log_determinant(matrix: Any) -> Any:
            factors = lu(matrix)
            return jnp.sum(jnp.log(jnp.abs(jnp.diagonal(factors[2])))), factors

        return jax.grad(log_determinant, has_aux=True)(matrix)

    gradient, factors = trial.call_inside(body, trial.tensor(matrix))
    _check_lu(trial, factors, matrix)
    trial.close(gradient, np.linalg.inv(widened(matrix)).T, rtol=1e-4, atol=1e-4, dtype="float32")


def product_gradient(trial: Trial, shape: Sequence[int]) -> None:
    """The factors of lu and svd multiply back to the matrix, so the gradient of a weighted sum of the product is the
    weights: it passes through every factor."""
    matrix, weights = trial.random(*shape), trial.random(*shape, seed=1)

    def body(factorize: Callable[..., Any], matrix: Any, weights: Any) -> Any:
        def loss(matrix: Any) -> Any:
            one, two, three = factorize(matrix) if trial.function.__name__ == "lu" else factorize(matrix, False)
            product = one @ (two @ three if two.ndim == 2 else two[:, None] * three)
            return jnp.sum(weights * product), product

        return jax.jit(jax.grad(loss, has_aux=True))(matrix)

    trial.has_random_inputs = False  # other values would compile the same program again
    gradient, product = trial.call_inside(body, trial.tensor(matrix), trial.tensor(weights))
    # Solutions with triangular factors, and quotients by differences of singular values, in float32.
    trial.close(product, matrix, rtol=1e-4, atol=1e-4, dtype="float32")
    trial.close(gradient, weights, rtol=1e-3, atol=1e-3, dtype="float32")


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


def factors_of_host(trial: Trial, shape: Sequence[int], dtype: str, order: str = "C") -> None:
    """A NumPy matrix that could be written to, of either order, is factored and not changed."""
    given = np.array(trial.random(*shape, dtype=dtype), order=order)  # type: ignore[call-overload]
    before = given.copy()
    output = trial.call(given)
    trial.equal(given, before)
    if trial.function.__name__ == "lu":
        _check_lu(trial, output, before)
    elif trial.function.__name__ == "svd":
        _check_svd(trial, output, before, full_matrices=True)
    else:
        _check_eig(trial, output, before, "complex64")


# jax.numpy.linalg.eig


def eig_known(trial: Trial, shape: Sequence[int], dtype: str = "float32") -> None:
    """A matrix made from known eigenvalues has these eigenvalues in some order, with matching vectors."""
    size = shape[-1]
    values = np.arange(1, size + 1) * np.where(np.arange(size) % 3, 1.0, -1.0)
    if dtype.startswith("complex"):
        values = values * np.exp(1j * np.arange(size))
    vectors = np.eye(size) + 0.1 * trial.random(*shape, dtype=dtype, seed=size)
    matrix = ((vectors * values) @ np.linalg.inv(vectors)).astype(dtype)
    output = trial.call(trial.tensor(matrix))
    _check_eig(trial, output, matrix, "complex64")
    found = np.asarray(trial.numpy(output[0]))
    expected = np.broadcast_to(values, found.shape)
    # Well separated eigenvalues of a nearly diagonal matrix: off by a few roundings of the largest.
    trial.close(_ordered(found), _ordered(expected), rtol=0, atol=1e-5 * size)


def eig_special(trial: Trial, matrix: Sequence[Any], values: Sequence[Sequence[float]], tolerance: float) -> None:
    """A rotation has complex eigenvalues; a shear has one double eigenvalue.

    ``values`` are pairs of real and imaginary part. ``tolerance`` is larger for a double eigenvalue, which changes by
    the square root of a rounding.
    """
    host = np.array(matrix, "float32")
    output = trial.call(trial.tensor(host))
    _check_eig(trial, output, host, "complex64")
    expected = np.array([complex(*pair) for pair in values])
    trial.close(_ordered(trial.numpy(output[0])), _ordered(expected), rtol=0, atol=tolerance)


def eig_double(trial: Trial, dtype: str) -> None:
    """With 64-bit types enabled, values and vectors are complex128 and equally accurate."""
    matrix = trial.random(12, 12, dtype=dtype)
    _check_eig(trial, call_with_x64(trial, matrix), matrix, "complex128")


def eig_mapped(trial: Trial) -> None:
    """Mapped over a stack of matrices and compiled, every matrix gets its own values and vectors."""
    matrices = trial.random(5, 6, 6)

    def body(eig: Callable[..., Any], stack: Any) -> Any:
        return map_and_compile(eig, ())(stack)

    _check_eig(trial, trial.call_inside(body, trial.tensor(matrices)), matrices, "complex64")


def eig_power(trial: Trial) -> None:
    """A matrix's fifth power is V w^5 V^-1, computed on the device of the eigenvectors."""
    matrix = trial.random(6, 6, low=-1, high=1)

    def body(eig: Callable[..., Any], matrix: Any) -> Any:
        values, vectors = eig(matrix)
        return values, vectors, (vectors * values**5) @ jnp.linalg.inv(vectors)

    *output, power = trial.call_inside(body, trial.tensor(matrix))
    _check_eig(trial, output, matrix, "complex64")
    # The inverse of the vectors multiplies float32's rounding by their condition number.
    expected = np.linalg.matrix_power(widened(matrix), 5).astype("complex128")
    trial.close(power, expected, rtol=1e-4, atol=1e-3, dtype="complex64")


def _check_eig(trial: Trial, output: Any, matrix: Any, dtype: str) -> None:
    trial.equal([trial.dtype_name(part) for part in output], [dtype] * 2)
    properties.find("eig")(trial, tuple(output), [widened(matrix)])


def _ordered(values: Any) -> Any:
    """Sort by real, then imaginary part, rounded so that equal real parts do not decide."""
    values = np.asarray(values).astype("complex128")
    order = np.lexsort((values.imag, values.real.round(2)), axis=-1)
    return np.take_along_axis(values, order, axis=-1)

"""tf.linalg: the singular value decomposition and set_diag, where a ``call`` test is not enough."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing import properties
from runners.core.testing.compare import check_dtype
from runners.core.testing.trial import Trial
from runners.tensorflow.cases.tensors import seen, traced, weighted_gradients

Sizes = Sequence[int]


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
    """A matrix with known singular values, evenly spaced in the logarithm, gives each of them."""
    wanted = np.geomspace(1.0, smallest, 16)
    left, _ = np.linalg.qr(trial.random(24, 16, dtype="float64", seed=1))
    right, _ = np.linalg.qr(trial.random(16, 16, dtype="float64", seed=2))
    s = trial.call(trial.tensor((left * wanted) @ right.T, dtype=dtype), compute_uv=False)
    trial.close(s, wanted, dtype=dtype)


def gradient(trial: Trial, dtype: str, shape: Sizes = (5, 3), values_only: bool = False) -> None:
    """The gradient of the sum of the singular values of A is U V^T, the nearest orthogonal matrix, also where only the
    values are computed."""
    host = trial.random(*shape, dtype=dtype, seed=4)
    matrix = trial.tensor(host)

    def body(svd: Callable[..., Any]) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(matrix)
            s = svd(matrix, compute_uv=False) if values_only else svd(matrix)[0]
            total = tf.reduce_sum(s)
        return s, tape.gradient(total, matrix)

    values, slope = trial.call_inside(body)
    u, s, vh = np.linalg.svd(host.astype("float64"), full_matrices=False)
    trial.close(values, s, dtype=dtype)
    trial.close(slope, u @ vh, dtype=dtype)


def gradient_of_factors(trial: Trial, shape: Sizes) -> None:
    """The gradient of the sum of W * (U S^3 V^T), which is W * (A A^T A), needs all three outputs."""
    host = trial.random(*shape, dtype="float64", seed=6)
    host_weights = trial.random(*shape, dtype="float64", seed=7)
    matrix, weights = trial.tensor(host), trial.tensor(host_weights)

    def body(svd: Callable[..., Any]) -> Any:
        def cubes(a: Any) -> Any:
            s, u, v = svd(a)
            return tf.matmul(u * s[..., None, :] ** 3, v, transpose_b=True)

        return weighted_gradients(cubes, [matrix], weights)

    output, (slope,) = trial.call_inside(body)
    a, w = host, host_weights
    at, wt = np.swapaxes(a, -1, -2), np.swapaxes(w, -1, -2)
    # Factors are accurate to the ratio of the rounding and the distance of two singular values.
    trial.close(output, a @ at @ a, rtol=1e-9, atol=1e-9, dtype="float64")
    trial.close(slope, w @ at @ a + a @ wt @ a + a @ at @ w, rtol=1e-8, atol=1e-8, dtype="float64")


def unknown_shape(trial: Trial, shape: Sequence[int]) -> None:
    """In a tf.function traced for matrices of any size the singular values match NumPy's."""
    host = trial.random(*shape, seed=5)
    matrix = trial.tensor(host)

    def body(svd: Callable[..., Any]) -> Any:
        signature = [tf.TensorSpec([None] * len(shape), matrix.dtype)]
        return tf.function(lambda a: svd(a, compute_uv=False), input_signature=signature)(matrix)

    expected = np.linalg.svd(host.astype("float64"), compute_uv=False)
    trial.close(trial.call_inside(body), expected, atol=1e-4, dtype="float32")


# tf.linalg.set_diag


def with_diagonals(matrix: Any, diagonals: Any, low: int, high: int, align: str) -> Any:
    """Set the documented layout: row d of the band holds diagonal high - d, aligned left or right in the row."""
    output = matrix.copy()
    rows, columns = matrix.shape[-2:]
    width = diagonals.shape[-1]
    above, below = align.split("_")
    for number, k in enumerate(range(high, low - 1, -1)):
        length = min(rows, columns - k) if k >= 0 else min(rows + k, columns)
        left = (k >= 0 and above == "LEFT") or (k <= 0 and below == "LEFT")
        start = 0 if left else width - length
        for step in range(length):
            row, column = (step, step + k) if k >= 0 else (step - k, step)
            output[..., row, column] = diagonals[..., number, start + step]
    return output


def set_diagonal(trial: Trial, shape: Sizes, dtype: str = "float32", k: int = 0, special: str | None = None) -> None:
    """One diagonal of each matrix is replaced; all else is unchanged."""
    rows, columns = shape[-2:]
    length = min(rows, columns - k) if k >= 0 else min(rows + k, columns)
    matrix = trial.tensor(trial.random(*shape, dtype=dtype, seed=22, special=special), dtype=dtype)
    diagonal = trial.tensor(trial.random(*shape[:-2], length, dtype=dtype, seed=23, special=special), dtype=dtype)
    output = trial.call(matrix, diagonal, k=k) if k else trial.call(matrix, diagonal)
    expected = with_diagonals(seen(trial, matrix), seen(trial, diagonal)[..., None, :], k, k, "LEFT_LEFT")
    trial.exact(output, expected, dtype)


def _band_shape(shape: Sizes, low: int, high: int) -> Sizes:
    rows, columns = shape[-2:]
    return (*shape[:-2], high - low + 1, min(rows + min(high, 0), columns - max(low, 0)))


def set_band(trial: Trial, shape: Sizes, low: int, high: int, align: str | None = None, dtype: str = "float32") -> None:
    """A band of diagonals is replaced, each read from the side of its row that ``align`` gives: by default the right
    one above the main diagonal, the left one below it. A band of one diagonal has no axis for diagonals."""
    matrix = trial.tensor(trial.random(*shape, dtype=dtype, seed=24), dtype)
    host_band = trial.random(*_band_shape(shape, low, high), dtype=dtype, seed=25)
    band = trial.tensor(host_band[..., 0, :] if low == high else host_band, dtype)
    output = trial.call(matrix, band, k=(low, high), **({} if align is None else {"align": align}))
    diagonals = seen(trial, band)[..., None, :] if low == high else seen(trial, band)
    trial.exact(output, with_diagonals(seen(trial, matrix), diagonals, low, high, align or "RIGHT_LEFT"), dtype)


def set_diagonal_gradients(trial: Trial, dtype: str, k: int = 0) -> None:
    """The incoming gradient's diagonal goes to the diagonal, the rest of it to the matrix."""
    length = min(3, 4 - k) if k >= 0 else 3 + k
    host, host_diagonal = trial.random(2, 3, 4, dtype=dtype, seed=26), trial.random(2, length, dtype=dtype, seed=27)
    host_weights = trial.random(2, 3, 4, dtype=dtype, seed=28)
    weights = trial.tensor(host_weights)

    def body(set_diag: Callable[..., Any], *inputs: Any) -> Any:
        options = {"k": k} if k else {}
        return weighted_gradients(lambda x, diagonal: set_diag(x, diagonal, **options), inputs, weights)

    output, (to_matrix, to_diagonal) = trial.call_inside(body, trial.tensor(host), trial.tensor(host_diagonal))
    trial.close(output, with_diagonals(host, host_diagonal[:, None], k, k, "LEFT_LEFT"), dtype=dtype)
    zeros = np.zeros([2, 1, length], dtype)
    trial.close(to_matrix, with_diagonals(host_weights, zeros, k, k, "LEFT_LEFT"), dtype=dtype)
    trial.close(to_diagonal, np.diagonal(host_weights, k, axis1=1, axis2=2), dtype=dtype)


def set_band_gradients(trial: Trial, shape: Sizes, low: int, high: int, align: str) -> None:
    """The incoming gradient goes to the band where it was read, to the matrix elsewhere; padding of the band gets
    none."""
    host, host_weights = trial.random(*shape, seed=26), trial.random(*shape, seed=28)
    host_band = trial.random(*_band_shape(shape, low, high), seed=27)
    weights = trial.tensor(host_weights)

    def body(set_diag: Callable[..., Any], *inputs: Any) -> Any:
        return weighted_gradients(lambda x, band: set_diag(x, band, k=(low, high), align=align), inputs, weights)

    output, (to_matrix, to_band) = trial.call_inside(body, trial.tensor(host), trial.tensor(host_band))
    trial.exact(output, with_diagonals(host, host_band, low, high, align), "float32")
    numbers = np.arange(1, host_band.size + 1).reshape(host_band.shape)
    source = with_diagonals(np.zeros(shape, int), numbers, low, high, align)
    trial.close(to_matrix, np.where(source, 0, host_weights), dtype="float32")
    expected = np.zeros(host_band.size + 1)
    expected[source.ravel()] = host_weights.ravel()
    trial.close(to_band, expected[1:].reshape(host_band.shape), dtype="float32")


def set_diagonal_unknown_shape(trial: Trial) -> None:
    """One tf.function, traced for matrices of unknown sizes, sets the diagonals of wide and tall ones."""
    shapes = [(2, 3, 5), (1, 6, 2), (3, 1, 1)]
    hosts = [(trial.random(*shape, seed=29), trial.random(shape[0], min(shape[1:]), seed=30)) for shape in shapes]
    tensors = [tuple(map(trial.tensor, host)) for host in hosts]

    def body(set_diag: Callable[..., Any]) -> Any:
        specs = [tf.TensorSpec([None, None, None], tf.float32), tf.TensorSpec([None, None], tf.float32)]
        apply = traced(lambda matrix, diagonal: set_diag(matrix, diagonal), specs)
        return [apply(*given) for given in tensors]

    for output, (matrix, diagonal) in zip(trial.call_inside(body), hosts):
        trial.close(output, with_diagonals(matrix, diagonal[:, None], 0, 0, "LEFT_LEFT"), dtype="float32")


def refuses_gradient(trial: Trial) -> None:
    """Gradients of the factors are not known for full matrices that are far from square."""
    host = trial.random(2, 5, dtype="float64", seed=31)
    matrix = trial.tensor(host)

    def body(svd: Callable[..., Any]) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(matrix)
            s, u, v = svd(matrix, full_matrices=True)
            trial.close(s, np.linalg.svd(host, compute_uv=False), dtype="float64")
            total = tf.reduce_sum(u) + tf.reduce_sum(v)
        return tape.gradient(total, matrix)

    trial.raises_inside(["NotImplementedError"], "gradient", body)

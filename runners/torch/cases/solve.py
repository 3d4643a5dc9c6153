"""Triangular systems, reflectors and sparse products, compared with their definitions."""

from __future__ import annotations

import itertools
from typing import Any, Sequence

import numpy as np
import torch

from runners.core.testing.arrays import widened
from runners.core.testing.compare import EPSILON
from runners.core.testing.trial import Trial


def triangular_solve(
    trial: Trial,
    right: Sequence[int],
    matrix: Sequence[int],
    dtype: str,
    layout: str = "contiguous",
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
    out: bool = False,
) -> None:
    """The triangle of the matrix, transposed or with a unit diagonal if requested, times the solution gives the right
    side. The other triangle is ignored, and a copy of the matrix is returned with the solution, both in ``out`` if
    given."""
    a, b = triangular(trial, matrix, dtype), trial.random(*right, dtype=dtype, seed=2)
    options = {"upper": upper, "transpose": transpose, "unitriangular": unitriangular}
    # Omitted options keep their defaults.
    given = {name: value for name, value in options.items() if value != (name == "upper")}
    coefficients = trial.tensor(a, dtype, layout)
    into = {"out": (trial.tensor(np.ones(right), dtype), trial.tensor(np.ones(matrix), dtype))} if out else {}
    found = trial.call(trial.tensor(b, dtype, layout), coefficients, **given, **into)
    solution, clone = found.solution, found.cloned_coefficient
    expected = _solve(_used(widened(a), upper, transpose, unitriangular), b)
    trial.close(solution, expected, dtype=dtype, **solved(dtype, matrix[-1]))
    batch = np.broadcast_shapes(tuple(right[:-2]), tuple(matrix[:-2]))
    trial.close(clone, np.broadcast_to(a, (*batch, *matrix[-2:])), dtype=dtype)
    if out:
        trial.check(solution is into["out"][0] and clone is into["out"][1], "the results are not those given as out=")
    if not batch:
        clone.zero_()
        trial.close(coefficients, a, dtype=dtype)


def triangular_solve_gradients(
    trial: Trial,
    dtype: str,
    right: Sequence[int] = (5, 3),
    matrix: Sequence[int] = (5, 5),
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> None:
    """The right side gets T^-H times the gradient; the matrix gets minus that times X^H, in the triangle that is used.
    What is broadcast gets the sum over its batch."""
    a, b = triangular(trial, matrix, dtype), trial.random(*right, dtype=dtype, seed=2)
    exact = _used(widened(a), upper, transpose, unitriangular)
    expected = _solve(exact, b)
    weights = trial.random(*expected.shape, dtype=dtype, seed=3)
    side, coefficients = trial.tensor(b).requires_grad_(), trial.tensor(a).requires_grad_()
    solution, _ = trial.call(side, coefficients, upper, transpose, unitriangular)
    (solution * trial.tensor(weights).conj()).sum().real.backward()
    entering = _solve(np.swapaxes(exact, -1, -2).conj(), weights)
    slope = -entering @ np.swapaxes(expected, -1, -2).conj()
    slope = np.swapaxes(slope, -1, -2) if transpose else slope
    slope = np.triu(slope, int(unitriangular)) if upper else np.tril(slope, -int(unitriangular))
    size = matrix[-1]
    trial.close(solution, expected, dtype=dtype, **solved(dtype, size))
    trial.close(side.grad, _summed_to(entering, right), dtype=dtype, **solved(dtype, size))
    trial.close(coefficients.grad, _summed_to(slope, matrix), dtype=dtype, **solved(dtype, size))


def triangular_singular(trial: Trial, dtype: str) -> None:
    """A zero on the diagonal divides the value that is computed last by zero: infinity with its sign, and NaN for zero.
    The values before it are those of the regular system. The transposed system ends at the other side."""
    size, signs = 5, np.array([1.0, -1.0, 0.0])
    trial.repeatable = False
    for upper, transpose, batch in itertools.product((True, False), (False, True), ((), (2,))):
        a = triangular(trial, (*batch, size, size), "float64")
        last = 0 if upper != transpose else size - 1
        a[..., last, last] = 0
        expected = np.round(trial.random(*batch, size, 3, dtype="float64", seed=2, low=-4, high=4))
        expected[..., 2] = expected[..., last, :] = 0
        right = _used(a, upper, transpose, False) @ expected
        right[..., last, :] += signs
        with np.errstate(divide="ignore", invalid="ignore"):
            expected[..., last, :] = signs / np.zeros(3)
        found = trial.call(trial.tensor(right, dtype), trial.tensor(a, dtype), upper=upper, transpose=transpose)[0]
        trial.close(found, expected, dtype=dtype, rtol=1e-4, atol=1e-4)


def ormqr(
    trial: Trial,
    reflectors: Sequence[int],
    other: Sequence[int],
    dtype: str,
    layout: str = "contiguous",
    left: bool = True,
    transpose: bool = False,
    has_out: bool = False,
) -> None:
    """The output is Q or Q^H times the other matrix, or the reverse product, where Q is the product of the reflectors
    1 - tau v v^H, and the vectors v are below the diagonal of the first matrix. ``has_out``: it is also written into
    the tensor given as out=."""
    wide = "complex128" if dtype.startswith("complex") else "float64"
    raw, tau = np.linalg.qr(trial.random(*reflectors, dtype=wide, seed=4), mode="raw")
    a, tau = np.swapaxes(raw, -1, -2).astype(dtype), tau.astype(dtype)
    c = trial.random(*other, dtype=dtype, seed=5)
    # Omitted options keep their defaults.
    given = {name: value for name, value in (("left", left), ("transpose", transpose)) if value != (name == "left")}
    tensors = trial.tensor(a, dtype, layout), trial.tensor(tau), trial.tensor(c, dtype, layout)
    out = {"out": trial.tensor(np.full(other, 3), dtype)} if has_out else {}
    output = trial.call(*tensors, **given, **out)
    q = _product_of_reflectors(widened(a), widened(tau))
    q = np.swapaxes(q, -1, -2).conj() if transpose else q
    expected = q @ widened(c) if left else widened(c) @ q
    for found in (output, *out.values()):
        trial.check(not has_out or found is output, "the returned tensor is not the one given as out=")
        trial.close(found, expected, dtype=dtype, **solved(dtype, reflectors[-2]))


def saddmm(
    trial: Trial,
    sizes: Sequence[int],
    dtype: str,
    share: float = 0.4,
    beta: Any = None,
    alpha: Any = None,
    layout: str = "contiguous",
    special: str | None = None,
    has_out: bool = False,
    stored: str = "coalesced",
) -> None:
    """The output is beta * sparse + alpha * sparse @ dense, as a sparse matrix with the values of the dense
    computation. An element of the dense matrix counts only where the sparse one has a stored element.

    A factor of two numbers is complex. ``share`` is the share of the second sparse matrix's elements that are stored.
    ``has_out``: the result is also written into the tensor given as out=. ``stored``: how the entries of both sparse
    matrices are stored (see _sparse).
    """
    rows, middle, columns = sizes
    added = _mostly_zeros(trial, (rows, columns), dtype, 0.4, 1)
    left = _mostly_zeros(trial, (rows, middle), dtype, share, 2)
    right = trial.random(middle, columns, dtype=dtype, seed=3, special=special)
    factors = {
        name: complex(*value) if isinstance(value, list) else value
        for name, value in (("beta", beta), ("alpha", alpha))
        if value is not None
    }
    sparse = (_sparse(trial.tensor(matrix), stored) for matrix in (added, left))
    tensors = *sparse, trial.tensor(right, dtype, layout)
    out = {"out": trial.tensor(np.zeros((rows, columns)), dtype).to_sparse()} if has_out else {}
    output = trial.call(*tensors, **factors, **out)
    added, left, right = map(widened, (added, left, right))
    with np.errstate(all="ignore"):
        terms = left[:, :, None] * right
    terms[left == 0] = 0
    expected = factors.get("beta", 1) * added + factors.get("alpha", 1) * terms.sum(1)
    for found in (output, *out.values()):
        trial.check(not has_out or found is output, "the returned tensor is not the one given as out=")
        trial.check(found.is_sparse, "the output is not sparse")
        trial.close(
            found.to_dense(),
            expected.astype(dtype) if dtype == "uint8" else expected,
            dtype=dtype,
            **solved(dtype, middle),
        )


def saddmm_of_duplicates(trial: Trial, dtype: str) -> None:
    """Duplicate entries for one place count as their sum, in both sparse matrices."""
    places = trial.tensor(np.array([[0, 1, 1, 0], [2, 0, 0, 2]]))
    values, others = (trial.random(4, dtype=dtype, seed=seed) for seed in (1, 2))
    right = trial.random(3, 3, dtype=dtype, seed=3)
    added, left = (torch.sparse_coo_tensor(places, trial.tensor(part), (2, 3)) for part in (values, others))
    output = trial.call(added, left, trial.tensor(right))
    dense = [np.zeros((2, 3)), np.zeros((2, 3))]
    for matrix, part in zip(dense, (values, others)):
        matrix[0, 2], matrix[1, 0] = float(part[0]) + float(part[3]), float(part[1]) + float(part[2])
    trial.check(output.is_sparse, "the output is not sparse")
    trial.close(output.to_dense(), dense[0] + dense[1] @ widened(right), dtype=dtype, **solved(dtype, 3))


def triangular(trial: Trial, shape: Sequence[int], dtype: str) -> Any:
    """Return matrices with two well-conditioned triangles: small values, and a diagonal of 1 to 2 with alternating
    signs."""
    size = shape[-1]
    values = trial.random(*shape, dtype=dtype, seed=1) / (2 * max(size, 1))
    diagonal = np.linspace(1, 2, size) * np.where(np.arange(size) % 2, -1, 1)
    return (values + np.diag(diagonal)).astype(dtype)


def _used(matrix: Any, upper: bool, transpose: bool, unitriangular: bool) -> Any:
    """Return the triangular matrix of the system."""
    exact = np.triu(matrix) if upper else np.tril(matrix)
    if unitriangular:
        np.einsum("...ii->...i", exact)[...] = 1
    return np.swapaxes(exact, -1, -2) if transpose else exact


def _solve(matrix: Any, right: Any) -> Any:
    """Solve in double precision; NumPy takes a right side with fewer axes for vectors."""
    return np.linalg.solve(matrix, widened(right).reshape((1,) * (matrix.ndim - right.ndim) + right.shape))


def _summed_to(values: Any, shape: Sequence[int]) -> Any:
    """Sum over the axes along which a tensor of this shape was broadcast."""
    values = values.sum(tuple(range(values.ndim - len(shape))))
    return values.sum(tuple(axis for axis, size in enumerate(shape) if size == 1 != values.shape[axis]), keepdims=True)


def solved(dtype: str, size: int) -> dict[str, float]:
    """The tolerance of sums of ``size`` products of about one, in any order: that of the dtype, and an absolute error
    of ten roundings and one more per product. Whole numbers are exact."""
    if dtype not in EPSILON:
        return {}
    return {"atol": max(1e-5 if EPSILON[dtype] > 1e-10 else 1e-12, (10 + size) * EPSILON[dtype])}


def _product_of_reflectors(a: Any, tau: Any) -> Any:
    """Return the square matrix Q = H1 H2 ... Hk; the i-th v is 0 before its i-th element, which is 1."""
    rows = a.shape[-2]
    q = np.broadcast_to(np.eye(rows, dtype=a.dtype), (*a.shape[:-2], rows, rows))
    for i in range(tau.shape[-1]):
        v = a[..., i].copy()
        v[..., :i], v[..., i] = 0, 1
        q = q @ (np.eye(rows) - tau[..., i, None, None] * v[..., :, None] * v[..., None, :].conj())
    return q


def _sparse(dense: Any, stored: str) -> Any:
    """A sparse matrix whose entries are coalesced; strided, every second element of a larger memory, with the two
    indices of an entry next to each other; or split, each entry is the sum of two, the second of which is 1."""
    matrix = dense.to_sparse().coalesce()
    places, values = matrix.indices(), matrix.values()
    if stored == "strided":
        places = torch.stack([places, places], 1).permute(2, 0, 1).contiguous().permute(1, 2, 0)[:, 1]
        values = torch.stack([values, values + 1], 1)[:, 0]
    elif stored == "split":
        places, values = torch.cat([places, places.flip(1)], 1), torch.cat([values - 1, torch.ones_like(values)])
    return matrix if stored == "coalesced" else torch.sparse_coo_tensor(places, values, dense.shape)


def _mostly_zeros(trial: Trial, shape: Sequence[int], dtype: str, share: float, seed: int) -> Any:
    kept = trial.random(*shape, seed=seed + 50, low=0, high=1) < share
    return np.where(kept, trial.random(*shape, dtype=dtype, seed=seed, low=1, high=9), 0).astype(dtype)

"""Properties of outputs, for functions that no reference computes in the same way.

Each property is a function with the name that manifests use. It is called as ``property(trial, output, inputs,
**params)`` with the output on the device and the inputs on the host (floating ones as float64), and checks through the
trial. Each raises Mismatch or AssertionError if the property does not hold.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import numpy as np

from runners.core.testing.arrays import widened
from runners.core.testing.compare import EPSILON, Mismatch, check_values
from runners.core.testing.distribution import check_categories, check_draws
from runners.core.testing.trial import Trial

Property = Callable[..., None]


def find(name: str) -> Property:
    """The property with this name. Raises LookupError if there is none."""
    found = _PROPERTIES.get(name)
    if found is None:
        known = ", ".join(sorted(_PROPERTIES))
        raise LookupError(f"there is no property {name!r} in runners/core/testing/properties.py; there are: {known}")
    return found


def svd(trial: Trial, output: Any, inputs: Sequence[Any], order: str = "usv", adjoint: bool = True) -> None:
    """The factors multiply back to the input, U and V have orthonormal columns, S is descending and not negative.

    ``order`` is the order of the outputs (TensorFlow returns s, u, v). ``adjoint``: the last factor is V^H.
    """
    matrix = inputs[0]
    name = trial.dtype_name(next(iter(output))) or "float64"
    parts = dict(zip(order, (np.asarray(part) for part in trial.numpy(tuple(output)))))
    u, s, v = (parts[key].astype(np.complex128) for key in "usv")
    vh = v if adjoint else np.swapaxes(v, -1, -2).conj()
    rank = s.shape[-1]
    allowed = 50 * EPSILON[name] * max(matrix.shape[-2:]) * max(1.0, float(np.max(np.abs(s), initial=0.0)))
    values = s.real
    trial.check((values >= 0).all() and (np.diff(values, axis=-1) <= allowed).all(), "the singular values do not fall")
    rebuilt = (u[..., :rank] * s[..., None, :]) @ vh[..., :rank, :]
    trial.check(rebuilt.shape == matrix.shape, f"the factors multiply to {rebuilt.shape}, not {matrix.shape}")
    _check_error(trial, rebuilt - matrix, allowed, name, "the factors do not multiply back")
    for label, factor in (("U", u), ("V", np.swapaxes(vh, -1, -2).conj())):
        gram = np.swapaxes(factor, -1, -2).conj() @ factor
        _check_error(trial, gram - np.eye(gram.shape[-1]), allowed, name, f"{label} is not orthonormal")


def lu(trial: Trial, output: Any, inputs: Sequence[Any]) -> None:
    """P L U equals the input; P is a permutation, L unit lower triangular, U upper triangular."""
    matrix = inputs[0]
    name = trial.dtype_name(output[0]) or "float64"
    p, lower, upper = (np.asarray(part).astype(np.complex128) for part in trial.numpy(tuple(output)))
    allowed = 50 * EPSILON[name] * max(matrix.shape) * max(1.0, float(np.max(np.abs(matrix), initial=0.0)))
    trial.check(np.isin(p, (0, 1)).all() and (p.sum(0) == 1).all() and (p.sum(1) == 1).all(), "P is not a permutation")
    trial.check((np.triu(lower, 1) == 0).all(), "L is not lower triangular")
    trial.check((np.diagonal(lower) == 1).all(), "the diagonal of L is not 1")
    trial.check((np.tril(upper, -1) == 0).all(), "U is not upper triangular")
    rebuilt = p @ lower @ upper
    trial.check(rebuilt.shape == matrix.shape, f"P L U has shape {rebuilt.shape}, not {matrix.shape}")
    _check_error(trial, rebuilt - matrix, allowed, name, "P L U is not the input")


def argsort(trial: Trial, output: Any, inputs: Sequence[Any], axis: int = -1, descending: bool = False) -> None:
    """Along the axis the output holds each index once, in an order that sorts the input; NaN counts as the largest."""
    values, found = inputs[0], np.asarray(trial.numpy(output))
    trial.check(found.dtype.kind in "iu", f"the indices are {found.dtype}, no integers")
    trial.check(found.shape == values.shape, f"the indices have shape {found.shape}, the input {values.shape}")
    if values.ndim == 0:
        values, found = values[None], found[None]
    ordered = np.moveaxis(np.sort(found, axis=axis), axis, -1)
    trial.check((ordered == np.arange(values.shape[axis])).all(), "an index is missing or is duplicated")
    expected = np.sort(values, axis=axis)
    expected = np.flip(expected, axis) if descending else expected
    check_values(np.take_along_axis(values, found, axis), expected, "exact")


def eig(trial: Trial, output: Any, inputs: Sequence[Any]) -> None:
    """A V is V times the eigenvalues, the columns of V have length one, and no eigenvalue is missing.

    None is missing if their sum is the trace of A and the sum of their squares that of A A. Their order is free.
    """
    matrix = inputs[0].astype(np.complex128)
    name = trial.dtype_name(next(iter(output))) or "complex128"
    values, vectors = (np.asarray(part).astype(np.complex128) for part in trial.numpy(tuple(output)))
    trial.check(values.shape == matrix.shape[:-1], f"{values.shape} eigenvalues of a matrix of {matrix.shape}")
    trial.check(vectors.shape == matrix.shape, f"the eigenvectors have shape {vectors.shape}, not {matrix.shape}")
    size = max(1.0, float(np.max(np.linalg.norm(matrix, axis=(-2, -1)), initial=0.0)))
    allowed = 50 * EPSILON[name] * max(1, matrix.shape[-1])
    residual = matrix @ vectors - vectors * values[..., None, :]
    _check_error(trial, residual, allowed * size, name, "A V is not V times the eigenvalues")
    _check_error(trial, np.linalg.norm(vectors, axis=-2) - 1, allowed, name, "an eigenvector is not of length one")
    for power, image in ((1, matrix), (2, matrix @ matrix)):
        lost = (values**power).sum(-1) - np.trace(image, axis1=-2, axis2=-1)
        _check_error(trial, lost, allowed * size**power, name, f"the eigenvalues^{power} do not sum to the trace")


def _check_error(trial: Trial, difference: Any, allowed: float, dtype: str, message: str) -> None:
    """Raises Mismatch if a difference that should be zero is larger than rounding explains."""
    trial.checks += 1
    error = float(np.max(np.abs(difference), initial=0.0))
    if not error <= allowed:
        # ``allowed`` is a multiple of the dtype's epsilon, so up to this limit half of the digits are correct.
        kind = "imprecise" if error <= allowed / EPSILON[dtype] ** 0.5 else "wrong value"
        raise Mismatch(f"{kind}: {message}: off by {error:.3g}, allowed {allowed:.3g}")


def distribution(
    trial: Trial, output: Any, inputs: Sequence[Any], name: str, parameters: Mapping[str, float] | None = None
) -> None:
    """The elements, in their order, are independent draws of a distribution of runners.core.testing.distribution."""
    trial.checks += 1
    dtype = trial.dtype_name(output) or "float64"
    check_draws(widened(trial.numpy(output)), name, parameters or {}, EPSILON[dtype])


def categories(trial: Trial, output: Any, inputs: Sequence[Any], shares: Sequence[float]) -> None:
    """The elements, in their order, are independent draws of categories that are as frequent as their shares say."""
    trial.checks += 1
    check_categories(trial.numpy(output), shares)


_PROPERTIES = {found.__name__: found for found in (svd, lu, argsort, eig, distribution, categories)}

"""torch.linalg.matrix_rank of matrices whose rank is known from their construction, and torch.slogdet."""

from __future__ import annotations

import itertools
from typing import Any, Sequence

import numpy as np

from runners.core.testing.arrays import widened
from runners.core.testing.compare import EPSILON
from runners.core.testing.trial import Trial
from runners.torch.cases.solve import solved, triangular


def rank_of_product(
    trial: Trial,
    shape: Sequence[int],
    ranks: Sequence[int],
    dtype: str,
    layout: str = "contiguous",
    hermitian: bool = False,
    lower_only: bool = False,
    out: bool = False,
) -> None:
    """The product of two factors of full rank r has rank r; a batch of products has a batch of ranks.

    Of a hermitian matrix only the lower triangle counts: with ``lower_only`` the other one holds other numbers.
    """
    rows, columns = shape
    matrices = []
    for seed, rank in enumerate(ranks):
        left = _full_rank(trial, rows, rank, dtype, seed)
        right = left if hermitian else _full_rank(trial, columns, rank, dtype, seed + 100)
        matrices.append(left @ right.conj().T)
    batch = np.stack(matrices) if len(ranks) > 1 else matrices[0]
    expected = np.asarray(ranks if len(ranks) > 1 else ranks[0])
    if lower_only:
        batch = np.tril(batch) + np.triu(trial.random(*batch.shape, dtype=dtype, seed=7), 1)
    options = {"out": trial.tensor(np.full(expected.shape, 99))} if out else {}
    output = trial.call(trial.tensor(batch, dtype, layout), hermitian=hermitian, **options)
    trial.check(not out or output is options["out"], "the returned tensor is not the one given as out=")
    trial.equal(output, expected)
    trial.check(trial.dtype_name(output) == "int64", f"expected int64, got {trial.dtype_name(output)}")


def rank_near_tolerance(
    trial: Trial, shape: Sequence[int], largest: float, rank: int, dtype: str, **options: Any
) -> None:
    """Without tolerances, singular values above the largest one times epsilon times the longer axis count; with only an
    absolute tolerance there is no relative one.

    The singular values are the largest, three times that bound, and a third of it.
    """
    matrix = np.zeros(shape)
    bound = largest * max(shape) * EPSILON[dtype]
    for number, value in enumerate((largest, 3 * bound, bound / 3)):
        matrix[(number + 1) % shape[0], shape[1] - 1 - number] = value
    trial.close(trial.call(trial.tensor(matrix, dtype), **options), np.asarray(rank), dtype="int64")


def slogdet(
    trial: Trial, shape: Sequence[int], dtype: str, layout: str = "contiguous", special: str | None = None
) -> None:
    """Sign (a phase for complex matrices) and logarithm of the absolute value match NumPy. The logarithm is real and
    stays finite where the determinant would overflow."""
    values = trial.random(*shape, dtype=dtype, seed=3, special=special)
    found = trial.call(trial.tensor(values, dtype, layout))
    _check_slogdet(trial, found, widened(values), dtype)


def slogdet_known(trial: Trial, dtype: str) -> None:
    """The determinant of a triangular matrix is the product of its diagonal; that of a singular one is 0, with log
    -inf."""
    tiny = [1e-20, -2e-20, -3e-20]
    diagonals = np.array([[2.0, -3, 4], [-1, -1, 0.5], [1, 1, 1], [5, 0, 2], tiny])
    values = np.stack([np.diag(row) + np.diag([7.0, -2], 1) * min(abs(row).max(), 1) for row in diagonals])
    sign, logarithm = trial.call(trial.tensor(values, dtype))
    real = dtype.replace("complex64", "float32").replace("complex128", "float64")
    trial.close(sign, [-1, 1, 1, 0, 1], dtype=dtype)
    expected = [np.log(24), np.log(0.5), 0, -np.inf, np.log(np.abs(tiny)).sum()]
    trial.close(logarithm, expected, dtype=real, signed_zeros=True)


def slogdet_gradient(trial: Trial, dtype: str) -> None:
    """The gradient of the logarithm is A^-H; that of a sign that is a phase is i times the phase's change times A^-H.
    The output's fields have their names."""
    values = triangular(trial, (2, 3, 4, 4), dtype)
    real = dtype.replace("complex64", "float32").replace("complex128", "float64")
    down, turn = trial.random(2, 3, dtype=real, seed=8), trial.random(2, 3, dtype=dtype, seed=9)
    tensor = trial.tensor(values).requires_grad_()
    found = trial.call(tensor)
    loss = (found.logabsdet * trial.tensor(down)).sum()
    if found.sign.requires_grad:  # Since PyTorch 1.13.
        loss = loss + (found.sign * trial.tensor(turn).conj()).sum().real
    loss.backward()
    exact = widened(values)
    _check_slogdet(trial, (found.sign, found.logabsdet), exact, dtype)
    # A change dA turns the sign by Im(trace(A^-1 dA)).
    turned = (1j * np.linalg.slogdet(exact)[0] * widened(turn).conj()).real * found.sign.requires_grad
    factor = widened(down) + (1j * turned if np.iscomplexobj(exact) else 0)
    expected = factor[..., None, None] * np.swapaxes(np.linalg.inv(exact), -1, -2).conj()
    trial.close(tensor.grad, expected, dtype=dtype, **solved(dtype, 4))


def _check_slogdet(trial: Trial, found: Any, exact: Any, dtype: str) -> None:
    sign, logarithm = found
    expected = np.linalg.slogdet(exact)
    real = dtype.replace("complex64", "float32").replace("complex128", "float64")
    # The error of the factors grows with the size and the condition of the matrix, here below a few hundred.
    atol = 100 * max(exact.shape[-1], 1) * EPSILON[dtype]
    trial.close(sign, expected[0], dtype=dtype, rtol=0, atol=atol)
    trial.close(logarithm, expected[1], dtype=real, rtol=1e-6 if EPSILON[dtype] > 1e-10 else 1e-12, atol=atol)


def _full_rank(trial: Trial, length: int, rank: int, dtype: str, seed: int) -> Any:
    """Return a matrix of small whole numbers (products are exact) whose first rows are the identity."""
    matrix = np.round(trial.random(length, rank, dtype=dtype, seed=seed, low=-2, high=2))
    matrix[:rank] = np.eye(rank)
    return matrix


def rank_tolerances(trial: Trial, count: int, size: int, dtype: str) -> None:
    """Singular values above the larger one of the absolute tolerance and the relative one, times the largest singular
    value, count: numbers or one for each matrix of a batch, and with only one given the other is zero."""
    turns = [np.linalg.qr(trial.random(size, size, dtype="float64", seed=seed))[0] for seed in (1, 2)]
    known = np.stack([np.roll(2.0 ** -np.arange(size), number) * (8 + number % 5) for number in range(count)])
    largest, numbers = known.max(-1), np.arange(count)
    each, symmetric = (
        trial.tensor(turns[0] * known[:, None] @ other.T, dtype)
        for other in (turns[1], turns[0] * (-1.0) ** np.arange(size))
    )
    trial.repeatable = False
    pairs = ((3.3, 0.013), (0.031, 0.31), (0.0, 0.018), (0.017, 0.0))
    both = [{"atol": absolute, "rtol": relative} for absolute, relative in pairs]
    alone = [{name: value} for pair in both for name, value in pair.items()]
    for given, varied in itertools.product(({"atol": 0.77}, {"rtol": 0.09}, *alone, *both), (False, True)):
        factors = 1 + numbers % 3 * 1.7 if varied else np.ones(count)
        bounds = {name: value * factors for name, value in given.items()}
        tolerance = np.maximum(bounds.get("atol", 0.0), bounds.get("rtol", 0.0) * largest)
        least = np.maximum(tolerance, 1e-5 if dtype == "float32" else 1e-13)[:, None]
        trial.check(np.abs(known / least - 1).min() > 1e-4, "a singular value is equal to a tolerance")
        options = {name: trial.tensor(bounds[name], dtype) if varied else value for name, value in given.items()}
        for hermitian, batch in ((False, each), (True, symmetric)):
            found = trial.call(batch, hermitian=hermitian, **options)
            trial.exact(found, (known > least).sum(-1), "int64")

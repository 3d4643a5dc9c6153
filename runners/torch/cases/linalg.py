"""torch.linalg.matrix_rank of matrices whose rank is known from their construction."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from runners.core.testing.compare import EPSILON
from runners.core.testing.trial import Trial


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
    trial.equal(trial.call(trial.tensor(matrix, dtype), **options), np.asarray(rank))


def _full_rank(trial: Trial, length: int, rank: int, dtype: str, seed: int) -> Any:
    """Return a matrix of small whole numbers (products are exact) whose first rows are the identity."""
    matrix = np.round(trial.random(length, rank, dtype=dtype, seed=seed, low=-2, high=2))
    matrix[:rank] = np.eye(rank)
    return matrix

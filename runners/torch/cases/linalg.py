"""torch.linalg.matrix_rank of matrices whose rank is known from their construction."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from runners.core.testing.trial import Trial


def rank_of_product(
    trial: Trial,
    shape: Sequence[int],
    ranks: Sequence[int],
    dtype: str,
    layout: str = "contiguous",
    hermitian: bool = False,
) -> None:
    """The product of two factors of full rank r has rank r; a batch of products has a batch of ranks."""
    rows, columns = shape
    matrices = []
    for seed, rank in enumerate(ranks):
        left = _full_rank(trial, rows, rank, dtype, seed)
        right = left if hermitian else _full_rank(trial, columns, rank, dtype, seed + 100)
        matrices.append(left @ right.conj().T)
    batch = np.stack(matrices) if len(ranks) > 1 else matrices[0]
    output = trial.call(trial.tensor(batch, dtype, layout), hermitian=hermitian)
    expected = np.asarray(ranks if len(ranks) > 1 else ranks[0])
    trial.equal(output, expected)
    trial.check(trial.dtype_name(output) == "int64", f"expected int64, got {trial.dtype_name(output)}")


def _full_rank(trial: Trial, length: int, rank: int, dtype: str, seed: int) -> Any:
    """Return a matrix of small whole numbers (products are exact) whose first rows are the identity."""
    matrix = np.round(trial.random(length, rank, dtype=dtype, seed=seed, low=-2, high=2))
    matrix[:rank] = np.eye(rank)
    return matrix

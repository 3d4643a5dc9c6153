"""Counts that do not fit in 16 or 24 bits, of elements that are simple enough to be made fast."""

from __future__ import annotations

import numpy as np
import torch

from runners.core.testing.trial import Trial


def sum_of_ones(trial: Trial, count: int, dtype: str) -> None:
    """More ones than the dtype has digits for are counted exactly: they are not added one by one. The tensor is one
    element that is expanded."""
    ones = trial.tensor(np.ones(1), dtype).expand(count)
    trial.writes = True  # A copy of the argument would take longer than the call.
    trial.close(trial.call(ones), np.array(float(count)), rtol=0, atol=0, dtype=dtype)


def solved_columns(trial: Trial, columns: int) -> None:
    """In a batch of two systems each matrix solves all of its many columns."""
    numbers = np.arange(2 * columns, dtype="float32").reshape(2, 1, columns)
    matrices = np.array([[[2.0]], [[-4.0]]], "float32")
    right = torch.arange(2 * columns, dtype=torch.float32, device=trial.device).reshape(2, 1, columns)
    solution, copied = trial.call(right, trial.tensor(matrices))
    trial.close(solution, numbers / matrices, rtol=0, atol=0, dtype="float32")
    trial.exact(copied, matrices, "float32")


def huge_sizes(trial: Trial) -> None:
    """Lengths beyond 32 bits, of a tensor without elements, are those of the tensor."""
    tensor = torch.empty((2**33, 0, 5), device=trial.device)
    trial.writes = True  # NumPy has no array of this size, also without elements.
    trial.equal(list(trial.call(tensor)), [2**33, 0, 5])
    trial.equal([trial.call(tensor, axis) for axis in (0, 2, -3)], [2**33, 5, 2**33])

"""The argument ``out``: the result is written into the given tensor, and that tensor is returned."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
import torch

from runners.core.testing import references
from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.torch.cases.creation import check_permutation


def into(
    trial: Trial,
    numpy: str,
    shapes: Sequence[Sequence[int]],
    dtype: str,
    result: str,
    args: Sequence[Any] = (),
    low: float = 1,
    high: float = 9,
) -> None:
    """With out= the result is written into the given tensor, which is returned."""
    arrays = [trial.random(*shape, dtype=dtype, seed=seed, low=low, high=high) for seed, shape in enumerate(shapes)]
    expected = np.asarray(references.find("numpy", numpy)(*map(widened, arrays), *args))
    out = trial.tensor(np.full(expected.shape, 3), result)
    returned = trial.call(*map(trial.tensor, arrays), *args, out=out)
    trial.check(returned is out, "the returned tensor is not the one given as out=")
    trial.close(out, expected, dtype=result)


def cat_into(trial: Trial, dtype: str) -> None:
    """With out= the result is written into the given tensor, which is returned."""
    first, second = trial.random(2, 3, dtype=dtype, seed=1), trial.random(2, 4, dtype=dtype, seed=2)
    out = trial.tensor(np.zeros((2, 7)), dtype)
    returned = trial.call([trial.tensor(first), trial.tensor(second)], 1, out=out)
    trial.check(returned is out, "the returned tensor is not the one given as out=")
    trial.close(out, np.concatenate([first, second], axis=1), dtype=dtype)


def zeros_into(trial: Trial, shape: Sequence[int], dtype: str) -> None:
    """With out= the given tensor is filled with zeros and returned."""
    out = trial.tensor(trial.random(*shape, dtype=dtype, low=1, high=9), dtype)
    returned = trial.call(shape, out=out)
    trial.check(returned is out, "the returned tensor is not the one given as out=")
    trial.close(out, np.zeros(shape), dtype=dtype)


def range_into(trial: Trial, dtype: str) -> None:
    """With out= the given tensor is resized if necessary, filled with the values and returned."""
    out = trial.tensor(np.array([9, 9]), dtype)
    returned = trial.call(2, 14, 3, out=out)
    trial.check(returned is out, "the returned tensor is not the one given as out=")
    trial.close(out, [2, 5, 8, 11, 14], dtype=dtype)


def randperm_into(trial: Trial, length: int, dtype: str) -> None:
    """With out= the given tensor holds the order that the same generator gives without out=, and is returned."""
    generator = torch.Generator(device=trial.device)
    out = trial.tensor(np.full(length, 7), dtype)
    returned = trial.call(length, generator=generator.manual_seed(4), out=out)
    trial.check(returned is out, "the returned tensor is not the one given as out=")
    check_permutation(trial, out, length, dtype)
    plain = trial.make(length, generator=generator.manual_seed(4), dtype=trial.dtype(dtype), device=trial.device)
    trial.close(plain, trial.numpy(out), dtype=dtype)

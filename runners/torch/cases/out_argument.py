"""The argument ``out``: the result is written into the given tensor, and that tensor is returned."""

from __future__ import annotations

import warnings
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
    layout: str = "contiguous",
) -> None:
    """With out= the result is written into the given tensor, which is returned."""
    arrays = [trial.random(*shape, dtype=dtype, seed=seed, low=low, high=high) for seed, shape in enumerate(shapes)]
    expected = np.asarray(references.find("numpy", numpy)(*map(widened, arrays), *args))
    out = trial.tensor(np.full(expected.shape, 3), result, layout)
    strides = out.stride()
    returned = trial.call(*map(trial.tensor, arrays), *args, out=out)
    trial.check(returned is out, "the returned tensor is not the one given as out=")
    trial.close(out, expected, dtype=result)
    trial.equal(out.stride(), strides)


def reused(
    trial: Trial,
    numpy: str,
    shapes: Sequence[Sequence[int]],
    dtype: str,
    result: str,
    wider: str | None,
    args: Sequence[Any] = (),
    in_place: bool = True,
    layout: str = "contiguous",
) -> None:
    """An empty out= is resized, and one of a ``wider`` dtype gets converted values. The first input can be the output
    (``in_place``), also if it is every second part of a larger tensor, whose other parts stay."""
    arrays = [trial.random(*shape, dtype=dtype, seed=seed, low=1, high=9) for seed, shape in enumerate(shapes)]
    expected = np.asarray(references.find("numpy", numpy)(*map(widened, arrays), *args))
    tensors = [trial.tensor(array, dtype, layout) for array in arrays]
    trial.writes, trial.repeatable = True, False
    for kind, shape in ((result, (0,)), (wider, (0,)), (wider, expected.shape)):
        if kind is None:
            continue
        out = trial.tensor(np.full(shape, 3), kind)
        trial.check(trial.call(*tensors, *args, out=out) is out, "the returned tensor is not the one given as out=")
        known = expected.astype("float64") if "float" in kind else expected
        trial.close(out, known, dtype=kind, **({"rtol": 1.3e-6, "atol": 1e-5} if dtype == "float32" else {}))
    if in_place:
        whole = torch.stack([tensors[0], tensors[0] * 0 + 7], 1)
        out = whole[:, 0]
        trial.call(out, *tensors[1:], *args, out=out)
        trial.close(out, expected, dtype=result)
        trial.exact(whole[:, 1], np.full(arrays[0].shape, 7), dtype)


def resized(
    trial: Trial, numpy: str, shapes: Sequence[Sequence[int]], over: Sequence[Sequence[int]], args: Sequence[Any] = ()
) -> None:
    """An out= of any size and number of axes is resized, and holds nothing of what was in it."""
    arrays = [trial.random(*shape, seed=seed, low=1, high=9) for seed, shape in enumerate(shapes)]
    expected = np.asarray(references.find("numpy", numpy)(*arrays, *args))
    trial.repeatable = False
    for shape in (*over, expected.shape):
        out = trial.tensor(np.full(shape, 7.0, "float32"))
        with warnings.catch_warnings():
            # PyTorch warns that an output with elements was resized.
            warnings.simplefilter("ignore")
            returned = trial.call(*map(trial.tensor, arrays), *args, out=out)
        trial.check(returned is out, "the returned tensor is not the one given as out=")
        trial.exact(out, expected, "float32")


def cat_into(trial: Trial, dtype: str, layout: str = "contiguous", result: str | None = None) -> None:
    """With out= the result is written into the given tensor, in its memory order and dtype, and it is returned."""
    arrays = [trial.random(2, length, dtype=dtype, seed=length) for length in (3, 1, 4)]
    out = trial.tensor(np.full((2, 8), 9), result or dtype, layout)
    strides = out.stride()
    returned = trial.call(list(map(trial.tensor, arrays)), -1, out=out)
    trial.check(returned is out, "the returned tensor is not the one given as out=")
    trial.exact(out, np.concatenate(arrays, axis=1), result or dtype)
    trial.equal(out.stride(), strides)


def zeros_into(trial: Trial, shape: Sequence[int], dtype: str, layout: str = "contiguous") -> None:
    """With out= the given tensor is filled with zeros, whatever was in it, and returned."""
    values = trial.random(*shape, dtype=dtype, low=1, high=9, special="nonfinite" if "float" in dtype else None)
    out = trial.tensor(values, dtype, layout)
    strides = out.stride()
    returned = trial.call(shape, out=out)
    trial.check(returned is out, "the returned tensor is not the one given as out=")
    trial.exact(out, np.zeros(shape), dtype)
    trial.equal(out.stride(), strides)


def range_into(trial: Trial, dtype: str) -> None:
    """With out= the given tensor is resized if necessary, filled with the values and returned."""
    out = trial.tensor(np.array([9, 9]), dtype)
    returned = trial.call(2, 14, 3, out=out)
    trial.check(returned is out, "the returned tensor is not the one given as out=")
    trial.close(out, [2, 5, 8, 11, 14], dtype=dtype)


def randperm_resized(trial: Trial, length: int) -> None:
    """An out= of any other size is resized, and holds a permutation."""
    trial.repeatable = False
    for size in (0, length - 1, length, length + 40):
        out = trial.tensor(np.full(size, 7), "int64")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            returned = trial.call(length, out=out)
        trial.check(returned is out, "the returned tensor is not the one given as out=")
        check_permutation(trial, out, length, "int64")


def randperm_into(trial: Trial, length: int, dtype: str) -> None:
    """With out= the given tensor holds the order that the same generator gives without out=, and is returned."""
    generator = torch.Generator(device=trial.device)
    out = trial.tensor(np.full(length, 7), dtype)
    returned = trial.call(length, generator=generator.manual_seed(4), out=out)
    trial.check(returned is out, "the returned tensor is not the one given as out=")
    check_permutation(trial, out, length, dtype)
    plain = trial.make(length, generator=generator.manual_seed(4), dtype=trial.dtype(dtype), device=trial.device)
    trial.close(plain, trial.numpy(out), dtype=dtype)

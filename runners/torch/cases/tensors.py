"""Joining, copying and converting tensors, where a ``call`` test is not enough."""

from __future__ import annotations

from typing import Sequence

import numpy as np
import torch

from runners.core.testing.trial import Trial


def cat_gradients(trial: Trial, lengths: Sequence[int], dtype: str) -> None:
    """Each part of a concatenation gets exactly its part of the gradient."""
    parts = [
        trial.tensor(trial.random(length, 3, dtype=dtype, seed=seed)).requires_grad_()
        for seed, length in enumerate(lengths)
    ]
    weights = trial.random(sum(lengths), 3, dtype=dtype, seed=99)
    joined = trial.call(parts, dim=0)
    (joined * trial.tensor(weights)).sum().backward()
    start = 0
    for part in parts:
        stop = start + part.shape[0]
        trial.close(joined[start:stop], trial.numpy(part), dtype=dtype)
        trial.close(part.grad, weights[start:stop], dtype=dtype)
        start = stop


def to_device_from_host(trial: Trial, dtype: str, target: str, non_blocking: bool) -> None:
    """A host tensor arrives on the device with its values, converted to the dtype."""
    values = trial.random(16, 8, dtype=dtype, seed=3)
    moved = trial.call(torch.from_numpy(values), trial.device, trial.dtype(target), non_blocking=non_blocking)
    trial.check(moved.device.type == trial.device.type, f"expected {trial.device}, got {moved.device}")
    trial.close(moved, values, dtype=target)


def to_same(trial: Trial) -> None:
    """If nothing needs conversion, the tensor itself is returned, not a copy."""
    tensor = trial.tensor(trial.random(4, 4))
    trial.check(trial.call(tensor, torch.float32) is tensor, "a tensor of the requested dtype was copied")


def to_copy(trial: Trial, dtype: str) -> None:
    """With copy=True the values are in new memory: changing the copy does not change the original."""
    values = trial.random(4, 4, dtype=dtype, low=1, high=9)
    tensor = trial.tensor(values)
    copy = trial.call(tensor, trial.dtype(dtype), copy=True)
    trial.close(copy, values, dtype=dtype)
    copy.zero_()
    trial.close(tensor, values, dtype=dtype)


def to_like(trial: Trial, dtype: str, target: str) -> None:
    """Given another tensor, the result has its dtype and device, and keeps its own shape and values."""
    values = trial.random(3, 5, dtype=dtype, seed=4)
    other = trial.tensor(np.ones(2), target)
    moved = trial.call(trial.tensor(values), other)
    trial.check(moved.device == other.device, f"expected {other.device}, got {moved.device}")
    trial.close(moved, values, dtype=target)


def to_channels_last(trial: Trial, target: str) -> None:
    """A memory format changes the strides but neither shape nor values."""
    values = trial.random(2, 3, 4, 5)
    moved = trial.call(trial.tensor(values), dtype=trial.dtype(target), memory_format=torch.channels_last)
    trial.check(moved.stride() == (60, 1, 15, 3), f"expected strides of channels last, got {moved.stride()}")
    trial.close(moved, values, dtype=target)


def to_gradient(trial: Trial, dtype: str, target: str) -> None:
    """A gradient passes back through the conversion, in the input's dtype."""
    weights = trial.random(6, dtype=target, seed=5)
    tensor = trial.tensor(trial.random(6, dtype=dtype)).requires_grad_()
    converted = trial.call(tensor, trial.dtype(target))
    (converted * trial.tensor(weights)).sum().backward()
    trial.close(converted, trial.numpy(tensor), dtype=target)
    trial.close(tensor.grad, weights, dtype=dtype)

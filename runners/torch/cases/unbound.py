"""Slices of a tensor that torch.unbind returns: large ones, and writes to them."""

from __future__ import annotations

from typing import Sequence

import torch

from runners.core.testing.trial import Trial


def large(trial: Trial, shape: Sequence[int]) -> None:
    """Each slice of a large tensor is whole, along every axis."""
    values = trial.random(*shape, seed=1)
    tensor = trial.tensor(values)
    for axis in range(len(shape)):
        slices = trial.call(tensor, axis)
        trial.equal(len(slices), shape[axis])
        trial.exact(torch.stack(slices, axis), values, "float32")


def writes_are_counted(trial: Trial, shape: Sequence[int]) -> None:
    """A write to a slice counts as one to the tensor and its other slices: what was computed with them before cannot be
    differentiated anymore."""
    whole = trial.tensor(trial.random(*shape, seed=1))
    trial.writes, trial.repeatable = True, False
    slices = trial.call(whole)
    for written, used in ((slices[0], whole), (slices[0], slices[1]), (whole, slices[-1])):
        other = torch.ones_like(used).requires_grad_()
        product = (other * used).sum()
        version = used._version
        written.add_(1)
        trial.check(used._version > version, "the write was not counted")
        try:
            product.backward()
        except RuntimeError as error:
            trial.check("modified" in str(error), f"expected an error about a modified tensor, got: {error}")
        else:
            raise AssertionError("the gradient was computed with values that are gone")

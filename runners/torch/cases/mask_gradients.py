"""Gradients through the mask of dropout where the values say nothing about the mask."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial


def through_zeros(trial: Trial, shape: Sequence[int], p: float, made: Sequence[Any] | None = None) -> None:
    """The gradient of a zero is that of any other element: about the share p is dropped and the others are scaled by
    one over 1 - p. ``made``: the function is a class, whose instance is made of these arguments."""
    x = trial.tensor(np.zeros(shape, "float32")).requires_grad_()
    down = trial.random(*shape, seed=7, low=1, high=2)
    output = trial.call(x, p) if made is None else trial.call_method(trial.make(*made), "__call__", x)
    (output * trial.tensor(down)).sum().backward()
    trial.exact(output, np.zeros(shape), "float32")
    kept = trial.numpy(x.grad) != 0
    trial.close(x.grad, np.where(kept, widened(down) / (1 - p), 0), dtype="float32")
    share, allowed = float(np.mean(~kept)), 5 * (p * (1 - p) / (shape[0] * shape[1])) ** 0.5
    trial.check(abs(share - p) <= allowed, f"{share:.3f} of the gradients are zero, expected {p} +- {allowed:.3f}")

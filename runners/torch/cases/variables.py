"""torch.autograd.Variable, the older name for a tensor that can require gradients."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
import torch

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial


def variable_of(
    trial: Trial,
    shape: Sequence[int],
    dtype: str,
    layout: str = "contiguous",
    requires_grad: Any = None,
    special: str | None = None,
) -> None:
    """The variable is another tensor with the same values, dtype and device: a leaf that requires gradients if
    requested."""
    tensor = trial.tensor(trial.random(*shape, dtype=dtype, seed=1, special=special), dtype, layout)
    host = trial.numpy(tensor)
    made = trial.call(tensor) if requires_grad is None else trial.call(tensor, requires_grad)
    _check_leaf(trial, made, tensor, bool(requires_grad))
    trial.check(not tensor.requires_grad, "the tensor requires a gradient, not only the variable")
    trial.exact(made, host, dtype)


def variable_by_keywords(trial: Trial, requires_grad: bool, dtype: str) -> None:
    """The tensor and requires_grad can be given by keyword."""
    host = trial.random(3, 4, dtype=dtype, seed=2)
    tensor = trial.tensor(host)
    made = trial.call(data=tensor, requires_grad=requires_grad)
    _check_leaf(trial, made, tensor, requires_grad)
    trial.check(not tensor.requires_grad, "the tensor requires a gradient, not only the variable")
    trial.exact(made, host, dtype)


def variable_gradient(trial: Trial, dtype: str) -> None:
    """The gradient arrives at the variable and not at the original tensor."""
    host, weights = trial.random(4, 5, dtype=dtype, seed=3), trial.random(4, 5, dtype=dtype, seed=4)
    tensor = trial.tensor(host, dtype)
    made = trial.call(tensor, requires_grad=True)
    loss = (made * made * trial.tensor(weights, dtype)).sum()
    (loss.real if loss.is_complex() else loss).backward()
    trial.exact(made, trial.numpy(tensor), dtype)
    # PyTorch gives the conjugate of the derivative for a complex number.
    slope = np.conj(2 * widened(trial.numpy(tensor)) * widened(trial.numpy(trial.tensor(weights, dtype))))
    trial.close(made.grad, slope, dtype=dtype)
    trial.check(tensor.grad is None, "the tensor got the gradient of the variable")


def variable_detaches(trial: Trial, requires_grad: bool) -> None:
    """A variable made of a computed tensor keeps the values but not the history."""
    host = trial.random(6, seed=5)
    earlier = trial.tensor(host).requires_grad_()
    # Not even that of a leaf, which requires a gradient itself.
    _check_leaf(trial, trial.call(earlier), earlier, False)
    made = trial.call(earlier * 3, requires_grad=requires_grad)
    _check_leaf(trial, made, earlier, requires_grad)
    trial.close(made, 3 * widened(host), dtype="float32")
    if requires_grad:
        (made**2).sum().backward()
        trial.close(made.grad, 6 * widened(host), dtype="float32")
    trial.check(earlier.grad is None, "a gradient passed through the variable into the history")


def variable_shares_memory(trial: Trial, dtype: str) -> None:
    """Variable and tensor share their memory: a write to one is visible in the other."""
    host = trial.random(3, 5, dtype=dtype, seed=6, low=1, high=9)
    tensor = trial.tensor(host)
    made = trial.call(tensor)
    trial.exact(made, host, dtype)
    made[1] = 50
    host[1] = 50
    trial.exact(tensor, host, dtype)
    tensor[2, ::2] = 60
    host[2, ::2] = 60
    trial.exact(made, host, dtype)


def variable_training(trial: Trial, steps: int, dtype: str) -> None:
    """Inputs, targets and weights wrapped as in code from before 2018 train a linear model by the rule."""
    x, solution = trial.random(32, 3, dtype=dtype, seed=7), np.array([[1.0], [-2.0], [0.5]])
    y, w = (x @ solution).astype(x.dtype), np.zeros((3, 1), x.dtype)
    inputs, targets = trial.call(trial.tensor(x)), trial.call(trial.tensor(y), requires_grad=False)
    weights = trial.call(trial.tensor(w), requires_grad=True)
    trial.equal([inputs.requires_grad, targets.requires_grad, weights.requires_grad], [False, False, True])
    x, y, w = map(widened, (x, y, w))
    for _ in range(steps):
        loss = ((inputs.mm(weights) - targets) ** 2).mean()
        trial.close(loss, ((x @ w - y) ** 2).mean(), dtype=dtype)
        loss.backward()
        weights.data.sub_(0.3 * weights.grad.data)
        weights.grad.data.zero_()
        w = w - 0.3 * 2 * x.T @ (x @ w - y) / len(x)
    trial.close(weights, w, dtype=dtype)
    trial.check(inputs.grad is None and targets.grad is None, "a variable that does not require a gradient has one")


def _check_leaf(trial: Trial, made: Any, tensor: Any, requires_grad: bool) -> None:
    trial.check(isinstance(made, torch.Tensor), f"expected a tensor, got {type(made).__name__}")
    trial.check(isinstance(made, trial.function), "the variable is not an instance of the class")
    trial.check(made is not tensor, "the tensor itself was returned")
    trial.check(made.device == tensor.device, f"expected {tensor.device}, got {made.device}")
    trial.equal([made.requires_grad, made.is_leaf], [requires_grad, True])
    trial.check(made.grad is None and made.grad_fn is None, "a new variable has a gradient or a history")

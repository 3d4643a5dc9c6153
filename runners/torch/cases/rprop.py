"""torch.optim.Rprop, compared with the update rule in NumPy."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
import torch

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.torch.cases.optim import check_closure, check_least_squares, check_resumed

_LOW_PRECISION = {"bfloat16": {"rtol": 1.6e-2, "atol": 1e-2}}
"""The tolerance of steps that are rounded to bfloat16 several times."""


class _Rprop:
    """Riedmiller and Braun (1993) as PyTorch documents it: after a change of sign the step size shrinks and no step is
    made."""

    def __init__(
        self, values: Any, lr: float = 1e-2, etas: Any = (0.5, 1.2), step_sizes: Any = (1e-6, 50), foreach: Any = None
    ) -> None:
        self.values = widened(values)
        self.sizes, self.before = np.full_like(self.values, lr), np.zeros_like(self.values)
        self.etas, self.bounds = etas, step_sizes

    def step(self, gradient: Any) -> Any:
        gradient = widened(gradient)
        turn = np.sign(gradient) * np.sign(self.before)
        factors = np.select([turn > 0, turn < 0], [self.etas[1], self.etas[0]], 1.0)
        self.sizes = np.clip(self.sizes * factors, *self.bounds)
        self.before = np.where(turn < 0, 0, gradient)
        self.values = self.values - self.sizes * np.sign(self.before)
        return self.values


def _gradients(trial: Trial, steps: int, *shape: int, dtype: str, seed: int) -> Any:
    """Return gradients that keep their sign, change it once, change it always, or are sometimes zero."""
    gradients = np.abs(trial.random(steps, *shape, dtype=dtype, seed=seed)) + np.asarray(0.1, "float32")
    count = int(np.prod(shape))
    signs = np.ones((steps, count), "float32")
    numbers = np.arange(count) + seed
    signs[:, numbers % 5 == 1] *= -1
    signs[steps // 2 :, numbers % 5 == 2] *= -1
    signs[1::2, numbers % 5 == 3] *= -1
    signs[1::3, numbers % 5 == 4] = 0
    return (gradients * signs.reshape(gradients.shape)).astype(gradients.dtype)


def rprop_steps(trial: Trial, steps: int, dtype: str = "float32", layout: str = "contiguous", **options: Any) -> None:
    """After each step with given gradients the parameters match the update rule, and the gradients are unchanged."""
    host = [trial.random(5, 3, dtype=dtype, seed=1), trial.random(4, dtype=dtype, seed=2)]
    parameters = [trial.tensor(values, dtype, layout).requires_grad_() for values in host]
    rules = [_Rprop(trial.numpy(parameter), **options) for parameter in parameters]
    gradients = [_gradients(trial, steps, *values.shape, dtype=dtype, seed=seed) for seed, values in enumerate(host, 3)]
    optimizer = trial.make(parameters, **options)
    for step in range(steps):
        for parameter, given in zip(parameters, gradients):
            parameter.grad = trial.tensor(given[step], dtype)
        # Only the last step gets a steady time.
        trial.repeatable = step == steps - 1
        trial.check(trial.call_method(optimizer, "step") is None, "expected None to be returned")
        for parameter, rule, given in zip(parameters, rules, gradients):
            rule.step(given[step])
            trial.close(parameter, rule.values, dtype=dtype, **_LOW_PRECISION.get(dtype, {}))
            trial.close(parameter.grad, given[step], dtype=dtype)


def rprop_signs(trial: Trial, dtype: str) -> None:
    """Only the signs of the gradients matter, not their sizes."""
    host = trial.random(4, dtype=dtype, seed=5)
    parameter = trial.tensor(host).requires_grad_()
    optimizer = trial.make([parameter], lr=0.1)
    trial.repeatable = False
    for gradient in ([1e-6, -1e3, 2.0, 0.0], [1e3, -1e-6, -5.0, 0.0], [-1.0, 1.0, -1e-3, 7.0]):
        parameter.grad = trial.tensor(np.array(gradient, dtype))
        trial.check(trial.call_method(optimizer, "step") is None, "expected None to be returned")
    # First element: steps of 0.1 and 0.12, none after the change of sign. Second: the same, reversed. Third: 0.1, none,
    # 0.05 back. Fourth: one step of 0.1.
    moves = np.array([-0.22, 0.22, -0.05, -0.1])
    trial.close(parameter, widened(host) + moves, dtype=dtype)


def rprop_bounds(trial: Trial, step_sizes: Sequence[float]) -> None:
    """Step sizes stay between the smallest and the largest allowed size."""
    host = trial.random(2, dtype="float64", seed=6)
    parameter, smallest, largest = trial.tensor(host).requires_grad_(), *step_sizes
    optimizer = trial.make([parameter], lr=1.0, etas=(0.25, 3.0), step_sizes=(smallest, largest))
    trial.repeatable = False
    moves = []
    for step in range(8):
        before = trial.numpy(parameter.detach().clone())
        # The first gradient keeps its sign, the second changes it at every other step; a step after a change counts as
        # a first step.
        parameter.grad = trial.tensor(np.array([1.0, (1, -1, -1, 1)[step % 4]]))
        trial.check(trial.call_method(optimizer, "step") is None, "expected None to be returned")
        moves.append(np.abs(trial.numpy(parameter) - before))
    growing = [min(3.0**step, largest) for step in range(8)]
    shrinking = [max(0.25 ** ((step + 1) // 2), smallest) * (step % 2 == 0) for step in range(8)]
    trial.close(np.array(moves), np.array([growing, shrinking]).T)


def rprop_lowers_loss(trial: Trial, steps: int, dtype: str) -> None:
    """On a least-squares problem the loss falls below a hundredth, and the weights approach the solution."""
    check_least_squares(trial, steps, dtype, lr=0.1, loss_ratio=0.01, distance=0.3)


def rprop_large(trial: Trial, size: int) -> None:
    """In a large parameter each number follows its own signs."""
    host = trial.random(size, seed=7)
    parameter, rule = trial.tensor(host).requires_grad_(), _Rprop(host, lr=0.1)
    gradients = _gradients(trial, 3, size, dtype="float32", seed=8)
    optimizer = trial.make([parameter], lr=0.1)
    for step, gradient in enumerate(gradients):
        parameter.grad = trial.tensor(gradient)
        trial.repeatable = step == 2
        trial.check(trial.call_method(optimizer, "step") is None, "expected None to be returned")
        rule.step(gradient)
    trial.close(parameter, rule.values, dtype="float32")


def rprop_groups(trial: Trial) -> None:
    """Groups follow their own options; a parameter without a gradient stays unchanged and gets no state."""
    host = [trial.random(3, seed=seed) for seed in (1, 2, 3)]
    first, second, idle = (trial.tensor(values).requires_grad_() for values in host)
    optimizer = trial.make([{"params": [first], "lr": 0.5, "etas": (0.25, 2.0)}, {"params": [second, idle]}], lr=0.01)
    rules = [_Rprop(host[0], lr=0.5, etas=(0.25, 2.0)), _Rprop(host[1], lr=0.01)]
    trial.repeatable = False
    for gradient in ([1.0, -2.0, 0.5], [3.0, 1.0, 0.0], [1.0, 1.0, -1.0]):
        for parameter, rule in zip((first, second), rules):
            parameter.grad = trial.tensor(np.array(gradient, "float32"))
            rule.step(np.array(gradient))
        trial.check(trial.call_method(optimizer, "step") is None, "expected None to be returned")
    trial.close(first, rules[0].values, dtype="float32")
    trial.close(second, rules[1].values, dtype="float32")
    trial.exact(idle, host[2], "float32")
    trial.check(idle not in optimizer.state, "a parameter without a gradient has a state")


def rprop_closure(trial: Trial) -> None:
    """A step with a closure computes the gradient by calling it and returns its loss."""
    check_closure(trial, _Rprop)


def rprop_resumed(trial: Trial) -> None:
    """An optimizer that loads the state of another one continues in the same way."""
    check_resumed(trial, _Rprop)


def rprop_options(trial: Trial) -> None:
    """A new optimizer has the documented options, holds the given parameters and has not changed them."""
    host = trial.random(3)
    parameter = trial.tensor(host).requires_grad_()
    optimizer = trial.call([parameter], step_sizes=(1e-3, 5))
    (group,) = optimizer.param_groups
    trial.equal([group["lr"], *group["etas"], *group["step_sizes"]], [1e-2, 0.5, 1.2, 1e-3, 5])
    trial.check(isinstance(optimizer, torch.optim.Optimizer), "not an Optimizer")
    trial.check(len(group["params"]) == 1 and group["params"][0] is parameter, "the parameter is not in its group")
    trial.exact(parameter, host, "float32")

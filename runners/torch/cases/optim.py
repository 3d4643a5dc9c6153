"""torch.optim.Adamax, compared with the update rule in NumPy; checks that all optimizers share."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import torch

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial

_LOW_PRECISION = {"bfloat16": {"rtol": 1.6e-2, "atol": 1e-2}}


class _Adamax:
    """Kingma and Ba, Adam (2015), section 7.1, with the infinity norm kept above eps as PyTorch documents it."""

    def __init__(
        self,
        values: Any,
        lr: float = 2e-3,
        betas: Any = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        maximize: bool = False,
        foreach: Any = None,
    ) -> None:
        self.values = widened(values)
        self.moment, self.norm, self.steps = np.zeros_like(self.values), np.zeros_like(self.values), 0
        self.lr, self.betas, self.eps, self.decay, self.sign = lr, betas, eps, weight_decay, -1 if maximize else 1

    def step(self, gradient: Any) -> Any:
        gradient = self.sign * widened(gradient) + (self.decay * self.values if self.decay else 0)
        first, second = self.betas
        self.steps += 1
        self.moment = first * self.moment + (1 - first) * gradient
        self.norm = np.maximum(second * self.norm, np.abs(gradient) + self.eps)
        self.values = self.values - self.lr / (1 - first**self.steps) * self.moment / self.norm
        return self.values


def adamax_steps(
    trial: Trial,
    steps: int,
    dtype: str = "float32",
    layout: str = "contiguous",
    shape: Sequence[int] = (5, 3),
    **options: Any,
) -> None:
    """After each step with given gradients the parameters match the update rule, and the gradients are unchanged."""
    host = [trial.random(*shape, dtype=dtype, seed=1), trial.random(4, dtype=dtype, seed=2)]
    parameters = [trial.tensor(values, dtype, layout).requires_grad_() for values in host]
    rules = [_Adamax(trial.numpy(parameter), **options) for parameter in parameters]
    optimizer = trial.make(parameters, **options)
    for step in range(steps):
        given = []
        for number, (parameter, rule) in enumerate(zip(parameters, rules)):
            parameter.grad = trial.tensor(trial.random(*parameter.shape, dtype=dtype, seed=10 * step + number), dtype)
            given.append(trial.numpy(parameter.grad).copy())
            rule.step(given[-1])
        # Only the last step gets a steady time.
        trial.repeatable = step == steps - 1
        trial.call_method(optimizer, "step")
        for parameter, rule, gradient in zip(parameters, rules, given):
            trial.close(parameter, rule.values, dtype=dtype, **_LOW_PRECISION.get(dtype, {}))
            trial.exact(parameter.grad, gradient, dtype)


def adamax_lowers_loss(trial: Trial, steps: int, dtype: str) -> None:
    """On a least-squares problem the loss falls below a tenth, and the weights approach the solution."""
    check_least_squares(trial, steps, dtype, lr=0.2, loss_ratio=0.1, distance=1.5)


def adamax_groups(trial: Trial) -> None:
    """Groups follow their own options; a parameter without a gradient stays unchanged and gets no state."""
    host = [trial.random(3, seed=seed) for seed in (1, 2, 3)]
    first, second, idle = (trial.tensor(values).requires_grad_() for values in host)
    optimizer = trial.make([{"params": [first], "lr": 0.5, "betas": (0.5, 0.9)}, {"params": [second, idle]}], lr=0.01)
    for parameter in (first, second):
        parameter.grad = trial.tensor(np.array([1.0, -2.0, 0.5], "float32"))
    trial.call_method(optimizer, "step")
    gradient = np.array([1.0, -2.0, 0.5])
    trial.close(first, _Adamax(host[0], lr=0.5, betas=(0.5, 0.9)).step(gradient), dtype="float32")
    trial.close(second, _Adamax(host[1], lr=0.01).step(gradient), dtype="float32")
    trial.close(idle, host[2], dtype="float32")
    trial.check(idle not in optimizer.state, "a parameter without a gradient has a state")


def adamax_closure(trial: Trial) -> None:
    """A step with a closure computes the gradient by calling it and returns its loss."""
    check_closure(trial, _Adamax)


def adamax_resumed(trial: Trial) -> None:
    """An optimizer that loads the state of another one continues in the same way."""
    check_resumed(trial, _Adamax)


def check_least_squares(trial: Trial, steps: int, dtype: str, lr: float, loss_ratio: float, distance: float) -> None:
    """Fit four weights to 64 rows in ``steps`` timed steps from zeros.

    The last loss must be below ``loss_ratio`` times the first one, and no weight further than ``distance`` from the
    solution.
    """
    x, solution = trial.random(64, 4, dtype=dtype, seed=1), np.array([1.0, -2.0, 0.5, 3.0])
    inputs, targets = trial.tensor(x), trial.tensor((x @ solution).astype(x.dtype))
    weights = trial.tensor(np.zeros(4), dtype).requires_grad_()
    optimizer = trial.make([weights], lr=lr)
    trial.repeatable = False
    losses: list[float] = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = ((inputs @ weights - targets) ** 2).mean()
        loss.backward()
        trial.check(trial.call_method(optimizer, "step") is None, "step() returned a value, expected None")
        losses.append(float(trial.numpy(loss)))
    trial.check(losses[-1] < loss_ratio * losses[0], f"expected a last loss below {loss_ratio} of the first: {losses}")
    error = float(np.abs(trial.numpy(weights) - solution).max())
    trial.check(error < distance, f"the largest error of a weight is {error:.3g}, expected less than {distance}")


def check_closure(trial: Trial, rule: Callable[..., Any]) -> None:
    """Compare one step on the sum of fourth powers, with the loss given by a closure, with an update rule in NumPy."""
    host = trial.random(6, seed=4)
    parameter = trial.tensor(host).requires_grad_()
    optimizer = trial.make([parameter], lr=0.1)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (parameter**4).sum()
        loss.backward()
        return loss

    trial.repeatable = False
    returned = trial.call_method(optimizer, "step", closure)
    trial.close(returned, (widened(host) ** 4).sum(), dtype="float32")
    trial.close(parameter, rule(host, lr=0.1).step(4 * widened(host) ** 3), dtype="float32")


def check_resumed(trial: Trial, rule: Callable[..., Any]) -> None:
    """Compare three steps of one optimizer and a fourth of another that loads its state with an update rule in
    NumPy."""
    host, gradients = trial.random(6, seed=5), trial.random(4, 6, seed=6)
    followed = rule(host, lr=0.1)
    parameter = trial.tensor(host).requires_grad_()
    earlier = trial.make([parameter], lr=0.1)
    for gradient in gradients[:3]:
        parameter.grad = trial.tensor(gradient)
        earlier.step()
        followed.step(gradient)
    later = trial.make([parameter], lr=7.0)
    later.load_state_dict(earlier.state_dict())
    parameter.grad = trial.tensor(gradients[3])
    trial.check(trial.call_method(later, "step") is None, "expected None to be returned")
    trial.close(parameter, followed.step(gradients[3]), dtype="float32")


def adamax_options(trial: Trial) -> None:
    """A new optimizer has the documented options, holds the given parameters and has not changed them."""
    host = trial.random(3)
    parameter = trial.tensor(host).requires_grad_()
    optimizer = trial.call([parameter], weight_decay=0.5)
    (group,) = optimizer.param_groups
    expected: dict[str, Any] = {"lr": 2e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.5}
    trial.equal([group[name] for name in expected if name != "betas"], [2e-3, 1e-8, 0.5])
    trial.equal(list(group["betas"]), [0.9, 0.999])
    trial.check(isinstance(optimizer, torch.optim.Optimizer), "not an Optimizer")
    trial.check(len(group["params"]) == 1 and group["params"][0] is parameter, "the parameter is not in its group")
    trial.close(parameter, host, dtype="float32")

"""Learning rates that are tensors: optimizers follow their rules, and a schedule changes no rate that it has given."""

from __future__ import annotations

from typing import Any, Mapping

import numpy as np
import torch

from runners.core.testing.trial import Trial
from runners.torch.cases.optim_groups import RULES, follow


def steps(trial: Trial, rule: str, options: Mapping[str, Any] = {}, dtype: str = "float32") -> None:
    """An optimizer whose learning rate is a tensor follows its rule, and the tensor keeps its value."""
    host = trial.random(4, 5, dtype=dtype, seed=1)
    parameter, followed = trial.tensor(host).requires_grad_(), RULES[rule](host, lr=0.25, **options)
    rate = torch.tensor(0.25)
    optimizer = trial.make([parameter], lr=rate, **options)
    follow(trial, optimizer, parameter, followed, steps=4)
    trial.equal(rate.item(), 0.25)


def exponential(trial: Trial, gamma: float, steps: int) -> None:
    """After n steps a rate that is a tensor is its first value times gamma**n, and the first rates stay as they are."""
    optimizer = _optimizer(trial)
    scheduler = trial.make(optimizer, gamma)
    trial.repeatable = False
    for step in range(1, steps + 1):
        optimizer.step()
        trial.call_method(scheduler, "step")
        found = [float(optimizer.param_groups[0]["lr"]), float(scheduler.get_last_lr()[0])]
        trial.close(np.array(found), np.full(2, 0.5 * gamma**step), rtol=1e-12, atol=0)
        trial.equal([float(scheduler.base_lrs[0]), float(optimizer.param_groups[0]["initial_lr"])], [0.5, 0.5])


def exponential_returned(trial: Trial, gamma: float, steps: int) -> None:
    """Rates that are tensors stay as they are after they were returned: later steps do not change them."""
    optimizer = _optimizer(trial)
    scheduler = trial.make(optimizer, gamma)
    trial.repeatable = False
    returned = []
    for _ in range(steps):
        returned.append(trial.call_method(scheduler, "get_last_lr")[0])
        optimizer.step()
        scheduler.step()
    for step, rate in enumerate(returned):
        trial.close(rate, 0.5 * gamma**step, rtol=1e-12, atol=0, dtype="float64")


def _optimizer(trial: Trial) -> Any:
    parameter = torch.nn.Parameter(trial.tensor(trial.random(3)))
    parameter.grad = trial.tensor(trial.random(3, seed=1))
    return torch.optim.SGD([{"params": [parameter], "lr": torch.tensor(0.5, dtype=torch.float64)}], lr=1.0)

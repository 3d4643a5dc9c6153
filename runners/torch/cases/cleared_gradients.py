"""torch.nn.Module.zero_grad: every gradient of a tree of modules is cleared, and nothing else changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from runners.core.testing.trial import Trial


def of_a_tree(trial: Trial, set_to_none: bool | None, by_name: bool = False) -> None:
    """Parameters at any depth, of any number of axes, shared ones and frozen ones lose their gradients, also if these
    are NaN or have a history. With set_to_none=False they are filled with zeros in place, and one that is missing stays
    missing. Values, flags, modes and buffers are kept, and the result is None."""
    trial.repeatable, trial.writes = False, True
    for training in (True, False):
        net = _tree().to(trial.device).train(training)
        parameters = list(net.named_parameters())
        for number, (_, parameter) in enumerate(parameters):
            if number % 5 == 4:
                continue
            gradient = torch.full_like(parameter.detach(), (1.5, float("nan"), float("inf"), -2.0)[number % 4])
            if number % 3 == 0:
                gradient = gradient.requires_grad_() * 2
            parameter.grad = gradient
            parameter.requires_grad_(number % 4 != 3)
        before = [(each, each.grad, each.requires_grad, trial.numpy(each.detach()).copy()) for _, each in parameters]
        buffers = [trial.numpy(each).copy() for each in net.buffers()]
        named = {"set_to_none": set_to_none} if by_name and set_to_none is not None else {}
        returned = trial.call(net, *([] if set_to_none is None or by_name else [set_to_none]), **named)
        trial.check(returned is None, f"the result is {returned!r}")
        for (name, parameter), (_, gradient, wants, values) in zip(parameters, before):
            left = parameter.grad
            if set_to_none is True or gradient is None:
                trial.check(left is None, f"{name} has a gradient")
            elif set_to_none is False:
                trial.check(left is gradient, f"{name} has another gradient tensor or none")
            if left is not None:
                trial.equal([left.requires_grad, left.grad_fn is None], [False, True])
                trial.exact(left, np.zeros(tuple(parameter.shape)), "float32")
            trial.equal([parameter.requires_grad, parameter.is_leaf], [wants, True])
            trial.exact(parameter.detach(), values, "float32")
        trial.equal([trial.numpy(each) for each in net.buffers()], buffers)
        trial.equal([each.training for each in net.modules()], [training] * len(list(net.modules())))


def _tree() -> Any:
    inner = torch.nn.Module()
    inner.scale = torch.nn.Parameter(torch.tensor(2.0))
    inner.empty = torch.nn.Parameter(torch.zeros(0, 3))
    inner.norm = torch.nn.BatchNorm3d(2)
    for _ in range(3):
        outer = torch.nn.Module()
        outer.first = torch.nn.Linear(2, 3)
        outer.second, outer.again = inner, outer.first
        inner = outer
    return inner


def by_default(trial: Trial) -> None:
    """Without set_to_none, PyTorch 1 fills the gradients with zeros in place and PyTorch 2 sets them to None, for a
    module alone and within others, again and again."""
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Module(), torch.nn.BatchNorm1d(3)).to(trial.device)
    fills = torch.__version__.startswith("1.")
    trial.repeatable, trial.writes = False, True
    for module in (net, net[0], net, net[2], net):
        before = []
        for parameter in net.parameters():
            parameter.grad = torch.full_like(parameter, 2.5)
            before.append((parameter, parameter.grad))
        cleared = list(module.parameters())
        trial.check(trial.call(module) is None, "expected None to be returned")
        for parameter, gradient in before:
            own = any(parameter is each for each in cleared)
            expected = gradient if fills or not own else None
            trial.check(parameter.grad is expected, f"expected {expected!r}, got {parameter.grad!r}")
            trial.exact(gradient, np.full(tuple(parameter.shape), 0.0 if fills and own else 2.5), "float32")

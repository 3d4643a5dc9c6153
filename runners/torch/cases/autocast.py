"""Layers within torch.autocast, which computes them in a lower precision, and layers with replaced parameters."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
import torch

from runners.core.testing.inputs import on_device
from runners.core.testing.trial import Trial
from runners.torch.cases.layers import filled

_ROUNDED = {"rtol": 3e-2, "atol": 3e-2}
"""Inputs, weights and output have the 8 bits of bfloat16."""

_SUMS = {"rtol": 1e-4, "atol": 1e-4}
"""The device sums in another order than the host."""


def lowered(trial: Trial, made: Sequence[Any], args: Sequence[Any]) -> None:
    """The output has the lower dtype in the region, and not in a part of it that switches this off, or behind it.
    Parameters and their gradients keep their dtype."""
    module, (given, _) = trial.make(*on_device(trial, made, {})[0]).to(trial.device), on_device(trial, args, {})
    filled(trial, module, "float32")
    expected = trial.numpy(module(*given).detach())
    trial.repeatable = False
    kind = trial.device.type
    with torch.autocast(kind, dtype=torch.bfloat16):
        lower = trial.call_method(module, "__call__", *given)
        with torch.autocast(kind, enabled=False):
            plain = trial.call_method(module, "__call__", *given)
    outside = trial.call_method(module, "__call__", *given)
    trial.close(lower.detach(), expected, dtype="bfloat16", **_ROUNDED)
    for output in (plain, outside):
        trial.close(output.detach(), expected, dtype="float32")
    outside.sum().backward()
    slopes = [trial.numpy(parameter.grad).copy() for parameter in module.parameters()]
    module.zero_grad()
    lower.sum().backward()
    for parameter, slope in zip(module.parameters(), slopes):
        trial.equal(trial.dtype_name(parameter), "float32")
        trial.close(parameter.grad, slope, dtype="float32", rtol=3e-2, atol=3e-2 * max(1.0, float(abs(slope).max())))


def replaced(trial: Trial, made: Sequence[Any], args: Sequence[Any]) -> None:
    """A bias that is taken away after a call is not added any more. Another bias and weight, also of another dtype, are
    used from the next call on and get the gradients."""
    module, (given, _) = trial.make(*on_device(trial, made, {})[0]).to(trial.device), on_device(trial, args, {})
    filled(trial, module, "float32")
    trial.repeatable = False
    bias, weight = module.bias, module.weight
    added = trial.numpy(bias.detach()).reshape(-1, *[1] * (weight.ndim - 2))
    first = trial.numpy(module(*given).detach())
    module.bias = None
    trial.equal(list(module.state_dict()), ["weight"])
    alone = trial.call_method(module, "__call__", *given)
    trial.close(alone.detach(), first - added, dtype="float32", **_SUMS)
    module.bias = torch.nn.Parameter(2 * bias.detach())
    doubled = trial.call_method(module, "__call__", *given)
    trial.close(doubled.detach(), first + added, dtype="float32", **_SUMS)
    module.weight, module.bias = (torch.nn.Parameter(3 * each.detach().double()) for each in (weight, bias))
    output = trial.call_method(module, "__call__", *[each.double() for each in given])
    trial.close(output.detach(), 3 * first.astype("float64"), dtype="float64", **_SUMS)
    output.sum().backward()
    trial.equal([weight.grad is None, bias.grad is None], [True, True])
    trial.close(module.bias.grad, np.full(bias.shape, first.size / bias.numel()), dtype="float64")

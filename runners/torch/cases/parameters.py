"""torch.nn.Module.register_parameter: errors, deletion and copies."""

from __future__ import annotations

import copy

import torch

from runners.core.testing.trial import Trial


class _Unfinished(torch.nn.Module):
    """A module that has not called the constructor of its class."""

    def __init__(self) -> None:
        pass


def register_parameter_refuses(trial: Trial) -> None:
    """A parameter with a history, a module before its constructor, and a name of a buffer or child raise an error."""
    values = trial.tensor(trial.random(3, seed=1))
    computed = torch.nn.Parameter(values.clone(), requires_grad=False)
    computed.mul_(values.clone().requires_grad_())
    module = torch.nn.Module()
    module.register_buffer("kept", values)
    module.add_module("child", torch.nn.Module())
    trial.raises(["ValueError"], "non-leaf", module, "scale", computed)
    parameter = torch.nn.Parameter(values)
    trial.raises(["AttributeError"], "__init__", _Unfinished(), "scale", parameter)
    for name in ("kept", "child"):
        trial.raises(["KeyError"], "already exists", module, name, parameter)
    trial.equal(len(list(module.parameters())), 0)


def register_parameter_deleted(trial: Trial, dtype: str) -> None:
    """A copy of the module has a parameter of its own with the same values, and keeps it when the first is deleted."""
    host = trial.random(3, 4, dtype=dtype, seed=1)
    module, parameter = torch.nn.Module(), torch.nn.Parameter(trial.tensor(host, dtype))
    host = trial.numpy(parameter).copy()
    trial.repeatable = False
    trial.check(trial.call(module, "scale", parameter) is None, "expected None to be returned")
    other = copy.deepcopy(module)
    with torch.no_grad():
        parameter.zero_()
    del module.scale
    trial.equal([len(list(module.parameters())), len(module.state_dict()), hasattr(module, "scale")], [0, 0, False])
    trial.check(isinstance(other.scale, torch.nn.Parameter), "the copy has no parameter")
    trial.exact(other.state_dict()["scale"], host, dtype)

"""torch.nn.Sequential as a list of modules, some of which occur twice, compared with a list of Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from runners.core.testing.trial import Trial


def like_a_list(trial: Trial) -> None:
    """Length, iteration, indices and slices of any bounds and step give the very modules that a list gives."""
    for count in (0, 1, 2, 6):
        known = _modules()[:count]
        net = trial.make(*known)
        _same(trial, net, known)
        for index in range(-count, count):
            trial.check(net[index] is known[index], f"index {index} of {count} modules gives another one")
        bounds = (None, *range(-count - 1, count + 2))
        for begin in bounds:
            for end in bounds:
                for step in (None, 1, 2, 3):
                    _same(trial, net[begin:end:step], known[begin:end:step])
    x = trial.tensor(trial.random(3, 4))
    net = trial.make(torch.nn.Identity(), *[torch.nn.Tanh()] * 3)
    trial.close(trial.call_method(net, "__call__", x), trial.numpy(x.tanh().tanh().tanh()), dtype="float32")


def edited_like_a_list(trial: Trial) -> None:
    """Modules are replaced and deleted, by an index from either end and by a slice, as in a list."""
    count = 6
    for index in range(-count, count):
        known, other = _modules(), torch.nn.Softplus()
        net = trial.make(*known)
        net[index] = known[index] = other
        _same(trial, net, known)
        del net[index], known[index]
        _same(trial, net, known)
    for begin in (None, 0, 1, 3, -2, -5):
        for end in (None, 0, 2, 5, -1, 9):
            for step in (None, 2, 3):
                known = _modules()
                net = trial.make(*known)
                del net[begin:end:step], known[begin:end:step]
                _same(trial, net, known)
    x = trial.tensor(trial.random(3, 4))
    trial.exact(trial.call_method(trial.make(), "__call__", x), trial.numpy(x), "float32")


def edited_between_calls(trial: Trial) -> None:
    """Each call runs the modules that the chain has at that time, also in evaluation: those that were replaced,
    deleted, appended or named after earlier calls, their new numbers, modes and hooks."""
    x = trial.random(3, 4)
    trial.repeatable = False

    def check(net: Any, factor: float) -> None:
        for _ in range(2):
            trial.close(trial.call_method(net, "__call__", trial.tensor(x)), factor * x, dtype="float32")

    for training in (True, False):
        net = trial.make(_Times(2), trial.make(_Times(3)), _Times(5)).to(trial.device).train(training)
        check(net, 30)
        net[0] = _Times(-7).to(trial.device)
        check(net, -105)
        net[1][0] = _Times(11).to(trial.device)
        check(net, -385)
        del net[-1]
        check(net, -77)
        net.append(_Times(0.5).to(trial.device))
        check(net, -38.5)
        net.add_module("0", _Times(4).to(trial.device))
        check(net, 22)
        net.add_module("further", _Times(3).to(trial.device))
        check(net, 66)
        del net[1:3]
        check(net, 12)
        setattr(net, "0", _Times(6).to(trial.device))
        check(net, 18)
        with torch.no_grad():
            net[0].factor.fill_(-1)
        check(net, -3)
        net[1].factor = torch.nn.Parameter(trial.tensor(np.array(9, "float32")))
        check(net, -9)
        net.load_state_dict({name: torch.tensor(4.0) for name in net.state_dict()})
        check(net, 16)
        hook = net[0].register_forward_hook(lambda module, given, output: output * 10)
        check(net, 160)
        hook.remove()
        check(net, 16)
        del net[:]
        check(net, 1)
    net = trial.make(torch.nn.Dropout(1.0), torch.nn.Identity())
    for mode in (True, False, True):
        check(net.train(mode), 1 - mode)
        net[0].train(not mode)
        check(net, mode)


def modes_and_text(trial: Trial) -> None:
    """train() and eval() reach every module, also one whose mode differs from that of the chain. The description shows
    each module under its name, and the state has each parameter and buffer under it."""
    net = trial.make(torch.nn.Linear(4, 4), trial.make(torch.nn.BatchNorm1d(4), torch.nn.Dropout(0.25))).to(
        trial.device
    )
    for mode in (True, False, True):
        for child in list(net.modules())[1:]:
            net.train(mode)
            child.training = not mode
            trial.check(net.train(mode) is net, "train() returned something else")
            modes = [each.training for each in net.modules()]
            trial.equal(modes, [mode] * 5)
    text = repr(net)
    for part in ("(0): Linear(in_features=4", "(1): Sequential", "(0): BatchNorm1d(4", "(1): Dropout(p=0.25"):
        trial.check(part in text, f"{part!r} is not in the description {text!r}")
    numbers = ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"]
    trial.equal(list(net.state_dict()), ["0.weight", "0.bias", *(f"1.0.{each}" for each in numbers)])
    x = trial.tensor(trial.random(6, 4))
    for _ in range(2):
        trial.call_method(net, "__call__", x)
    trial.equal(int(net.state_dict()["1.0.num_batches_tracked"]), 2)


class _Times(torch.nn.Module):
    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = torch.nn.Parameter(torch.tensor(float(factor)))

    def forward(self, x: Any) -> Any:
        return x * self.factor


def _modules() -> list[Any]:
    linear, tanh = torch.nn.Linear(4, 4), torch.nn.Tanh()
    return [linear, torch.nn.Dropout(0.25), tanh, linear, torch.nn.Sequential(tanh), tanh]


def _same(trial: Trial, net: Any, known: list[Any]) -> None:
    trial.check(type(net) is trial.function or isinstance(net, torch.nn.Sequential), f"it is a {type(net).__name__}")
    found = list(net)
    same = len(found) == len(net) == len(known) and all(one is other for one, other in zip(found, known))
    trial.check(same, f"expected the modules {known}, found {len(net)}: {found}")

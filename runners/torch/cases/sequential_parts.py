"""torch.nn.Sequential: what it leaves as it is in its modules, and what passes between them."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import torch

from runners.core.testing.trial import Trial


class _Split(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return x, 2 * x


class _Joined(torch.nn.Module):
    def forward(self, pair: Any) -> Any:
        return pair[0] * pair[1]


def parts_unchanged(trial: Trial) -> None:
    """Making, appending to, editing and slicing a chain keep the mode and the flags of each module, and a slice keeps
    the names."""

    def part() -> Any:
        return torch.nn.Linear(2, 2).eval().requires_grad_(False)

    parts = [part() for _ in range(5)]
    net = trial.make(OrderedDict(zip("abcde", parts)))
    ranges = (slice(1, 3), slice(None, None, 2), slice(-2, None))
    slices = [trial.call_method(net, "__getitem__", each) for each in ranges]
    trial.equal([list(each._modules) for each in slices], [["b", "c"], ["a", "c", "e"], ["d", "e"]])
    numbered = trial.make(*parts)
    trial.repeatable = False
    parts += [part(), part()]
    trial.check(trial.call_method(numbered, "append", parts[5]) is numbered, "append did not return the chain")
    trial.call_method(numbered, "__setitem__", 1, parts[6])
    for index in (0, slice(1, 3)):
        trial.call_method(numbered, "__delitem__", index)
    trial.check(all(one is parts[place] for one, place in zip(numbered, (6, 4, 5))), "other modules remain")
    trial.equal([each.training for each in parts], [False] * 7)
    trial.equal([each.weight.requires_grad for each in parts], [False] * 7)
    trial.equal([net.training, numbered.training], [True, True])


def passed_on(trial: Trial) -> None:
    """A tuple passes from one module to the next as it is; the input can be given by keyword; dropout draws again in
    each call."""
    x = trial.random(3, 4)
    net = trial.make(_Split(), _Joined())
    trial.close(trial.call_method(net, "__call__", input=trial.tensor(x)), 2 * x * x, dtype="float32")
    pair = trial.call_method(trial.make(_Split()), "__call__", trial.tensor(x))
    trial.check(type(pair) is tuple and len(pair) == 2, f"expected a pair, got {type(pair).__name__}")
    trial.exact(pair[1], 2 * x, "float32")
    dropping = trial.make(torch.nn.Dropout(0.5), torch.nn.Identity())
    ones = trial.tensor(np.ones((40, 10), "float32"))
    trial.repeatable = False
    first, second = (trial.numpy(trial.call_method(dropping, "__call__", ones)) for _ in range(2))
    trial.check(set(np.unique(first)) == {0, 2} and (first != second).any(), "a second call has the same draws")


def nested_conversions(trial: Trial) -> None:
    """What converts, moves or switches a chain reaches each module of the chains in it, however deep, and their
    buffers; counts stay integers."""
    deepest = trial.make(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 2))
    net = trial.make(torch.nn.Linear(2, 2), trial.make(torch.nn.Tanh(), deepest), torch.nn.Linear(2, 1))
    trial.repeatable = False
    for name, args, dtype in (
        ("to", (trial.device,), torch.float32),
        ("double", (), torch.float64),
        ("half", (), torch.float16),
        ("bfloat16", (), torch.bfloat16),
        ("float", (), torch.float32),
        ("to", (torch.float64,), torch.float64),
    ):
        trial.check(trial.call_method(net, name, *args) is net, f"{name} did not return the chain")
        state = net.state_dict()
        counts = [str(each.dtype) for key, each in state.items() if key.endswith("num_batches_tracked")]
        floats = {str(each.dtype) for key, each in state.items() if not key.endswith("num_batches_tracked")}
        trial.equal((len(state), floats, counts), (11, {str(dtype)}, ["torch.int64"]))
    for name, args in (("eval", ()), ("train", ()), ("train", (False,)), ("requires_grad_", (False,))):
        trial.call_method(net, name, *args)
        trial.equal({each.training for each in net.modules()}, {name == "train" and not args})
    trial.equal({each.requires_grad for each in net.parameters()}, {False})
    applied: list[Any] = []
    trial.call_method(net, "apply", applied.append)
    trial.check(len(applied) == 8 and applied[-1] is net, "apply did not reach each module, the chain last")


def frozen_gradients(trial: Trial) -> None:
    """In training and in evaluation the input gets its gradient, also if all modules are frozen, and no frozen
    parameter gets one; gradients can be differentiated again."""
    net = trial.make(torch.nn.Linear(2, 2, bias=False), torch.nn.Tanh()).to(trial.device, torch.float64)
    host, weight = trial.random(3, 2, dtype="float64", seed=1), trial.random(2, 2, dtype="float64", seed=2)
    with torch.no_grad():
        net[0].weight.copy_(trial.tensor(weight))
    hidden = np.tanh(host @ weight.T)
    slope = 1 - hidden**2
    # Of sum(slope @ weight), the gradient of sum(tanh): the derivative of the slope is -2 tanh (1 - tanh**2).
    again = (-2 * hidden * slope * weight.sum(1)) @ weight
    for training, frozen in ((True, False), (False, False), (False, True), (True, True)):
        net.train(training).requires_grad_(not frozen)
        x = trial.tensor(host).requires_grad_()
        output = trial.call_method(net, "__call__", x)
        trial.close(output.detach(), hidden, dtype="float64")
        (first,) = torch.autograd.grad(output.sum(), [x], create_graph=True)
        trial.close(first.detach(), slope @ weight, dtype="float64")
        (second,) = torch.autograd.grad(first.sum(), [x])
        trial.close(second, again, dtype="float64")
        trial.equal([net[0].weight.grad is None, net[0].weight.requires_grad], [True, not frozen])

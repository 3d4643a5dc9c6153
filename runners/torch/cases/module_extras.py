"""torch.nn.Module.state_dict and add_module: what else is in a module, copies, and operations that reach children."""

from __future__ import annotations

import copy
from collections import OrderedDict
from typing import Any

import numpy as np
import torch

from runners.core.testing.trial import Trial


class _Counted(torch.nn.Module):
    """A module with an extra state, a buffer, a frozen parameter, and names without anything."""

    def __init__(self, trial: Trial, seed: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(trial.tensor(trial.random(2, 3, seed=seed)), requires_grad=False)
        self.register_buffer("table", trial.tensor(trial.random(4, dtype="int64", seed=seed)))
        self.register_parameter("bias", None)
        self.register_buffer("nothing", None)
        self.count = seed

    def get_extra_state(self) -> Any:
        return {"count": self.count}

    def set_extra_state(self, state: Any) -> None:
        self.count = state["count"]


def state_dict_extra(trial: Trial) -> None:
    """The extra state has an entry, names that are None have none, and a frozen parameter and a buffer of integers
    have theirs; another module loads all of it."""
    outer, other = torch.nn.Sequential(), torch.nn.Sequential()
    for net, seeds in ((outer, (3, 7)), (other, (1, 2))):
        for name, seed in zip(("one", "two"), seeds):
            net.add_module(name, _Counted(trial, seed))
    state = trial.call(outer, prefix="net.")
    parts = ("weight", "table", "_extra_state")
    trial.equal(list(state), [f"net.{name}.{part}" for name in ("one", "two") for part in parts])
    for name, seed in (("one", 3), ("two", 7)):
        trial.exact(state[f"net.{name}.weight"], trial.random(2, 3, seed=seed), "float32")
        trial.exact(state[f"net.{name}.table"], trial.random(4, dtype="int64", seed=seed), "int64")
        trial.equal(state[f"net.{name}._extra_state"], {"count": seed})
    other.load_state_dict(OrderedDict((name[len("net.") :], value) for name, value in state.items()))
    trial.equal([other.one.count, other.two.count], [3, 7])
    trial.exact(other.two.weight, trial.random(2, 3, seed=7), "float32")


def state_dict_options(trial: Trial) -> None:
    """keep_vars, prefix and destination work together, also for buffers; without keep_vars an entry shares the memory
    of its parameter, and a later call has what was added and lacks what was deleted."""
    net = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 2)).to(trial.device)
    destination: Any = OrderedDict()
    state = trial.call(net, destination=destination, prefix="a.", keep_vars=True)
    trial.check(state is destination, "the returned mapping is not the destination")
    known = {**dict(net.named_parameters()), **dict(net.named_buffers())}
    trial.equal(sorted(state), sorted("a." + name for name in known))
    for name, tensor in known.items():
        trial.check(state["a." + name] is tensor, f"{name} is not the tensor itself")
    plain = trial.call(net)
    for name, tensor in known.items():
        trial.equal([plain[name].data_ptr(), plain[name].requires_grad], [tensor.data_ptr(), False])
    del net[1].bias
    net[0].register_buffer("late", trial.tensor(trial.random(2, seed=5)))
    later = trial.call(net)
    trial.equal(sorted(set(later) ^ set(plain)), ["0.late", "1.bias"])
    trial.exact(later["0.late"], trial.random(2, seed=5), "float32")


def add_module_reaches(trial: Trial) -> None:
    """A copy of the parent has a copy of the child; freezing, clearing of gradients, loading and removal reach it."""
    parent, child = torch.nn.Module(), torch.nn.Linear(3, 2).to(trial.device)
    trial.repeatable = False
    trial.check(trial.call(parent, "layer", child) is None, "expected None to be returned")
    twin = copy.deepcopy(parent)
    trial.check(twin.layer is not child, "the copy has the same child")
    values = trial.random(2, 3, seed=1)
    parent.load_state_dict({"layer.weight": trial.tensor(values), "layer.bias": trial.tensor(np.zeros(2, "float32"))})
    trial.exact(child.weight, values, "float32")
    trial.check((trial.numpy(twin.layer.weight) != values).all(), "the copy shares the child's memory")
    child(trial.tensor(trial.random(4, 3, seed=2))).sum().backward()
    parent.zero_grad()
    gradient = child.weight.grad
    trial.check(gradient is None or not trial.numpy(gradient).any(), "the child kept its gradient")
    parent.requires_grad_(False)
    trial.equal([child.weight.requires_grad, child.bias.requires_grad], [False, False])
    del parent.layer
    trial.equal([len(list(parent.children())), len(parent.state_dict()), hasattr(parent, "layer")], [0, 0, False])


def member_by_keywords(trial: Trial, kind: str) -> None:
    """Name and member can be given by keyword; the member is registered, also in place of None, and the state has its
    exact values.

    ``kind``: "parameter" or "module".
    """
    values = np.array([9007199254740993, -5, 2**62 + 1])
    word, held = ("param", "late") if kind == "parameter" else ("module", "late.table")
    module = torch.nn.Module()
    made: Any = torch.nn.Parameter(trial.tensor(values), requires_grad=False)
    if kind == "module":
        made = torch.nn.Module()
        made.register_buffer("table", trial.tensor(values))
    trial.repeatable = False
    for member in (None, made):
        trial.check(trial.call(module, name="late", **{word: member}) is None, "expected None to be returned")
        trial.check(module.late is member, "the attribute is not the member")
    trial.equal(list(module.state_dict()), [held])
    trial.exact(module.state_dict()[held], values, "int64")


def state_dict_exact(trial: Trial) -> None:
    """Every entry has the exact values and the dtype of its buffer, in training and in evaluation, with and without
    gradients, also after the buffers were replaced."""
    values = [
        np.array([2**53 + 1, -(2**53) - 3, 2**60 + 1, -5]),
        np.array([2**24 + 1, -(2**31)], "int32"),
        np.array([255, 128, 0], "uint8"),
        np.array([True, False]),
        np.array([1 + 2**-52, 5e-324, -0.0, np.inf]),
        np.array([1 + 2**-23, 1e-45], "float32"),
    ]
    module = torch.nn.Module()
    trial.repeatable = False
    for sign, wanted in ((1, True), (-1, False)):
        for number, array in enumerate(values):
            known = array if array.dtype.kind in "bu" else sign * array
            module.register_buffer(f"table{number}", trial.tensor(known))
        with torch.set_grad_enabled(wanted):
            state = trial.call(module.train(wanted))
        trial.equal(list(state), [f"table{number}" for number in range(len(values))])
        for entry, array in zip(state.values(), values):
            trial.exact(entry, array if array.dtype.kind in "bu" else sign * array, array.dtype.name)


def state_dict_many(trial: Trial, count: int) -> None:
    """Many parameters, children and children of children have all their entries in their order, also after more were
    added, and each the values of its own."""
    net, inner, arrays = torch.nn.Module(), torch.nn.Sequential(), {}
    trial.repeatable = False
    for step in range(2):
        for number in range(count):
            own, child = trial.random(2, 2, 2, seed=count * step + number)
            net.register_parameter(f"own{step}_{number}", torch.nn.Parameter(trial.tensor(own)))
            layer = torch.nn.Module()
            layer.register_buffer("table", trial.tensor(child))
            inner.add_module(str(len(inner)), layer)
            arrays[f"own{step}_{number}"], arrays[f"inner.{len(inner) - 1}.table"] = own, child
        net.add_module("inner", inner)
        state = trial.call(net)
        trial.equal(list(state), sorted(arrays, key=lambda name: name.startswith("inner")))
        for name, value in state.items():
            trial.exact(value, arrays[name], "float32")

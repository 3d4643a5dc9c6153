"""torch.nn.Module.add_module and state_dict: what they leave as it is, and entries of unusual tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from runners.core.testing.trial import Trial


class _Child(torch.nn.Module):
    """A module with a frozen parameter that has two names, one of float64 and buffers, of which one is not saved."""

    def __init__(self, trial: Trial) -> None:
        super().__init__()
        self.frozen = torch.nn.Parameter(trial.tensor(trial.random(3, seed=1)), requires_grad=False)
        self.again = self.frozen
        self.wide = torch.nn.Parameter(trial.tensor(trial.random(2, dtype="float64", seed=2)))
        self.register_buffer("scratch", trial.tensor(trial.random(2, seed=3)), persistent=False)
        self.register_buffer("table", trial.tensor(trial.random(4, dtype="int32", seed=4)))

    def forward(self, x: Any) -> Any:
        return x * self.wide.sum()


def child_unchanged(trial: Trial) -> None:
    """A child, of two parents and with two names in one, keeps its mode, its tensors with their gradients and flags,
    and its hooks; so does the parent its mode. Names with capitals, spaces and other letters are kept."""
    parents, child = [torch.nn.Module(), torch.nn.Module().eval()], _Child(trial)
    child.wide.grad = trial.tensor(np.array([5.0, -6.0]))
    called: list[str] = []
    child.register_forward_pre_hook(lambda *_: called.append("before"))
    child.register_forward_hook(lambda *_: called.append("after"))
    child.register_full_backward_hook(lambda *_: called.append("backward"))
    members = dict([*child.named_parameters(), *child.named_buffers()])
    inner = ["frozen", "again", "wide", "table"]
    trial.repeatable = False
    for parent, mode, names in ((parents[0], False, ["Layer 1", "größe"]), (parents[1], True, ["layer"])):
        child.train(mode)
        for name in names:
            trial.check(trial.call(parent, name, child) is None, "expected None to be returned")
        trial.equal([child.training, parent.training], [mode, not mode])
        trial.check(all(one is child for one in parent._modules.values()), "a name has another module")
        trial.equal(list(parent.state_dict()), [f"{name}.{part}" for name in names for part in inner])
        trial.equal([name for name, _ in parent.named_children()], names[:1])
    trial.equal(list(parents[0]._modules), ["Layer 1", "größe"])
    now = dict([*child.named_parameters(), *child.named_buffers()])
    trial.check(all(now[name] is tensor for name, tensor in members.items()), "a tensor was replaced")
    trial.check(child.again is child.frozen, "two names have different parameters")
    trial.equal([child.frozen.requires_grad, child.wide.requires_grad], [False, True])
    trial.exact(child.wide, trial.random(2, dtype="float64", seed=2), "float64")
    trial.exact(child.wide.grad, np.array([5.0, -6.0]), "float64")
    trial.exact(child.table, trial.random(4, dtype="int32", seed=4), "int32")
    given = trial.tensor(np.array([1.0, 2.0])).requires_grad_()
    parents[1].layer(given).sum().backward()
    trial.equal(called, ["before", "after", "backward"])


def refuses_taken(trial: Trial) -> None:
    """A child with the name of a method, a buffer or a parameter raises an error, and the name keeps what it names."""
    parent, child = torch.nn.Linear(2, 3).to(trial.device), torch.nn.ReLU()
    parent.register_buffer("table", trial.tensor(trial.random(2)))
    for name in ("forward", "train", "table", "weight", "training", "in_features"):
        before = getattr(parent, name)
        trial.raises(["KeyError"], "already exists", parent, name, child)
        trial.check(getattr(parent, name) == before if callable(before) else getattr(parent, name) is before, name)
    trial.equal(len(list(parent.children())), 0)


def module_unchanged(trial: Trial) -> None:
    """Reading the state changes no mode, no gradient and no flag; a tensor that is not saved has no entry, and one with
    two names has two entries of the same memory."""
    net, child = torch.nn.Module(), _Child(trial)
    net.add_module("child", child.eval())
    child.wide.grad = trial.tensor(np.array([5.0, -6.0]))
    for wanted in (False, True):
        with torch.set_grad_enabled(wanted):
            state = trial.call(net)
        trial.equal(list(state), [f"child.{name}" for name in ("frozen", "again", "wide", "table")])
        trial.equal(state["child.again"].data_ptr(), child.frozen.data_ptr())
        trial.equal([net.training, child.training], [True, False])
        trial.equal([child.frozen.requires_grad, child.wide.requires_grad], [False, True])
        trial.equal([value.requires_grad for value in state.values()], [False] * 4)
        trial.exact(child.wide.grad, np.array([5.0, -6.0]), "float64")
        for name, value in state.items():
            member = getattr(child, name.split(".")[1])
            trial.exact(value, trial.numpy(member.detach()), trial.dtype_name(member) or "")


def unusual_entries(trial: Trial) -> None:
    """Complex, empty, permuted and expanded tensors, and one number, have entries of the same dtype, shape and strides.
    With keep_vars, an entry of a computed buffer has its history."""
    module = torch.nn.Module()
    weight = trial.tensor(trial.random(2, 3, 4, 5, seed=1), order=[0, 2, 3, 1])
    values = {
        "complex": trial.tensor(trial.random(2, 3, dtype="complex64", seed=2)),
        "empty": trial.tensor(np.zeros((0, 3), "float32")),
        "number": trial.tensor(np.array(2.5, "float32")),
        "expanded": trial.tensor(trial.random(1, 3, seed=3)).expand(4, 3),
    }
    module.weight = torch.nn.Parameter(weight)
    module.complex_weight = torch.nn.Parameter(values["complex"])
    for name, tensor in values.items():
        module.register_buffer(name, tensor)
    module.register_buffer("computed", module.weight * 2)
    for keep in (False, True):
        state = trial.call(module, keep_vars=keep)
        trial.equal(list(state), ["weight", "complex_weight", *values, "computed"])
        for name, tensor in (("weight", module.weight), ("complex_weight", module.complex_weight), *values.items()):
            trial.exact(state[name], trial.numpy(tensor.detach()), trial.dtype_name(tensor) or "")
            trial.equal(state[name].stride(), tensor.stride())
        trial.equal([state["computed"].requires_grad, state["weight"].requires_grad], [keep, keep])
        trial.check((state["computed"].grad_fn is not None) == keep, "wrong history of a computed buffer")


class _Own(torch.nn.Module):
    """A module that saves an entry of its own, and has a version of its own."""

    _version = 7

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "own"] = keep_vars


def own_entries(trial: Trial) -> None:
    """A class saves entries of its own, a hook can add one, and the metadata have the versions of all modules, with the
    prefix."""
    net, seen = torch.nn.Sequential(_Own(), torch.nn.Sequential(_Own(), torch.nn.BatchNorm1d(2))).to(trial.device), []

    def added(module: Any, state: Any, prefix: str, metadata: Any) -> None:
        seen.append((module is net[1][0], prefix, metadata["version"]))
        state[prefix + "hook"] = 5

    inner = net[1][0]
    # Before PyTorch 2.5 there is no other way to add a hook.
    handle = getattr(inner, "register_state_dict_post_hook", inner._register_state_dict_hook)(added)
    trial.repeatable = False
    for prefix, keep in (("", False), ("net.", True)):
        state = trial.call(net, prefix=prefix, keep_vars=keep)
        trial.equal(list(state)[:3], [prefix + name for name in ("0.own", "1.0.own", "1.0.hook")])
        trial.equal([state[prefix + "0.own"], state[prefix + "1.0.own"], state[prefix + "1.0.hook"]], [keep, keep, 5])
        versions = {name: facts["version"] for name, facts in state._metadata.items()}
        places = ["", "0", "1", "1.0", "1.1"]
        trial.equal(versions, {(prefix + place).rstrip("."): each for place, each in zip(places, (1, 7, 1, 7, 2))})
    trial.equal(seen, [(True, "1.0.", 7), (True, "net.1.0.", 7)])
    trial.equal(list(trial.call(net[0], prefix="a.")), ["a.own"])
    handle.remove()
    trial.check("1.0.hook" not in trial.call(net), "a removed hook was called")


class _Watched(torch.nn.Module):  # type: ignore[misc]
    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__.setdefault("set", []).append(name)
        super().__setattr__(name, value)


def registered_itself(trial: Trial) -> None:
    """It registers a child without setting an attribute, and a module can be a child of itself. A module whose
    __init__ was not called raises an error."""
    net, child = _Watched(), torch.nn.ReLU()
    before = list(net.__dict__.get("set", []))
    trial.check(trial.call(net, "layer", child) is None, "expected None to be returned")
    trial.equal([net.__dict__.get("set", []), "layer" in net.__dict__], [before, False])
    trial.repeatable = False
    trial.check(trial.call(net, "again", net) is None, "expected None to be returned")
    trial.check(net.again is net and net.layer is child, "a name has another module")
    trial.equal([name for name, _ in net.named_modules()], ["", "layer"])
    trial.raises(["AttributeError"], "module", object.__new__(torch.nn.Module), "layer", child)

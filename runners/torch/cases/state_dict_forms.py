"""torch.nn.Module.state_dict: deep modules, hooks, children with a state of their own, and the order of arguments."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import Any

import numpy as np
import torch

from runners.core.testing.trial import Trial


def _leaf(trial: Trial, seed: int) -> tuple[Any, Any]:
    values = trial.random(2, 3, dtype="float64", seed=seed)
    return torch.nn.Parameter(trial.tensor(values)), values


def state_dict_of_depth(trial: Trial, depth: int) -> None:
    """Every level of nested modules has its entries, with the names of all levels above, from the outside in."""
    top, expected = torch.nn.Module(), []
    inner, name = top, ""
    for level in range(depth):
        inner.weight, values = _leaf(trial, level)
        inner.register_buffer("kept", trial.tensor(-values))
        expected += [(f"{name}weight", values), (f"{name}kept", -values)]
        inner.add_module(f"level{level}", torch.nn.Module())
        inner, name = getattr(inner, f"level{level}"), f"{name}level{level}."
    state = trial.call(top)
    trial.equal(list(state), [each for each, _ in expected])
    for each, values in expected:
        trial.exact(state[each], values, "float64")


def state_dict_hooks(trial: Trial) -> None:
    """A hook of the module or of a child gets the module, the state so far and the prefix. What it adds stays, and a
    state that it returns takes the place of the other one. A removed hook is not called."""
    net, seen = torch.nn.Module(), []
    net.weight, values = _leaf(trial, 1)
    net.inner = torch.nn.Module()
    net.inner.weight, inner_values = _leaf(trial, 2)

    def noted(module: Any, state: Any, prefix: str, metadata: Any) -> None:
        seen.append((module is net, list(state), prefix, metadata.get("version")))
        state[f"{prefix}count"] = len(seen)

    def replaced(module: Any, state: Any, prefix: str, metadata: Any) -> Any:
        return OrderedDict((f"mine.{name}", value) for name, value in state.items())

    handles = [each._register_state_dict_hook(noted) for each in (net, net.inner)]
    state = trial.call(net, prefix="a.")
    names = ["a.weight", "a.inner.weight"]
    trial.equal(seen, [(False, names, "a.inner.", 1), (True, [*names, "a.inner.count"], "a.", 1)])
    trial.equal(list(state), [*names, "a.inner.count", "a.count"])
    trial.equal([state["a.inner.count"], state["a.count"]], [1, 2])
    trial.exact(state["a.weight"], values, "float64")
    trial.exact(state["a.inner.weight"], inner_values, "float64")
    trial.repeatable = False
    for each in handles:
        each.remove()
    net._register_state_dict_hook(replaced)
    trial.equal([list(trial.call(net)), len(seen)], [["mine.weight", "mine.inner.weight"], 2])


class _Own(torch.nn.Module):
    def state_dict(self, *args: Any, **options: Any) -> Any:
        """The state with one more entry."""
        state = super().state_dict(*args, **options)
        state[f"{options.get('prefix', '')}own"] = "own state"
        return state


class _Saved(torch.nn.Module):
    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        destination[f"{prefix}saved"] = ["saved", keep_vars]


def state_dict_of_children(trial: Trial) -> None:
    """A child that overrides state_dict, or what it saves, has its own entries within the state of the whole."""
    net = torch.nn.Module()
    net.own, net.saved, net.plain = _Own(), _Saved(), torch.nn.Module()
    for number, each in enumerate((net.own, net.saved, net.plain)):
        each.weight, _ = _leaf(trial, number)
    for keep in (False, True):
        state = trial.call(net, prefix="a.", keep_vars=keep)
        trial.equal(list(state), ["a.own.weight", "a.own.own", "a.saved.saved", "a.plain.weight"])
        trial.equal([state["a.own.own"], state["a.saved.saved"]], ["own state", ["saved", keep]])
        trial.equal([state[name] is each.weight for name, each in (("a.own.weight", net.own),)], [keep])


def state_dict_by_position(trial: Trial) -> None:
    """destination, prefix and keep_vars can be given by position, in this order, and mean the same as by keyword."""
    net = torch.nn.Module()
    net.weight, values = _leaf(trial, 1)
    net.inner = torch.nn.Module()
    net.inner.weight, _ = _leaf(trial, 2)
    for prefix in ("", "b."):
        for keep in (False, True):
            given = OrderedDict(first=1)
            trial.repeatable = False
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # The order of the arguments is deprecated.
                state = trial.call(net, given, prefix, keep)
            trial.check(state is given, "the returned state is not the given one")
            trial.equal(list(state), ["first", f"{prefix}weight", f"{prefix}inner.weight"])
            trial.equal([state[f"{prefix}weight"] is net.weight, state[f"{prefix}weight"].requires_grad], [keep, keep])
            trial.exact(state[f"{prefix}weight"].detach(), values, "float64")


def state_dict_given(trial: Trial, kind: str) -> None:
    """The entries are added to the dictionary that is given by keyword, whose own entries stay: it is returned itself.
    The prefix comes first in each name as it is, with a dot or without one. NaN, infinities and zeros of both signs are
    kept.

    ``kind``: "dict" or "OrderedDict".
    """
    values = np.array([[np.nan, np.inf, -np.inf], [-0.0, 0.0, 1.5]])
    for prefix in ("", "a.", "a", "a_b.c", "module.module."):
        net = torch.nn.Module()
        net.weight = torch.nn.Parameter(trial.tensor(values))
        net.inner = torch.nn.BatchNorm1d(2).to(trial.device)
        net.inner.running_var[1] = float("inf")
        given = {"dict": dict, "OrderedDict": OrderedDict}[kind](first=1)
        trial.repeatable = False
        state = trial.call(net, destination=given, prefix=prefix)
        trial.check(state is given, "the returned state is not the given one")
        inner = [f"inner.{name}" for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")]
        trial.equal(list(state), ["first", *(f"{prefix}{name}" for name in ["weight", *inner])])
        trial.equal(state["first"], 1)
        for name, wanted, dtype in (
            ("weight", values, "float64"),
            ("inner.running_var", np.array([1.0, np.inf]), "float32"),
            ("inner.num_batches_tracked", np.array(0), "int64"),
        ):
            found = state[f"{prefix}{name}"]
            trial.exact(found, wanted, dtype)
            trial.equal([found.requires_grad, found.is_leaf], [False, True])
        trial.equal(np.signbit(trial.numpy(state[f"{prefix}weight"]))[1].tolist(), [True, False, False])

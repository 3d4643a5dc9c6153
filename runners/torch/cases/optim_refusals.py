"""What optimizers refuse when they are made, get another group or load a state; afterwards they work as before."""

from __future__ import annotations

from typing import Any

import torch

from runners.core.testing.trial import Trial


def _leaf(trial: Trial, seed: int = 1) -> Any:
    return trial.tensor(trial.random(3, seed=seed)).requires_grad_()


def made_of(trial: Trial) -> None:
    """Anything but leaf tensors, each once and in order, raises an error, in a list and in groups."""
    leaf = _leaf(trial)
    for kind, word, parameters in (
        ("ValueError", "non-leaf", [leaf * 2]),
        ("ValueError", "non-leaf", [{"params": [leaf]}, {"params": leaf * 2}]),
        ("TypeError", "can only optimize Tensors", [1.5, 2.5]),
        ("TypeError", "can only optimize Tensors", [leaf, "text"]),
        ("ValueError", "more than one parameter group", [{"params": [leaf]}, {"params": [leaf]}]),
        ("TypeError", "ordered collections", [{"params": {leaf}}]),
        ("KeyError", "params", [{"lr": 0.5}]),
    ):
        trial.raises([kind], word, parameters)
    trial.raises(["AssertionError", "TypeError"], "must be a dict", [{"params": [leaf]}, _leaf(trial)])
    trial.raises(["TypeError"], "unexpected keyword", [leaf], unknown=0.5)


def groups(trial: Trial) -> None:
    """A group without leaf tensors, or with one that is there already, raises an error and is not added."""
    leaf, other = _leaf(trial), _leaf(trial, 2)
    optimizer = trial.make([leaf])
    for kind, word, group in (
        ("ValueError", "more than one parameter group", {"params": [other, leaf]}),
        ("ValueError", "more than one parameter group", {"params": leaf}),
        ("ValueError", "non-leaf", {"params": [other * 2]}),
        ("TypeError", "can only optimize Tensors", {"params": [3]}),
        ("TypeError", "ordered collections", {"params": {other}}),
        ("KeyError", "params", {"lr": 0.5}),
    ):
        trial.method_raises(optimizer, "add_param_group", [kind], word, group)
    trial.method_raises(optimizer, "add_param_group", ["AssertionError", "TypeError"], "must be a dict", [other])
    (group,) = optimizer.param_groups
    trial.check(len(group["params"]) == 1 and group["params"][0] is leaf, "a refused group was added")


def states(trial: Trial, steps: bool = True) -> None:
    """A state of other groups or of other numbers of parameters raises an error, and does not replace the options.

    ``steps``: the optimizer makes a step from a given gradient afterwards.
    """
    leaf = _leaf(trial)
    optimizer = trial.make([leaf], lr=0.25)
    two = trial.make([_leaf(trial, 2), _leaf(trial, 3)], lr=4.0).state_dict()
    apart = {"state": {}, "param_groups": [{"params": [0], "lr": 4.0}, {"params": [1], "lr": 4.0}]}
    trial.method_raises(optimizer, "load_state_dict", ["ValueError"], "different number of parameter groups", apart)
    trial.method_raises(optimizer, "load_state_dict", ["ValueError"], "match the size", two)
    trial.method_raises(optimizer, "load_state_dict", ["KeyError"], "param_groups", {"state": {}})
    trial.equal([group["lr"] for group in optimizer.param_groups], [0.25])
    trial.equal(len(optimizer.state), 0)
    trial.method_raises(optimizer, "step", ["TypeError"], "callable", 3)
    if steps:
        before = trial.numpy(leaf.detach()).copy()
        leaf.grad = torch.ones_like(leaf)
        trial.repeatable = False
        trial.call_method(optimizer, "step")
        # The first step of Adamax and of Rprop from a gradient of one is the learning rate.
        trial.close(leaf, before - 0.25, dtype="float32")
    else:
        trial.method_raises(optimizer, "step", ["TypeError"], "closure")

"""What a step of an optimizer does besides the update: closures, memory, copies and groups that are added."""

from __future__ import annotations

import copy
import pickle
from typing import Any, Mapping

import torch

from runners.core.testing.trial import Trial
from runners.torch.cases.optim_groups import RULES

_SIZE = 4


def _leaf(trial: Trial, seed: int, dtype: str = "float32") -> tuple[Any, Any]:
    values = trial.random(_SIZE, dtype=dtype, seed=seed)
    return torch.nn.Parameter(trial.tensor(values)), values


def closures(trial: Trial, rule: str) -> None:
    """A step with a closure calls it once and returns its loss itself. The closure computes gradients also where they
    are off, and they stay off; a step leaves no history. zero_grad takes its option by keyword."""
    parameter, values = _leaf(trial, 1)
    optimizer, followed = trial.make([parameter], lr=0.25), RULES[rule](values, lr=0.25)
    weights = trial.random(_SIZE, seed=2)
    losses: list[Any] = []

    def closure() -> Any:
        parameter.grad = None
        losses.append((parameter * trial.tensor(weights)).sum())
        losses[-1].backward()
        return losses[-1]

    trial.repeatable = False
    for number, wanted in enumerate((False, True, False), 1):
        with torch.set_grad_enabled(wanted):
            found = trial.call_method(optimizer, "step", closure)
            trial.equal([torch.is_grad_enabled(), len(losses)], [wanted, number])
        trial.check(found is losses[-1], "the returned value is not the loss of the closure")
        trial.close(parameter.detach(), followed.step(weights), dtype="float32")
    trial.equal([parameter.is_leaf, parameter.requires_grad, parameter.grad.requires_grad], [True, True, False])
    for to_none in (False, True):
        trial.check(trial.call_method(optimizer, "zero_grad", set_to_none=to_none) is None, "it returns something")
        trial.check((parameter.grad is None) == to_none, f"expected None {to_none} as gradient, got {parameter.grad}")


def memory(trial: Trial, rule: str, options: Mapping[str, Any] = {}) -> None:
    """A step writes into the memory of the parameter, which views see and autograd notes; one that is frozen or not
    reached keeps its values. A parameter gets its state in the first step with a gradient, in its own dtype."""
    (parameter, values), (idle, kept) = _leaf(trial, 1, "float64"), _leaf(trial, 2)
    optimizer = trial.make(iter([parameter, idle]), lr=0.5, **options)
    followed = RULES[rule](values, lr=0.5)
    view, address, version = parameter.detach()[1:], parameter.data_ptr(), parameter._version
    trial.equal(len(optimizer.state), 0)
    trial.repeatable = False
    gradient = trial.random(_SIZE, dtype="float64", seed=3)
    parameter.grad = trial.tensor(gradient)
    trial.call_method(optimizer, "step")
    trial.close(view, followed.step(gradient)[1:], dtype="float64")
    trial.check(parameter.data_ptr() == address, "the parameter has other memory")
    trial.check(parameter._version > version, "autograd does not know of the change")
    trial.exact(idle.detach(), kept, "float32")
    trial.equal([each is parameter for each in optimizer.state], [True])
    moments = [value for name, value in optimizer.state[parameter].items() if name != "step"]
    trial.equal([trial.dtype_name(each) for each in moments], ["float64"] * 2)
    trial.equal([each.requires_grad for each in moments], [False] * 2)


def copies(trial: Trial, rule: str) -> None:
    """A deep copy of an optimizer with its parameter, and a pickled one, go on from the same state, apart from the
    first one. Loading a state does not change what is loaded."""
    parameter, values = _leaf(trial, 1)
    optimizer, followed = trial.make([parameter], lr=0.25), RULES[rule](values, lr=0.25)
    gradients = trial.random(4, _SIZE, seed=2)
    trial.repeatable = False

    def step(made: Any, one: Any, rule_of: Any, gradient: Any) -> None:
        one.grad = trial.tensor(gradient)
        trial.call_method(made, "step")
        trial.close(one.detach(), rule_of.step(gradient), dtype="float32")

    step(optimizer, parameter, followed, gradients[0])
    pairs = [copy.deepcopy((optimizer, parameter)), pickle.loads(pickle.dumps((optimizer, parameter)))]
    rules = [copy.deepcopy(followed) for _ in pairs]
    step(optimizer, parameter, followed, gradients[1])
    for (made, _), rule_of in zip(pairs, rules):
        made.param_groups[0]["lr"] = rule_of.lr = 0.125
        (one,) = made.param_groups[0]["params"]
        step(made, one, rule_of, gradients[2])
        step(made, one, rule_of, gradients[3])
    trial.equal(optimizer.param_groups[0]["lr"], 0.25)
    state = copy.deepcopy(optimizer.state_dict())
    given = copy.deepcopy(state)
    later = trial.make([parameter], lr=3.0)
    trial.check(trial.call_method(later, "load_state_dict", given) is None, "expected None to be returned")
    trial.equal([list(given), given["param_groups"]], [list(state), state["param_groups"]])
    for name, value in state["state"][0].items():
        trial.equal(given["state"][0][name], value)
    trial.equal(later.param_groups[0]["lr"], 0.25)
    step(later, parameter, followed, gradients[3])


def groups(trial: Trial, options: Mapping[str, Any], own: Mapping[str, Any], text: str) -> None:
    """The options of the constructor are the defaults, which a group that is added gets, except its ``own``. The
    groups are printed with their options, and the state has further entries of a group too."""
    (first, _), (second, _) = _leaf(trial, 1), _leaf(trial, 2)
    given, further = (
        {name: tuple(value) if isinstance(value, list) else value for name, value in each.items()}
        for each in (options, own)
    )
    optimizer = trial.call([first], **given)
    trial.repeatable = False
    trial.equal({name: optimizer.defaults[name] for name in given}, given)
    trial.call_method(optimizer, "add_param_group", {"params": second, "note": "mine", **further})
    held = [{name: group[name] for name in given} for group in optimizer.param_groups]
    trial.equal(held, [given, {**given, **further}])
    for kept in (optimizer.param_groups, optimizer.state_dict()["param_groups"]):
        trial.equal([group.get("note") for group in kept], [None, "mine"])
    trial.check(optimizer.param_groups[1]["params"][0] is second, "the parameter is not in the group")
    printed = repr(optimizer)
    for line in (
        text,
        "Parameter Group 1",
        *(f"{name}: {value}" for each in (given, further) for name, value in each.items()),
    ):
        trial.check(line in printed, f"expected {line!r} in {printed}")

"""Modules in use: copies and saved modules, hooks, frozen parameters, gradients, the mode, and new initial values."""

from __future__ import annotations

import copy
import pickle
from typing import Any, Mapping, Sequence

import numpy as np
import torch

from runners.core.testing.inputs import on_device
from runners.core.testing.trial import Trial
from runners.torch.cases.layers import filled

_TOLERANCES: Mapping[str, float] = {"rtol": 1e-5, "atol": 2e-5}
"""The device sums in another order than the host."""


def in_use(
    trial: Trial,
    made: Sequence[Any],
    args: Sequence[Any],
    shown: str,
    named: Mapping[str, Any] = {},
    layers: Sequence[Any] = (),
) -> None:
    """A copy and a module that was saved and loaded compute in evaluation what the module did before its values
    changed. Each has the mode and the frozen parameter of the module. Hooks are called, once, until they are removed;
    those of the ``layers``, which the module is made of, too. No call changes a gradient, and the text of the module
    has ``shown`` in it."""
    trial.repeatable = False
    module = _new(trial, trial.make, made, named, layers).to(trial.device).eval()
    filled(trial, module, "float32")
    parameters = list(module.parameters())
    for parameter in parameters[:1]:
        parameter.requires_grad_(False)
    for number, parameter in enumerate(parameters):
        parameter.grad = torch.full_like(parameter, number + 1)
    with trial.on_host():
        known = _new(trial, trial.function, made, named, layers).eval()
        known.load_state_dict(module.state_dict())
        given, _ = on_device(trial, args, {})
        expected = trial.numpy(_joined(known(*given)))
    given, _ = on_device(trial, args, {})
    copies = [copy.deepcopy(module), pickle.loads(pickle.dumps(module))]
    _check_hooks(trial, module, given, children=bool(layers))
    with torch.no_grad():
        for tensor in [*parameters, *(each for each in module.buffers() if each.is_floating_point())]:
            tensor.mul_(2).add_(0.5)
    for each in copies:
        output = trial.call_method(each, "__call__", *given)
        trial.close(_joined(output), expected, dtype="float32", **_TOLERANCES)
    for each in [module, *copies]:
        trial.equal([part.training for part in each.modules()], [False] * len(list(module.modules())))
        trial.equal([one.requires_grad for one in each.parameters()], [number > 0 for number in range(len(parameters))])
    for number, parameter in enumerate(parameters):
        trial.exact(parameter.grad, np.full(parameter.shape, number + 1), "float32")
    trial.check(shown in repr(module), f"expected {shown!r} in {module!r}")


def initialized_again(trial: Trial, made: Sequence[Any], draws: bool) -> None:
    """reset_parameters gives all parameters initial values again, each time: other ``draws`` within the bound of the
    first ones, or the same constants."""
    trial.repeatable = False
    module = trial.make(*made).to(trial.device)
    first = [trial.numpy(each.detach()).copy() for each in module.parameters()]
    parameters, last = list(module.parameters()), first
    for _ in range(2):
        filled(trial, module, "float32", bound=9.0)
        trial.check(trial.call_method(module, "reset_parameters") is None, "expected None to be returned")
        for parameter, values, before in zip(module.parameters(), first, last):
            found = trial.numpy(parameter.detach())
            if draws:
                trial.check((found != before).all(), "the values are those of an earlier time")
                bound = 1.3 * abs(values).max()
                trial.check(0 < abs(found).max() < bound, f"a value reaches {abs(found).max():.3g}, not {bound:.3g}")
            else:
                trial.exact(parameter, values, "float32")
        last = [trial.numpy(each.detach()).copy() for each in module.parameters()]
    same = all(one is other for one, other in zip(module.parameters(), parameters))
    trial.check(same and all(each.requires_grad for each in parameters), "the parameters were replaced or frozen")


def initial_values_differ(trial: Trial, made: Sequence[Any]) -> None:
    """All initial values of two modules, and those of a new start, are drawn on their own: hardly any absolute value
    occurs twice. With 23 random bits, 20000 values have about 50 equal pairs, and 100 less often than once in a million
    runs."""
    trial.repeatable = False
    drawn = []
    for _ in range(2):
        module = trial.make(*made).to(trial.device)
        drawn += [trial.numpy(each.detach()).ravel().copy() for each in module.parameters()]
    trial.call_method(module, "reset_parameters")
    drawn += [trial.numpy(each.detach()).ravel() for each in module.parameters()]
    values = np.abs(np.concatenate(drawn))
    trial.check(values.size <= 20000, f"{values.size} values are too many for the limit")
    equal = values.size - np.unique(values).size
    trial.check(equal < 100, f"{equal} of {values.size} values occur more than once")


def _new(trial: Trial, make: Any, made: Sequence[Any], named: Mapping[str, Any], layers: Sequence[Any]) -> Any:
    inner = [getattr(torch.nn, name)(*parts) for name, parts in layers]
    given, keywords = on_device(trial, made, named)
    return make(*inner, *given, **keywords)


def _joined(output: Any) -> Any:
    return (torch.stack(output) if isinstance(output, tuple) else output).detach()


def _check_hooks(trial: Trial, module: Any, given: Sequence[Any], children: bool) -> None:
    called: list[str] = []
    handles = []
    for number, part in enumerate([module, *(module.children() if children else [])]):
        name = str(number)

        def before(_: Any, inputs: Any, name: str = name) -> None:
            called.append(f"before {name}")

        def after(_: Any, inputs: Any, output: Any, name: str = name) -> None:
            called.append(f"after {name}")

        handles += [part.register_forward_pre_hook(before), part.register_forward_hook(after)]
    inner = [f"{when} {place}" for place in range(1, len(handles) // 2) for when in ("before", "after")]
    first = trial.numpy(_joined(trial.call_method(module, "__call__", *given)))
    trial.equal(called, ["before 0", *inner, "after 0"])
    handles.pop(0).remove()
    doubled = module.register_forward_hook(lambda _, inputs, output: 2 * _joined(output))
    second = trial.call_method(module, "__call__", *given)
    trial.close(_joined(second), 2 * first, dtype="float32", **_TOLERANCES)
    trial.equal(called[len(inner) + 2 :], [*inner, "after 0"])
    for handle in [*handles, doubled]:
        handle.remove()

"""Instances of a class compared with a new instance on the host: made and called by keywords, and with weights that
change between calls."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import torch

from runners.core.public import names
from runners.core.testing import tree
from runners.core.testing.inputs import Builder
from runners.core.testing.trial import Trial
from runners.torch.cases.layers import filled

_TOLERANCES: Mapping[str, float] = {"rtol": 1e-5, "atol": 2e-5}
"""Of float32: the device sums in another order than the host."""


def by_keywords(
    trial: Trial,
    made: Mapping[str, Any],
    inputs: Mapping[str, Any],
    training: bool = True,
    method: str = "__call__",
    dtype: str = "float32",
) -> None:
    """An instance that is made and called by keywords gives what one gives that is made and called by position.

    ``made`` and ``inputs`` have all parameters in the order of the documentation.
    """
    builder = Builder(trial, names.framework(trial.framework))
    parts, given = builder.named(made), builder.named(inputs)
    instance = _ready(trial, trial.make(**{key: item.device for key, item in parts.items()}), dtype, training)
    output = trial.call_method(instance, method, **{key: item.device for key, item in given.items()})
    with trial.on_host():
        host = Builder(trial, names.framework(trial.framework))
        known = trial.function(*(item.device for item in host.named(made).values()))
        expected = getattr(_like(known, instance, training), method)(
            *(item.device for item in host.named(inputs).values())
        )
    _check(trial, output, expected, dtype)


def weights_change(
    trial: Trial,
    made: Sequence[Any],
    args: Sequence[Any],
    named: Mapping[str, Any] = {},
    training: bool = False,
    layers: Sequence[Any] = (),
    dtype: str = "float32",
) -> None:
    """With gradients or without, each output is that of the weights at that time, however they were changed: written
    over, scaled in place, given other memory, loaded, or replaced by other parameters.

    ``layers``: the instance is made of these, names of classes in torch.nn and their arguments.
    """
    trial.repeatable = False

    def new() -> Any:
        builder = Builder(trial, names.framework(trial.framework))
        inner = [getattr(torch.nn, name)(*parts) for name, parts in layers]
        options = {key: item.device for key, item in builder.named(named).items()}
        return trial.function(*inner, *(item.device for item in builder.all(made)), **options)

    def inputs() -> Any:
        return [item.device for item in Builder(trial, names.framework(trial.framework)).all(args)]

    instance, given = _ready(trial, new(), dtype, training), inputs()
    for change in (_kept, _scaled, _written, _moved, _loaded, _replaced):
        with torch.no_grad():
            change(trial, instance)
        with trial.on_host():
            expected = _like(new(), instance, training)(*inputs())
        for wanted in (False, True):
            with torch.set_grad_enabled(wanted):
                _check(trial, trial.call_method(instance, "__call__", *given), expected, dtype)


def _ready(trial: Trial, instance: Any, dtype: str, training: bool) -> Any:
    if not isinstance(instance, torch.nn.Module):
        return instance
    instance.to(trial.device, trial.dtype(dtype)).train(training)
    filled(trial, instance, dtype)
    return instance


def _like(made: Any, instance: Any, training: bool) -> Any:
    """An instance of the host with the state of another one."""
    if isinstance(instance, torch.nn.Module):
        made.to(next((each.dtype for each in instance.parameters()), torch.float32)).train(training)
        made.load_state_dict(instance.state_dict())
    return made


def _check(trial: Trial, output: Any, expected: Any, dtype: str) -> None:
    found = [leaf for leaf in tree.leaves(output) if isinstance(leaf, torch.Tensor)]
    wanted = [leaf for leaf in tree.leaves(expected) if isinstance(leaf, torch.Tensor)]
    trial.equal(len(found), len(wanted))
    for one, other in zip(found, wanted):
        name = trial.dtype_name(other) or ""
        allowed = _TOLERANCES if name == "float32" else {}
        trial.close(one.detach(), trial.numpy(other.detach()), dtype=name, **allowed)


def _kept(trial: Trial, instance: Any) -> None:
    pass


def _scaled(trial: Trial, instance: Any) -> None:
    for parameter in instance.parameters():
        parameter.mul_(-1.5).add_(0.125)


def _written(trial: Trial, instance: Any) -> None:
    for parameter, values in _others(trial, instance, 500):
        parameter.copy_(values)


def _moved(trial: Trial, instance: Any) -> None:
    for parameter, values in _others(trial, instance, 600):
        parameter.data = values


def _loaded(trial: Trial, instance: Any) -> None:
    values = [values for _, values in _others(trial, instance, 700)]
    state = dict(instance.state_dict())
    state.update(zip([name for name, _ in instance.named_parameters()], values))
    instance.load_state_dict(state)


def _replaced(trial: Trial, instance: Any) -> None:
    for name, (_, values) in zip([n for n, _ in instance.named_parameters()], _others(trial, instance, 800)):
        owner, _, last = name.rpartition(".")
        setattr(instance.get_submodule(owner), last, torch.nn.Parameter(values))


def _others(trial: Trial, instance: Any, seed: int) -> Sequence[Any]:
    """Each parameter, and a tensor of its shape with values of both signs."""
    found = []
    for number, parameter in enumerate(list(instance.parameters())):
        values = trial.random(*parameter.shape, dtype=trial.dtype_name(parameter) or "", seed=seed + number) * 0.5
        found.append((parameter, trial.tensor(values)))
    return found

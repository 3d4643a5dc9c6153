"""Random functions, methods of modules and new instances in other surroundings: nothing else is disturbed."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import torch

from runners.core.testing.inputs import on_device
from runners.core.testing.trial import Trial
from runners.torch.surroundings import SURROUNDINGS, check_flags, flags_of, is_state


def draws(
    trial: Trial,
    args: Sequence[Any],
    options: Mapping[str, Any] = {},
    made: Sequence[Any] | None = None,
    generator: bool = False,
) -> None:
    """In each of the surroundings the same seed gives the same draws, and the random state that follows. A call changes
    no flag and no other random state: with ``generator`` it has one of its own, and PyTorch's is not moved.

    ``made``: the function is a class, whose instance is made of these arguments.
    """
    trial.repeatable, trial.writes = False, True
    outputs = []
    for surrounding in SURROUNDINGS.values():
        instance = None if made is None else trial.make(*made)
        given, named = on_device(trial, args, options)
        own = torch.Generator(device=trial.device).manual_seed(5) if generator else None
        if own is not None:
            named["generator"] = own
        with surrounding():
            torch.manual_seed(5 if own is None else 6)
            before = flags_of(instance, given, named)
            if instance is None:
                output = trial.call(*given, **named)
            else:
                output = trial.call_method(instance, "__call__", *given, **named)
            after = flags_of(instance, given, named)
            if own is None:
                before, after = ([each for each in flags if not is_state(each)] for flags in (before, after))
            check_flags(trial, before, after)
            state = (torch.get_rng_state() if own is None else own.get_state()).tolist()
            following = trial.numpy(torch.rand(8, device=trial.device, generator=own, dtype=torch.float32))
        outputs.append([trial.numpy(output.detach()).copy(), state, following])
        trial.equal(outputs[-1], outputs[0])


def evaluation(trial: Trial, made: Sequence[Any], args: Sequence[Any]) -> None:
    """A module that drops values in training draws nothing in an evaluation, also after a training: the random numbers
    that follow are those of the seed."""
    trial.repeatable = False
    module = trial.make(*made).to(trial.device)
    given, _ = on_device(trial, args, {})
    for training in (False, True, False):
        torch.manual_seed(5)
        expected = trial.numpy(torch.rand(8, device=trial.device))
        torch.manual_seed(5)
        trial.call_method(module.train(training), "__call__", *given)
        same = bool((trial.numpy(torch.rand(8, device=trial.device)) == expected).all())
        trial.check(same != training, f"training is {training}: the random numbers that follow are the same: {same}")


def of_module(trial: Trial, kind: str, made: Sequence[Any], args: Sequence[Any] = ()) -> None:
    """In each of the surroundings the method of a module of this ``kind`` changes no flag, no random state, no mode of
    the module, and neither its options nor which parameters want gradients."""
    trial.repeatable, trial.writes = False, True
    for training in (True, False):
        for surrounding in SURROUNDINGS.values():
            module = getattr(torch.nn, kind)(*made).to(trial.device).train(training)
            for number, parameter in enumerate(module.parameters()):
                parameter.requires_grad_(number != 1)
                parameter.grad = torch.ones_like(parameter)
            known = list(module.parameters())
            given, _ = on_device(trial, args)
            with surrounding():
                before = [*flags_of(None, [], {}), *_module_facts(module, known)]
                trial.call(module, *given)
                after = [*flags_of(None, [], {}), *_module_facts(module, known)]
            check_flags(trial, before, after)


def making(trial: Trial, made: Sequence[Any], state: Sequence[str], named: Mapping[str, Any] = {}) -> None:
    """In each of the surroundings an instance of the class has the parameters and buffers of ``state``, in this order.
    Parameters are leaves of the default dtype that want gradients, and are the same after the same seed. No flag and no
    other random state is changed, and the instance is in training mode and has no hook and no gradient."""
    trial.repeatable = False
    first: dict[str, Any] = {}
    for name, surrounding in SURROUNDINGS.items():
        if name == "inference":
            continue  # Parameters that are made there cannot be trained.
        given, options = on_device(trial, made, named)
        with surrounding():
            torch.manual_seed(5)
            before = [each for each in flags_of(None, [], {}) if not is_state(each)]
            instance = trial.call(*given, **options)
            after = [each for each in flags_of(None, [], {}) if not is_state(each)]
            dtype = trial.dtype_name(torch.zeros(0)) or ""
        check_flags(trial, before, after)
        trial.equal(list(instance.state_dict()), list(state))
        for each in instance.modules():
            trial.check(each.training and not each._forward_hooks and not each._backward_hooks, "it is not as new")
        for key, parameter in instance.named_parameters():
            facts = [parameter.requires_grad, parameter.is_leaf, parameter.grad is None, trial.dtype_name(parameter)]
            trial.equal([key, *facts], [key, True, True, True, dtype])
            values = trial.numpy(parameter.detach())
            if dtype == "float32":
                trial.equal(values, first.setdefault(key, values.copy()))
        trial.check(isinstance(instance, torch.nn.Module), "it is no module")


def _module_facts(module: Any, parameters: Sequence[Any]) -> list[Any]:
    options = [f"{key}={value}" for key, value in vars(module).items() if isinstance(value, (bool, int, float))]
    return [*options, *([each.requires_grad, each.is_leaf, str(each.dtype)] for each in parameters)]

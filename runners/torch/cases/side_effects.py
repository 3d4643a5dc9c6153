"""What calls do besides their result: random states and flags, and memory that outputs share with inputs."""

from __future__ import annotations

import random
from typing import Any, Callable, Mapping, Sequence
from unittest import mock

import numpy as np
import torch

from runners.core.testing import tree
from runners.core.testing.inputs import on_device
from runners.core.testing.trial import Trial
from runners.torch.cases.turns import case_named
from runners.torch.made import call_of

_CALLS = ("make", "call", "call_method", "call_inside")


def states_kept(trial: Trial, case: str, params: Mapping[str, Any] = {}) -> None:
    """No construction and no call of another case changes a random state or a flag of the process.

    ``case``: "call" or the "module.name" of a case, with its parameters.
    """

    def watched(name: str) -> Callable[..., Any]:
        call = getattr(trial, name)

        def noted(*args: Any, **kwargs: Any) -> Any:
            before = _states()
            output = call(*args, **kwargs)
            changed = [key for key, value in _states().items() if value != before[key]]
            trial.check(not changed, f"{name} has changed: {', '.join(changed)}")
            return output

        return noted

    with mock.patch.multiple(trial, **{name: watched(name) for name in _CALLS}):
        case_named(case)(trial, **params)


def _states() -> dict[str, Any]:
    return {
        "the random state of PyTorch": torch.get_rng_state().tolist(),
        "the random state of NumPy": str(np.random.get_state()),
        "the random state of Python": random.getstate(),
        "whether gradients are on": torch.is_grad_enabled(),
        "the default dtype": torch.get_default_dtype(),
        "anomaly detection": torch.is_anomaly_enabled(),
        "deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
        "the number of threads": torch.get_num_threads(),
    }


def own_memory(
    trial: Trial,
    args: Sequence[Any],
    options: Mapping[str, Any] = {},
    made: Sequence[Any] | None = None,
    named: Mapping[str, Any] = {},
) -> None:
    """What is written into the outputs later does not reach an argument, and what is written into the arguments does
    not reach an output.

    ``made``: the function is a class, whose instance is made of these arguments and the ``named`` ones.
    """
    given, keywords = on_device(trial, args, options)
    call = call_of(trial, made, named)
    trial.repeatable = False
    outputs = _tensors(call(*given, **keywords))
    inputs = _tensors([given, keywords])
    with torch.no_grad():
        for written, watched in ((outputs, inputs), (inputs, outputs)):
            before = [trial.numpy(each.detach()).copy() for each in watched]
            for each in written:
                each.detach().copy_(1 - each.detach().to(torch.int64) % 2)
            for each, values in zip(watched, before):
                trial.equal(trial.numpy(each.detach()), values)


def views_apart(trial: Trial, args: Sequence[Any], options: Mapping[str, Any] = {}) -> None:
    """Each output is a tensor of its own and shares the memory of an argument: what is written there is seen. It
    requires a gradient if its own argument does, whatever the others do."""
    given, keywords = on_device(trial, args, options)
    inputs = _tensors([given, keywords])
    for chosen in [None, *range(len(inputs))]:
        for number, each in enumerate(inputs):
            each.requires_grad_(number == chosen and each.is_floating_point())
        trial.repeatable = False
        outputs = _tensors(trial.call(*given, **keywords))
        trial.equal([each.requires_grad for each in outputs], [each.requires_grad for each in inputs])
        for output, each in zip(outputs, inputs):
            trial.check(output is not each, "the output is the argument itself")
            trial.equal(output.data_ptr(), each.data_ptr())
            with torch.no_grad():
                each.fill_(3)
            trial.equal(trial.numpy(output.detach()), np.full(list(output.shape), 3))


def _tensors(value: Any) -> list[Any]:
    return [leaf for leaf in tree.leaves(value) if isinstance(leaf, torch.Tensor)]


def order_kept(
    trial: Trial,
    args: Sequence[Any],
    options: Mapping[str, Any] = {},
    made: Sequence[Any] | None = None,
    named: Mapping[str, Any] = {},
) -> None:
    """The output has the strides of the first argument, whose axes have an order of their own in memory."""
    given, keywords = on_device(trial, args, options)
    output = call_of(trial, made, named)(*given, **keywords)
    trial.equal([list(output.shape), list(output.stride())], [list(given[0].shape), list(given[0].stride())])
    with trial.on_host():
        host, further = on_device(trial, args, options)
        known = trial.function if made is None else trial.function(*on_device(trial, made)[0], **named)
        trial.close(output.detach(), trial.numpy(known(*host, **further).detach()))


def modes_agree(trial: Trial, args: Sequence[Any], made: Sequence[Any], named: Mapping[str, Any] = {}) -> None:
    """A module without state of its own gives the same in evaluation as in training, with the same gradients of the
    first argument, in whatever order the modes are chosen."""
    given, _ = on_device(trial, args)
    module = trial.make(*on_device(trial, made)[0], **named).to(trial.device)
    trial.repeatable, found = False, []
    for training in (True, False, False, True, False):
        trial.equal(module.train(training).training, training)
        tensor = given[0].detach().clone().requires_grad_()
        output = trial.call_method(module, "__call__", tensor, *given[1:])
        trial.check(output.grad_fn is not None, "the output has no history")
        (gradient,) = torch.autograd.grad(output.sum(), [tensor])
        found.append((trial.numpy(output.detach()), trial.numpy(gradient)))
    for output, gradient in found[1:]:
        trial.equal(output, found[0][0])
        trial.equal(gradient, found[0][1])

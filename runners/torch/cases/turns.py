"""Several calls in turns: with other arguments, with the same tensors and other values, with and without gradients."""

from __future__ import annotations

import copy
from typing import Any, Callable, Mapping, Sequence
from unittest import mock

import numpy as np
import torch

from runners.core.public import names
from runners.core.testing import cases, tree
from runners.core.testing.inputs import Builder
from runners.core.testing.trial import Trial

_SEEDS_OF_A_CALL = 100


def in_turns(trial: Trial, calls: Sequence[Sequence[Any]]) -> None:
    """Each call gives what belongs to its own arguments, also after other shapes, dtypes and options, and no later
    call changes what an earlier one returned.

    ``calls``: "call" or the "module.name" of a case, with parameters. All are called in this order, then again in this
    order with other random values.
    """
    call, seed, number = trial.call, trial.seed, 0
    outputs: list[Any] = []
    before: list[Any] = []

    def noted(*args: Any, **kwargs: Any) -> Any:
        output = call(*args, **kwargs)
        outputs.append(output)
        return output

    def other(given: int) -> int:
        return seed(given + _SEEDS_OF_A_CALL * number)

    with mock.patch.object(trial, "call", noted), mock.patch.object(trial, "seed", other):
        for turn, (name, params) in enumerate([*calls, *calls]):
            number, begin = turn, len(outputs)
            case_named(name)(trial, **params)
            # The case itself may write to its outputs.
            before += [copy.deepcopy(_host(trial, output)) for output in outputs[begin:]]
    for output, values in zip(outputs, before):
        for found, expected in zip(_host(trial, output), values):
            trial.check(np.array_equal(found, expected, equal_nan=found.dtype.kind in "fc"), "a later call changed it")


def case_named(name: str) -> Callable[..., None]:
    """``call``, or the case ``module.name``."""
    return cases.case(name if name == "call" else "torch." + name.replace(".", ":"))


def _host(trial: Trial, output: Any) -> list[Any]:
    """The strided tensors of an output on the host."""
    tensors = [leaf for leaf in tree.leaves(output) if isinstance(leaf, torch.Tensor) and leaf.layout == torch.strided]
    return [trial.numpy(tensor.detach()) for tensor in tensors]


def same_tensors(trial: Trial, case: str, params: Mapping[str, Any]) -> None:
    """After other values were written into the tensors of a call, the same call gives the results of these.

    ``case``: "call" or the "module.name" of a case. It is run three times with its parameters, each time with other
    values in the tensors of the first time.
    """
    make, seed, keep, number = trial.tensor, trial.seed, trial.keep, 0
    tensors: list[Any] = []
    places = iter(tensors)

    def written(*args: Any, **kwargs: Any) -> Any:
        made = make(*args, **kwargs)
        if number == 0:
            tensors.append(made)
            return made
        tensor = next(places)
        with torch.no_grad():
            tensor.copy_(made)
        tensor.grad = None
        return tensor

    def other(given: int) -> int:
        return seed(given + _SEEDS_OF_A_CALL * number)

    def kept(output: Any) -> None:
        """Keep only the last output: the arguments of the others change."""
        if number == 2:
            keep(output)

    patches: Any = {"tensor": written, "seed": other, "keep": kept}
    with mock.patch.multiple(trial, **patches):
        for turn in range(3):
            number = turn
            places = iter(tensors)
            case_named(case)(trial, **params)


def same_inputs(trial: Trial, calls: Sequence[Sequence[Any]]) -> None:
    """Each call gives what belongs to its own options, also after calls of the same tensors with other options.

    ``calls``: as for in_turns, with equal tensors. All get the tensors of the first one.
    """
    make = trial.tensor
    tensors: list[Any] = []
    place = 0

    def made_once(*args: Any, **kwargs: Any) -> Any:
        nonlocal place
        place += 1
        if place > len(tensors):
            tensors.append(make(*args, **kwargs))
        return tensors[place - 1]

    with mock.patch.object(trial, "tensor", made_once):
        for name, params in [*calls, *calls]:
            place = 0
            case_named(name)(trial, **params)


def gradient_modes(
    trial: Trial,
    args: Sequence[Any],
    options: Mapping[str, Any] = {},
    made: Sequence[Any] | None = None,
    named: Mapping[str, Any] = {},
) -> None:
    """A call has a history if gradients are wanted at that time, whatever the calls before it were, and the gradients
    are the same each time. The values do not depend on it.

    ``made``: the function is a class, whose instance is made of these arguments and the ``named`` ones.
    """
    builder = Builder(trial, names.framework(trial.framework))
    given = [item.device for item in builder.all(args)]
    floating = [leaf for leaf in tree.leaves(given) if isinstance(leaf, torch.Tensor) and leaf.is_floating_point()]
    named_options = {key: item.device for key, item in builder.named(options).items()}
    module = None
    if made is not None:
        module = trial.make(*(item.device for item in builder.all(made)), **named).to(trial.device)
    outputs: list[Any] = []
    gradients: list[Any] = []
    trial.repeatable = False
    for mode in ("off", "on", "wanted by none", "off", "on", "inference"):
        for tensor in floating:
            tensor.requires_grad_(mode != "wanted by none").grad = None
        for parameter in [] if module is None else module.parameters():
            parameter.requires_grad_(mode != "wanted by none").grad = None
        torch.manual_seed(3)
        with torch.inference_mode(mode == "inference"), torch.set_grad_enabled(mode not in ("off", "inference")):
            if module is None:
                output = trial.call(*given, **named_options)
            else:
                output = trial.call_method(module, "__call__", *given, **named_options)
        leaves = [leaf for leaf in tree.leaves(output) if isinstance(leaf, torch.Tensor)]
        # Not every output has a gradient. A view says that it requires one if its base does.
        with_history = [leaf for leaf in leaves if leaf.grad_fn is not None]
        trial.equal(bool(with_history), mode == "on")
        outputs.append([trial.numpy(leaf.detach()).copy() for leaf in leaves])
        if mode == "on":
            total = sum(
                (leaf * trial.tensor(trial.random(*leaf.shape, seed=9), trial.dtype_name(leaf))).sum()
                for leaf in with_history
            )
            total.backward()
            gradients.append([trial.numpy(tensor.grad).copy() for tensor in floating])
    for later in outputs[1:]:
        for found, expected in zip(later, outputs[0]):
            trial.close(found, expected)
    for found, expected in zip(gradients[1], gradients[0]):
        trial.close(found, expected)
        trial.check(expected.size == 0 or np.abs(expected).max() > 0, "the gradient is zero")

"""Calls in other surroundings: modes, default dtype, and flags of the caller, which stay as they are."""

from __future__ import annotations

from typing import Any, Mapping, Sequence
from unittest import mock

import numpy as np
import torch

from runners.core.testing import tree
from runners.core.testing.inputs import on_device
from runners.core.testing.trial import Trial
from runners.torch.cases.layers import filled
from runners.torch.surroundings import SURROUNDINGS, check_flags, flags_of

_SEEDS_OF_A_CALL = 100
_ALLOWED: Mapping[str, Any] = {
    "float32": {"rtol": 1e-5, "atol": 2e-5},
    "float64": {"rtol": 1e-11, "atol": 1e-12},
    "complex64": {"rtol": 1e-5, "atol": 2e-5},
}
"""The device sums in another order than the host."""


def kept(
    trial: Trial,
    args: Sequence[Any],
    options: Mapping[str, Any] = {},
    made: Sequence[Any] | None = None,
    named: Mapping[str, Any] = {},
    method: str = "__call__",
    layers: Sequence[Any] = (),
    training: bool = True,
    inference: bool = False,
) -> None:
    """With and without gradients, with another default dtype, with and without deterministic algorithms
    and while anomalies are detected, each call gives what its own arguments give on the host in the same
    surroundings. No later call changes an earlier output, and no call changes a flag, a random state, or whether a
    tensor wants a gradient.

    Tensors that are given keep their values. ``inference``: the same in inference mode alone.

    ``made``: the function is a class, whose instance is made of these arguments and the ``named`` ones, behind
    ``layers``. One that is no module is made for each call.
    """
    trial.repeatable = False
    seed, outputs = trial.seed, []
    chosen = [each for each in SURROUNDINGS.items() if (each[0] == "inference") is inference]
    with trial.on_host():
        known = _made(trial, trial.function, made, named, layers)
    module = _made(trial, trial.make, made, named, layers)
    if isinstance(module, torch.nn.Module):
        filled(trial, module.to(trial.device).train(training), "float32")
        known.train(training).load_state_dict(module.state_dict())
    for number, (mode, surrounding) in enumerate(chosen):

        def other(given: int, number: int = number) -> int:
            return seed(given + _SEEDS_OF_A_CALL * number)

        with mock.patch.object(trial, "seed", other):
            given, keywords = on_device(trial, args, options)
            instance = _made(trial, trial.make, made, named, layers) if _is_plain(module) else module
            with trial.on_host():
                host, host_keywords = on_device(trial, args, options)
                like = _made(trial, trial.function, made, named, layers) if _is_plain(known) else known
        floating = [leaf for leaf in tree.leaves([given, keywords]) if _is_floating(leaf)]
        for place, leaf in enumerate(floating):
            leaf.requires_grad_(mode == "gradients" and place == 0)
        with surrounding(), trial.on_host():
            expected = _called(trial.function, like, method)(*host, **host_keywords)
        leaves = [leaf for leaf in tree.leaves([given, keywords]) if isinstance(leaf, torch.Tensor)]
        values = [trial.numpy(leaf.detach()).copy() for leaf in leaves if leaf.layout == torch.strided]
        with surrounding():
            before = flags_of(instance, given, keywords)
            if made is None:
                output = trial.call(*given, **keywords)
            else:
                output = trial.call_method(instance, method, *given, **keywords)
            after = flags_of(instance, given, keywords)
        check_flags(trial, before, after)
        trial.equal([trial.numpy(leaf.detach()) for leaf in leaves if leaf.layout == torch.strided], values)
        trial.equal(_others(output), _others(expected))
        found, right = (_tensors(each) for each in (output, expected))
        trial.equal(len(found), len(right))
        for one, other_one in zip(found, right):
            dtype = trial.dtype_name(other_one) or ""
            trial.close(one.detach(), trial.numpy(other_one.detach()), dtype=dtype, **_ALLOWED.get(dtype, {}))
        outputs.append((found, [trial.numpy(each.detach()).copy() for each in found]))
    for found, values in outputs:
        for one, value in zip(found, values):
            same = np.array_equal(trial.numpy(one.detach()), value, equal_nan=value.dtype.kind in "fc")
            trial.check(same, "a later call changed an earlier output")


def _made(trial: Trial, make: Any, made: Sequence[Any] | None, named: Mapping[str, Any], layers: Sequence[Any]) -> Any:
    if made is None:
        return None
    inner = [getattr(torch.nn, name)(*parts) for name, parts in layers]
    given, keywords = on_device(trial, made, named)
    return make(*inner, *given, **keywords)


def _is_plain(instance: Any) -> bool:
    return instance is not None and not isinstance(instance, torch.nn.Module)


def _called(function: Any, instance: Any, method: str) -> Any:
    return function if instance is None else getattr(instance, method)


def _tensors(output: Any) -> list[Any]:
    return [leaf for leaf in tree.leaves(output) if isinstance(leaf, torch.Tensor) and leaf.layout == torch.strided]


def _others(output: Any) -> list[Any]:
    """What is no tensor in an output: sizes, numbers, truths, and their types."""
    others = [leaf for leaf in tree.leaves(output) if isinstance(leaf, (bool, int, float))]
    return [[type(leaf).__name__, leaf] for leaf in others]


def _is_floating(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.is_floating_point()

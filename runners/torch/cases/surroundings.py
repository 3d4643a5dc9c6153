"""Calls in other surroundings: modes, default dtype, and flags of the caller, which stay as they are."""

from __future__ import annotations

import contextlib
import functools
import random
import warnings
from typing import Any, Callable, ContextManager, Iterator, Mapping, Sequence
from unittest import mock

import numpy as np
import torch

from runners.core.testing import tree
from runners.core.testing.inputs import on_device
from runners.core.testing.trial import Trial
from runners.torch.cases.layers import filled

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
) -> None:
    """With and without gradients, with another default dtype, with and without deterministic algorithms, in inference
    mode and while anomalies are detected, each call gives what its own arguments give on the host in the same
    surroundings. No later call changes an earlier output, and no call changes a flag, a random state, or whether a
    tensor wants a gradient.

    ``made``: the function is a class, whose instance is made of these arguments and the ``named`` ones, behind
    ``layers``. One that is no module is made for each call.
    """
    trial.repeatable = False
    seed, outputs = trial.seed, []
    with trial.on_host():
        known = _made(trial, trial.function, made, named, layers)
    module = _made(trial, trial.make, made, named, layers)
    if isinstance(module, torch.nn.Module):
        filled(trial, module.to(trial.device).train(training), "float32")
        known.train(training).load_state_dict(module.state_dict())
    for number, (mode, surrounding) in enumerate(_SURROUNDINGS.items()):

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
        with surrounding():
            before = _flags(instance, given, keywords)
            if made is None:
                output = trial.call(*given, **keywords)
            else:
                output = trial.call_method(instance, method, *given, **keywords)
            after = _flags(instance, given, keywords)
        _check_flags(trial, before, after)
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
    for surrounding in _SURROUNDINGS.values():
        instance = None if made is None else trial.make(*made)
        given, named = on_device(trial, args, options)
        own = torch.Generator(device=trial.device).manual_seed(5) if generator else None
        if own is not None:
            named["generator"] = own
        with surrounding():
            torch.manual_seed(5 if own is None else 6)
            before = _flags(instance, given, named)
            if instance is None:
                output = trial.call(*given, **named)
            else:
                output = trial.call_method(instance, "__call__", *given, **named)
            after = _flags(instance, given, named)
            if own is None:
                before, after = ([each for each in flags if not _is_state(each)] for flags in (before, after))
            _check_flags(trial, before, after)
            state = (torch.get_rng_state() if own is None else own.get_state()).tolist()
            following = trial.numpy(torch.rand(8, device=trial.device, generator=own, dtype=torch.float32))
        outputs.append([trial.numpy(output.detach()).copy(), state, following])
        trial.equal(outputs[-1], outputs[0])


def of_module(trial: Trial, kind: str, made: Sequence[Any], args: Sequence[Any] = ()) -> None:
    """In each of the surroundings the method of a module of this ``kind`` changes no flag, no random state, no mode of
    the module, and neither its options nor which parameters want gradients."""
    trial.repeatable, trial.writes = False, True
    for training in (True, False):
        for surrounding in _SURROUNDINGS.values():
            module = getattr(torch.nn, kind)(*made).to(trial.device).train(training)
            for number, parameter in enumerate(module.parameters()):
                parameter.requires_grad_(number != 1)
                parameter.grad = torch.ones_like(parameter)
            known = list(module.parameters())
            given, _ = on_device(trial, args)
            with surrounding():
                before = [*_flags(None, [], {}), *_module_facts(module, known)]
                trial.call(module, *given)
                after = [*_flags(None, [], {}), *_module_facts(module, known)]
            _check_flags(trial, before, after)


def _module_facts(module: Any, parameters: Sequence[Any]) -> list[Any]:
    options = [f"{key}={value}" for key, value in vars(module).items() if isinstance(value, (bool, int, float))]
    return [*options, *([each.requires_grad, each.is_leaf, str(each.dtype)] for each in parameters)]


def _check_flags(trial: Trial, before: Sequence[Any], after: Sequence[Any]) -> None:
    changed = [f"{one} became {other_one}" for one, other_one in zip(before, after) if one != other_one]
    trial.check(len(before) == len(after) and not changed, f"a flag has changed: {'; '.join(changed)[:200]}")


@contextlib.contextmanager
def _float64() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad():
            yield
    finally:
        torch.set_default_dtype(torch.float32)


@contextlib.contextmanager
def _deterministic(wanted: bool) -> Iterator[None]:
    """A warning, and no error, comes from what has no deterministic algorithm on the device."""
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(wanted, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)


_SURROUNDINGS: Mapping[str, Callable[[], ContextManager[Any]]] = {
    "no gradients": torch.no_grad,
    "gradients": torch.enable_grad,
    "default dtype": _float64,
    "no gradients again": torch.no_grad,
    "anomalies": torch.autograd.detect_anomaly,
    "deterministic": functools.partial(_deterministic, True),
    "not deterministic": functools.partial(_deterministic, False),
    "inference": torch.inference_mode,
}


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


class _State(list):
    """The state of PyTorch's default generator, among other flags."""


def _is_state(flag: Any) -> bool:
    return isinstance(flag, _State)


def _flags(instance: Any, given: Sequence[Any], keywords: Mapping[str, Any]) -> list[Any]:
    """The flags of PyTorch, the random states of the host, and those of tensors and modules."""
    tensors = [leaf for leaf in tree.leaves([given, keywords]) if isinstance(leaf, torch.Tensor)]
    flags = [
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        str(torch.get_default_dtype()),
        torch.is_anomaly_enabled(),
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        torch.is_autocast_enabled(),
        torch.get_float32_matmul_precision(),
        torch.backends.cudnn.enabled,
        torch.backends.cudnn.benchmark,
        torch.backends.cudnn.deterministic,
        torch.get_num_threads(),
        str(np.geterr()),
        str(warnings.filters),
        _State(torch.get_rng_state().tolist()),
        str(np.random.get_state()),
        random.getstate(),
    ]
    if isinstance(instance, torch.nn.Module):
        tensors += [*instance.parameters(), *instance.buffers()]
        flags += [each.training for each in instance.modules()]
    return [*flags, *([each.requires_grad, each.is_leaf, each.grad is None, str(each.dtype)] for each in tensors)]

"""Another case of the same function, with every tensor a view of a larger one.

Inputs, outputs given as out=, parameters, buffers, gradients and states are such views. The case must give the same
results, and what lies between and around the elements must stay as it is. Gradients that enter the function from above
are views too.
"""

from __future__ import annotations

from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence
from unittest import mock

import numpy as np
import torch

from runners.core.testing import arrays, inputs, tree
from runners.core.testing.trial import Trial
from runners.torch.cases.turns import case_named

_AROUND = 93
"""The elements that belong to no view. No input has this number."""


class _Place(NamedTuple):
    """A tensor, or its shape, and what cuts a view out of it."""

    whole: Any
    cut: Callable[[Any], Any]


def _alone(shape: Sequence[int]) -> _Place:
    """A whole tensor, with nothing around it."""
    return _Place([*shape], lambda whole: whole)


def _inner(shape: Sequence[int]) -> _Place:
    """The middle of a tensor with one more element on each side of every axis."""
    return _Place([size + 2 for size in shape], lambda whole: whole[tuple(slice(1, size + 1) for size in shape)])


def _every_second(shape: Sequence[int]) -> _Place:
    """Every second element of each axis, from the second on."""
    return _Place([2 * size + 1 for size in shape], lambda whole: whole[tuple(slice(1, None, 2) for _ in shape)])


def _reversed(shape: Sequence[int]) -> _Place:
    """A dense part from the middle of memory, with the axes in reversed order."""
    first, *others = [*shape][::-1]
    back = [*range(len(shape))][::-1]
    return _Place([first + 2, *others], lambda whole: whole[1 : first + 1].permute(back))


def _channels_last(shape: Sequence[int]) -> _Place:
    """A dense part from the middle of memory, with the second axis last in memory; of fewer than four axes, as
    _inner."""
    if len(shape) < 4:
        return _inner(shape)
    count, channels, *extents = shape
    back = [0, len(shape) - 1, *range(1, len(shape) - 1)]
    return _Place([count + 2, *extents, channels], lambda whole: whole[1 : count + 1].permute(back))


def _lazy(values: Any) -> Any:
    """A tensor with these values that PyTorch conjugates or negates only when it is read."""
    if values.is_complex():
        return values.conj().resolve_conj().conj()
    if values.dtype in (torch.float32, torch.float64):
        return torch.complex(torch.zeros_like(values), -values).conj().imag
    return values


_PLACES: Mapping[str, Callable[[Sequence[int]], _Place]] = {
    "alone": _alone,
    "every_second": _every_second,
    "inner": _inner,
    "reversed": _reversed,
    "channels_last": _channels_last,
}
_MIXED = ("every_second", "inner", "reversed")
_INPUTS_ONLY = ("expanded", "lazy")
"""Ways that parameters and states cannot have."""


def within(trial: Trial, case: str, params: Mapping[str, Any], view: str) -> None:
    """A case gives the same results if its tensors are views of larger ones, and what is around them stays.

    ``case``: "call" or the "module.name" of a case, with its ``params``. ``view``: how every tensor lies in the larger
    one; mixed, in several ways in turn; expanded, random arrays have equal slices along their first axis, and are one
    slice that is expanded; lazy, conjugated or negated when it is read; alone, no view.
    """
    kept: list[_Place] = []
    turn: Iterator[str] = _turns(view)

    def placed(tensor: Any) -> Any:
        if not isinstance(tensor, torch.Tensor) or tensor.layout != torch.strided:
            return tensor
        values = tensor.detach()
        if view == "lazy":
            return _lazy(values).requires_grad_(tensor.requires_grad)
        if view == "expanded":
            is_even = values.dim() > 0 and len(values) > 1 and bool(((values == values[:1]) | (values != values)).all())
            return values[:1].clone().expand(values.shape).requires_grad_(tensor.requires_grad) if is_even else tensor
        shape, cut = _PLACES[next(turn)](values.shape) if values.dim() else _Place([3], lambda whole: whole[1])
        whole = torch.full(shape, _AROUND, dtype=values.dtype, device=values.device)
        part = cut(whole)
        part.copy_(values)
        kept.append(_Place(whole, cut))
        return part.requires_grad_(tensor.requires_grad)

    def place_parts(module: Any) -> None:
        """Parameters, buffers and gradients stay the same objects, with other memory."""
        for each in [] if view in _INPUTS_ONLY else [*module.parameters(), *module.buffers()]:
            each.data = placed(each.data)
            if each.grad is not None:
                each.grad.data = placed(each.grad.data)

    def turned(output: Any) -> Any:
        for leaf in tree.leaves(output):
            if isinstance(leaf, torch.Tensor) and leaf.grad_fn is not None:
                leaf.register_hook(lambda gradient: None if gradient is None else placed(gradient).detach())
        return output

    tensor, make, call, call_method = trial.tensor, trial.make, trial.call, trial.call_method

    def made(*args: Any, **kwargs: Any) -> Any:
        instance = make(*args, **kwargs)
        if isinstance(instance, torch.nn.Module):
            place_parts(instance)
        return instance

    def called(*args: Any, **kwargs: Any) -> Any:
        for module in args:
            if isinstance(module, torch.nn.Module):
                place_parts(module)
        return turned(call(*args, **kwargs))

    def method_called(instance: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        if isinstance(instance, torch.optim.Optimizer) and view not in _INPUTS_ONLY:
            _place_state(instance, placed)
        return turned(call_method(instance, name, *args, **kwargs))

    patches: dict[str, Any] = {
        "tensor": lambda *args, **kwargs: placed(tensor(*args, **kwargs)),
        "make": made,
        "call": called,
        "call_method": method_called,
    }
    if view == "expanded":
        patches["random"] = _even(trial.random)
    random = _even(arrays.random) if view == "expanded" else arrays.random
    with mock.patch.multiple(trial, **patches), mock.patch.object(inputs, "random", random):
        case_named(case)(trial, **params)
    for whole, cut in kept:
        expected = torch.full_like(whole, _AROUND)
        cut(expected).copy_(cut(whole))
        trial.exact(whole, trial.numpy(expected), trial.dtype_name(whole) or "")


def _turns(view: str) -> Iterator[str]:
    while True:
        yield from _MIXED if view == "mixed" else [view]


def _place_state(optimizer: Any, placed: Callable[[Any], Any]) -> None:
    """Move the gradients and the state of an optimizer into views."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.grad is not None:
                parameter.grad = placed(parameter.grad)
            state = optimizer.state.get(parameter, {})
            for name, value in [*state.items()]:
                # Every parameter's own memory, but not a count of steps.
                if isinstance(value, torch.Tensor) and value.shape == parameter.shape and value.dim():
                    state[name] = placed(value)


def _even(random: Callable[..., Any]) -> Callable[..., Any]:
    """Random arrays whose slices along the first of several axes are equal."""

    def even(*args: Any, **kwargs: Any) -> Any:
        array = random(*args, **kwargs)
        return np.broadcast_to(array[:1], array.shape).copy() if array.ndim > 1 else array

    return even

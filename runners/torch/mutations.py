"""How outputs of PyTorch are altered (see runners.core.mutants.mutant)."""

from __future__ import annotations

import copy
from typing import Any, Callable, Mapping, Sequence

import torch

from runners.core.mutants.mutation import other_dtype
from runners.core.testing import tree

ARRAYS = (torch.Tensor,)


def scaled(value: torch.Tensor) -> torch.Tensor:
    return ~value if value.dtype == torch.bool else value * 2


def shifted(value: torch.Tensor) -> torch.Tensor:
    return value.reshape(-1).roll(1).reshape(value.shape)


def zeroed(value: torch.Tensor) -> torch.Tensor:
    return value * 0 if value.requires_grad else torch.zeros_like(value)


def wrong_dtype(value: torch.Tensor) -> torch.Tensor:
    other: Any = getattr(torch, other_dtype(str(value.dtype)[len("torch.") :]))
    return value.to(other)


def overwrite(value: torch.Tensor) -> None:
    with torch.no_grad():
        value.zero_()


def wrong_shape(value: torch.Tensor) -> torch.Tensor:
    return value.unsqueeze(0)


def with_values(value: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """The values of another tensor, with the gradient of this one."""
    if not value.requires_grad:
        return other
    changed = value.clone()
    changed.data.copy_(other)
    return changed


def assign(value: torch.Tensor, other: torch.Tensor) -> None:
    value.data.copy_(other)


def is_differentiated(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.requires_grad


def gradient_scaled(leaf: Any, factor: float, notice: Callable[[], None]) -> Any:
    """The same leaf, whose gradient is scaled; notices one that is not zero."""

    def hook(gradient: torch.Tensor) -> torch.Tensor:
        if bool((gradient != 0).any()):
            notice()
        return gradient * factor

    if is_differentiated(leaf):
        leaf.register_hook(hook)
    return leaf


def has_state(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether a call may leave anything behind that ``undo`` sets back."""
    owner = getattr(function, "__self__", None)
    return owner is not None or any(isinstance(leaf, torch.Tensor) for leaf in tree.leaves([list(args), dict(kwargs)]))


def undo(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Callable[[], bool]:
    """Remembers the state of a module or optimizer and the arguments' values. The function that it returns sets them
    back, and returns whether there was anything to set back."""
    owner = getattr(function, "__self__", None)
    tensors = [leaf for leaf in tree.leaves([list(args), dict(kwargs)]) if isinstance(leaf, torch.Tensor)]
    if isinstance(owner, torch.nn.Module):
        tensors += owner.buffers()
    values = [(tensor, tensor.detach().clone()) for tensor in tensors]
    plain = _plain(owner)
    state = copy.deepcopy(list(owner.state.values())) if isinstance(owner, torch.optim.Optimizer) else []
    parameters = list(owner.state) if state else []

    def undone() -> bool:
        changed = False
        for tensor, before in values:
            if tensor.shape == before.shape and not _same(tensor.detach(), before):
                tensor.data.copy_(before)
                changed = True
        if isinstance(owner, torch.optim.Optimizer) and owner.state:
            owner.state.clear()
            owner.state.update(zip(parameters, state))
            changed = True
        if _plain(owner) != plain:
            vars(owner).update(plain)
            changed = True
        return changed

    return undone


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return bool(((one == other) | ((one != one) & (other != other))).all())


def _plain(owner: Any) -> dict[str, Any]:
    return {key: value for key, value in getattr(owner, "__dict__", {}).items() if type(value) in (int, float, bool)}


def stream(function: Callable[..., Any], kwargs: Mapping[str, Any]) -> Any:
    """The state of the generator that the call draws from."""
    generator = _generator(kwargs)
    return bytes((torch.get_rng_state() if generator is None else generator.get_state()).numpy())


def rewind(before: bytes, kwargs: Mapping[str, Any]) -> None:
    state = torch.tensor(list(before), dtype=torch.uint8)
    generator = _generator(kwargs)
    if generator is None:
        torch.set_rng_state(state)
    else:
        generator.set_state(state)


def _generator(kwargs: Mapping[str, Any]) -> torch.Generator | None:
    """The generator that a call names; None where it names none, or something else, which it must refuse."""
    generator = kwargs.get("generator")
    return generator if isinstance(generator, torch.Generator) else None


def reseeded(number: int, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The arguments of a call that draws what another seed gives."""
    if kwargs.get("generator") is None:
        torch.manual_seed(number)
        return args, kwargs
    generator = torch.Generator(device=kwargs["generator"].device)
    generator.manual_seed(number)
    return args, {**kwargs, "generator": generator}

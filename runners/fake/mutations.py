"""How outputs of the fake framework are altered (see runners.core.mutants.mutant)."""

from __future__ import annotations

import random
from typing import Any, Callable, Mapping, Sequence

from runners.core.mutants.mutation import other_dtype
from runners.fake.library import Tensor

ARRAYS = (Tensor,)


def scaled(value: Tensor) -> Tensor:
    return Tensor([2 * number for number in value.values], value.dtype)


def shifted(value: Tensor) -> Tensor:
    return Tensor(value.values[-1:] + value.values[:-1], value.dtype)


def zeroed(value: Tensor) -> Tensor:
    return Tensor([0.0] * len(value.values), value.dtype)


def wrong_dtype(value: Tensor) -> Tensor:
    return Tensor(value.values, other_dtype(value.dtype))


def overwrite(value: Tensor) -> None:
    value.values = [0.0] * len(value.values)


def wrong_shape(value: Tensor) -> Tensor:
    return Tensor([value.values], value.dtype)  # type: ignore[list-item]


def is_differentiated(leaf: Any) -> bool:
    return False


def gradient_scaled(leaf: Any, factor: float, notice: Callable[[], None]) -> Any:
    return leaf


def has_state(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether a call may leave anything behind that ``undo`` sets back."""
    return any(isinstance(leaf, Tensor) for leaf in args)


def undo(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Callable[[], bool]:
    """Remembers the values of the arguments. The function that it returns sets them back, and returns whether there was
    anything to set back."""
    values = [(leaf, list(leaf.values)) for leaf in args if isinstance(leaf, Tensor)]

    def undone() -> bool:
        changed = [(leaf, before) for leaf, before in values if leaf.values != before]
        for leaf, before in changed:
            leaf.values = before
        return bool(changed)

    return undone


def stream(function: Callable[..., Any], kwargs: Mapping[str, Any]) -> Any:
    return random.getstate()


def rewind(before: Any, kwargs: Mapping[str, Any]) -> None:
    random.setstate(before)


def reseeded(number: int, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    random.seed(number)
    return args, kwargs

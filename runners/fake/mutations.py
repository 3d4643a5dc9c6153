"""How outputs of the fake framework are altered (see runners.core.testing.mutants)."""

from __future__ import annotations

from runners.core.testing.mutants import other_dtype
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

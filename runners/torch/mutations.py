"""How outputs of PyTorch are altered (see runners.core.testing.mutants)."""

from __future__ import annotations

from typing import Any

import torch

from runners.core.testing.mutants import other_dtype

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

"""Short names for the inputs of written calls."""

from __future__ import annotations

from typing import Any

import torch

from runners.core.testing import written

CPU = "cpu"
"""Becomes the target's device, as every argument that is this text."""


def t(*shape: int, seed: int = 0, low: float = -1.0, high: float = 1.0) -> torch.Tensor:
    """A float32 tensor of uniform values in [low, high)."""
    return torch.tensor(written.values(*shape, seed=seed, low=low, high=high))


def of(*values: Any, kind: torch.dtype | None = None) -> torch.Tensor:
    """A tensor of these values."""
    return torch.tensor(list(values), dtype=kind)

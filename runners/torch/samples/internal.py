"""What sources from ``torch.testing._internal`` have in common."""

from __future__ import annotations

import importlib
import random
import sys
import types
import unittest
import warnings
from typing import Any, Mapping

import numpy as np
import torch

_SEED = 20230401


def seed() -> None:
    """Seeds all that samples are drawn from: PyTorch, NumPy and Python."""
    torch.manual_seed(_SEED)
    np.random.seed(_SEED)
    random.seed(_SEED)


def internal(name: str) -> Any:
    """A module of ``torch.testing._internal``. Raises ImportError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _import_without("expecttest")
        return importlib.import_module(f"torch.testing._internal.{name}")


def look(value: Any) -> str:
    """How a nested value looks, the same in each process."""
    if isinstance(value, torch.Tensor):
        strides = value.stride() if value.layout == torch.strided else ""
        return f"{value.dtype}{tuple(value.shape)}{strides}{value.layout}{'g' if value.requires_grad else ''}"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}({','.join(map(look, value))})"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{look(item)}" for key, item in value.items()) + "}"
    if callable(value):
        return getattr(value, "__qualname__", type(value).__name__)
    # The text of another object may hold its address.
    plain = isinstance(value, (bool, int, float, complex, str, type(None), torch.dtype, torch.device, torch.layout))
    return repr(value) if plain else type(value).__name__


def _import_without(package: str) -> None:
    """Where a package is missing that only PyTorch's own tests use, a class in its place lets their module load."""
    try:
        importlib.import_module(package)
    except ImportError:
        empty: Any = types.ModuleType(package)
        empty.TestCase = unittest.TestCase
        sys.modules[package] = empty

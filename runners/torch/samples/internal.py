"""What sources from ``torch.testing._internal`` have in common."""

from __future__ import annotations

import importlib
import random
import sys
import types
import unittest
import warnings
from typing import Any

import numpy as np
import torch

from runners.core.testing import samples

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


def name_of(info: Any) -> str:
    """The name of an entry of OpInfo, with its variant."""
    return ".".join(filter(None, (info.name, info.variant_test_name)))


def module_inputs(info: Any, kind: torch.dtype, training: bool, gradient: bool = False) -> Any:
    """The inputs of an entry of ModuleInfo, on the CPU."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return info.module_inputs_func(info, device="cpu", dtype=kind, requires_grad=gradient, training=training)


def module_errors(info: Any) -> Any:
    """The error inputs of an entry of ModuleInfo, on the CPU."""
    return info.module_error_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=False, training=False)


def look(value: Any) -> str:
    """How a nested value looks, the same in each process."""
    return samples.look(value, _look_of_torch)


def _look_of_torch(value: Any) -> str | None:
    if isinstance(value, torch.Tensor):
        strides = value.stride() if value.layout == torch.strided else ""
        return f"{value.dtype}{tuple(value.shape)}{strides}{value.layout}{'g' if value.requires_grad else ''}"
    return repr(value) if isinstance(value, (torch.dtype, torch.device, torch.layout)) else None


def _import_without(package: str) -> None:
    """Where a package is missing that only PyTorch's own tests use, a class in its place lets their module load."""
    try:
        importlib.import_module(package)
    except ImportError:
        empty: Any = types.ModuleType(package)
        empty.TestCase = unittest.TestCase
        sys.modules[package] = empty

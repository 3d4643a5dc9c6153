"""OpInfo: PyTorch's own inputs for its operators, in ``torch.testing._internal``. For PyTorch 2.0 and newer."""

from __future__ import annotations

import importlib
import sys
import types
import unittest
import warnings
from functools import lru_cache
from typing import Any, Mapping, Sequence

import torch

from runners.core.testing.samples import Entry, Sample

PACKAGE = "torch"
_SEED = 20230401

_WITHOUT_VALUES = ("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided")
"""Operators whose outputs hold whatever was in memory."""


def prepare() -> None:
    _database()


def entries() -> Sequence[Entry]:
    found = []
    for name, info in _database().items():
        dtypes = _names(info.supported_dtypes("cpu"))
        backward = _names(info.supported_backward_dtypes("cpu")) if info.supports_autograd else []
        functions = [info.op, *(alias.op for alias in info.aliases)]
        found.append(Entry(name, info.variant_test_name, functions, dtypes, backward))
    return found


def samples(entry: str, dtype: str, gradient: bool) -> Sequence[Sample]:
    info = _database()[entry]
    torch.manual_seed(_SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = list(info.sample_inputs("cpu", getattr(torch, dtype), requires_grad=gradient))
    return [_sample(each, info) for each in made]


def look(sample: Sample) -> str:
    return _look((sample.args, sample.kwargs))


def _sample(made: Any, info: Any) -> Sample:
    reference = info.ref
    unique = torch.zeros_like if info.name in _WITHOUT_VALUES else made.output_process_fn_grad

    def expected() -> Any:
        # As PyTorch's own tests call it.
        wide = made.transform(_widened).numpy()
        return reference(wide.input, *wide.args, **wide.kwargs)

    args = (made.input, *made.args)
    return Sample(args, made.kwargs, unique, expected if callable(reference) else None)


def _widened(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    if value.dtype.is_complex:
        return value.detach().to(torch.complex128)
    return value.detach().to(torch.float64) if value.dtype.is_floating_point else value.detach()


def _look(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        strides = value.stride() if value.layout == torch.strided else ""
        return f"{value.dtype}{tuple(value.shape)}{strides}{value.layout}{'g' if value.requires_grad else ''}"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}({','.join(map(_look, value))})"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{_look(item)}" for key, item in value.items()) + "}"
    if callable(value):
        return getattr(value, "__qualname__", type(value).__name__)
    # The text of another object may hold its address.
    plain = isinstance(value, (bool, int, float, complex, str, type(None), torch.dtype, torch.device, torch.layout))
    return repr(value) if plain else type(value).__name__


def _names(dtypes: Any) -> Sequence[str]:
    return sorted(str(dtype)[len("torch.") :] for dtype in dtypes)


@lru_cache(maxsize=None)
def _database() -> Mapping[str, Any]:
    """The entries by name and variant."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _imported_without("expecttest")
        module: Any = importlib.import_module("torch.testing._internal.common_methods_invocations")
    return {".".join(filter(None, (info.name, info.variant_test_name))): info for info in module.op_db}


def _imported_without(package: str) -> None:
    """Where a package is missing that only PyTorch's own tests use, a class in its place lets their module load."""
    try:
        importlib.import_module(package)
    except ImportError:
        empty: Any = types.ModuleType(package)
        empty.TestCase = unittest.TestCase
        sys.modules[package] = empty

"""Calls of PyTorch's functions that are written by hand, for those that PyTorch's own inputs do not reach.

Each module of this folder is a table (see runners.core.testing.written). ``inputs`` has the short names for inputs.
"""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import Any, Sequence

import torch

from runners.core.testing import tree, written
from runners.core.testing.samples import Entry, Sample
from runners.core.testing.written import Calls
from runners.torch.samples import internal

PACKAGE = "torch"
NEEDS = "PyTorch 2.9 or newer"
_TABLES = (
    *("autograd", "creation", "data", "distributions", "functional", "initializers", "modules", "optimization"),
    *("quantized", "recurrent", "reparametrized", "schedules", "settings", "sparse", "transforms"),
)


def prepare() -> None:
    """Imports the tables. The calls are made where they are needed: to make some computes, and a zygote that has
    computed leaves its forks with threads that are gone. Raises ImportError where PyTorch lacks what a table uses."""
    try:
        _tables()
    except AttributeError as error:
        raise ImportError(str(error)) from error


def entries() -> Sequence[Entry]:
    return _calls().entries()


def samples(entry: str, dtype: str, gradient: bool) -> Sequence[Sample]:
    return _calls().samples(entry, gradient)


def look(sample: Sample) -> str:
    return internal.look((list(sample.args), sample.kwargs))


def _tables() -> Sequence[written.Table]:
    return [importlib.import_module(f"{__name__}.{name}").table for name in _TABLES]


@lru_cache(maxsize=None)
def _calls() -> Calls:
    return Calls(_tables(), _to_host, _marked, written.public("torch"))


def _to_host(value: Any) -> Any:
    return tree.mapped(lambda leaf: leaf.detach().numpy() if isinstance(leaf, torch.Tensor) else leaf, value)


def _marked(leaf: Any) -> Any:
    floating = isinstance(leaf, torch.Tensor) and leaf.is_floating_point()
    return leaf.detach().clone().requires_grad_() if floating else leaf

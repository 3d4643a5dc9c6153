"""Calls of PyTorch's functions that are written by hand, for those that PyTorch's own inputs do not reach.

Each module of this folder is a table (see runners.core.testing.written). ``inputs`` has the short names for inputs.
"""

from __future__ import annotations

from typing import Any

import torch

from runners.core.testing import tree
from runners.core.testing.samples import Sample
from runners.core.testing.written import Written
from runners.torch.samples import internal

PACKAGE = "torch"
NEEDS = "PyTorch 2.9 or newer"
_TABLES = (
    *("autograd", "creation", "data", "distributions", "functional", "initializers", "modules", "optimization"),
    *("quantized", "recurrent", "reparametrized", "schedules", "settings", "sparse", "transforms"),
)


def look(sample: Sample) -> str:
    return internal.look((list(sample.args), sample.kwargs))


def _to_host(value: Any) -> Any:
    return tree.mapped(lambda leaf: leaf.detach().numpy() if isinstance(leaf, torch.Tensor) else leaf, value)


def _marked(leaf: Any) -> Any:
    floating = isinstance(leaf, torch.Tensor) and leaf.is_floating_point()
    return leaf.detach().clone().requires_grad_() if floating else leaf


_source = Written("torch", __name__, _TABLES, _to_host, _marked)
prepare = _source.prepare
entries = _source.entries
samples = _source.samples

"""ModuleInfo: PyTorch's own inputs for the modules of ``torch.nn``, in ``torch.testing._internal``.

For PyTorch 2.0 and newer. A module is in evaluation mode, so that dropout draws nothing, and its parameters are those
that it draws itself with a fixed seed.
"""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any, Mapping, NamedTuple, Sequence

import torch

from runners.core.testing.samples import Entry, Sample
from runners.torch.samples import internal

PACKAGE = "torch"
NEEDS = "PyTorch 2.0 or newer"


def prepare() -> None:
    _database()


def entries() -> Sequence[Entry]:
    return [
        Entry(name, "", [info.module_cls], sorted(str(dtype)[len("torch.") :] for dtype in info.dtypes), ())
        for name, info in _database().items()
    ]


def samples(entry: str, dtype: str, gradient: bool) -> Sequence[Sample]:
    info = _database()[entry]
    kind = getattr(torch, dtype)
    internal.seed()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = info.module_inputs_func(info, device="cpu", dtype=kind, requires_grad=False, training=False)
    return [_sample(each, kind) for each in made if each.forward_input is not None]


def look(sample: Sample) -> str:
    assert isinstance(sample.make, _Module)
    return internal.look((sample.args, sample.kwargs, sample.make.args, sample.make.kwargs))


class _Module(NamedTuple):
    """Makes a module of these arguments and this dtype."""

    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    kind: torch.dtype

    def __call__(self, function: Any) -> Any:
        with torch.random.fork_rng(devices=[]):
            internal.seed()
            return function(*self.args, **self.kwargs).to(self.kind).eval()


def _sample(made: Any, kind: torch.dtype) -> Sample:
    settings, given = made.constructor_input, made.forward_input
    module = _Module(settings.args, settings.kwargs, kind)
    return Sample(given.args, given.kwargs, lambda output: output, make=module)


@lru_cache(maxsize=None)
def _database() -> Mapping[str, Any]:
    """The entries by name."""
    return {info.name: info for info in internal.internal("common_modules").module_db}

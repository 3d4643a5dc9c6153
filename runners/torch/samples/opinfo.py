"""OpInfo: PyTorch's own inputs for its operators, in ``torch.testing._internal``. For PyTorch 2.0 and newer."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any, Mapping, Sequence

import torch

from runners.core.testing.samples import Entry, Sample
from runners.torch.samples import internal

PACKAGE = "torch"
NEEDS = "PyTorch 2.0 or newer"
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
    internal.seed()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = list(info.sample_inputs("cpu", getattr(torch, dtype), requires_grad=gradient))
    return [_sample(each, info) for each in made]


def look(sample: Sample) -> str:
    return internal.look((sample.args, sample.kwargs))


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


def _names(dtypes: Any) -> Sequence[str]:
    return sorted(str(dtype)[len("torch.") :] for dtype in dtypes)


@lru_cache(maxsize=None)
def _database() -> Mapping[str, Any]:
    """The entries by name and variant."""
    found = internal.internal("common_methods_invocations").op_db
    return {".".join(filter(None, (info.name, info.variant_test_name))): info for info in found}

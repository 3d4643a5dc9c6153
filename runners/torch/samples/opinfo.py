"""OpInfo: PyTorch's own inputs for its operators, in ``torch.testing._internal``. For PyTorch 2.0 and newer.

Other public functions take the samples of an operator, too: its aliases, the one of its name where OpInfo calls a
wrapper, that of ``torch`` for one of ``torch.nn.functional``, and those that write into their argument
(``torch.abs_``), which have entries of their own, in a few dtypes. A wrapper that exchanges arguments is called, with
the function under test in the place of the one that it calls. Functions of lists of tensors (``torch.foreach``, PyTorch
2.15) are in a list of their own.
"""

from __future__ import annotations

import importlib
import operator
import warnings
from functools import lru_cache
from typing import Any, Iterable, Mapping, NamedTuple, Sequence
from unittest import mock

import torch

from runners.core.testing.samples import Entry, Sample
from runners.torch.samples import internal

PACKAGE = "torch"
NEEDS = "PyTorch 2.0 or newer"
_WITHOUT_VALUES = ("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided")
"""Operators whose outputs hold whatever was in memory."""

_CHOOSING = ("cummax", "cummin", "kthvalue", "topk")
"""Operators that also return the positions of what they choose: which of equal values that is, is not defined."""

_FUNCTIONAL = "nn.functional."
_IN_PLACE = ".in_place"
_FOREACH = "_foreach_"
_FEW = ("complex64", "float32", "float64", "int64")


def prepare() -> None:
    _database()


def entries() -> Sequence[Entry]:
    found = []
    for name, info in _database().items():
        dtypes = _names(info.supported_dtypes("cpu"))
        backward = _names(info.supported_backward_dtypes("cpu")) if info.supports_autograd else []
        found.append(Entry(name, info.variant_test_name, functions(info), dtypes, backward))
        written = _of_names(f"{each}_" for each in _paths(info))
        if written:
            variant = f"{info.variant_test_name}-in-place".lstrip("-")
            found.append(Entry(f"{name}{_IN_PLACE}", variant, written, [each for each in _FEW if each in dtypes], ()))
    return found


def functions(info: Any) -> Sequence[Any]:
    """The functions that take the samples of an entry, except those that write into their argument."""
    named = [info.op, *(alias.op for alias in info.aliases), *_of_names(_paths(info))]
    return list({id(each): each for each in named}.values())


def samples(entry: str, dtype: str, gradient: bool) -> Sequence[Sample]:
    in_place = entry.endswith(_IN_PLACE)
    info = _database()[entry[: -len(_IN_PLACE)] if in_place else entry]
    internal.seed()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = list(info.sample_inputs("cpu", getattr(torch, dtype), requires_grad=gradient))
    return [_sample(each, info, in_place) for each in made]


def _paths(info: Any) -> Sequence[str]:
    """The names below ``torch`` that an entry and its aliases may have."""
    if info.name.startswith(_FOREACH):
        return [f"foreach.{info.name[len(_FOREACH) :]}"]
    paths = [info.name, *(alias.name for alias in info.aliases)]
    return [*paths, *(path[len(_FUNCTIONAL) :] for path in paths if path.startswith(_FUNCTIONAL))]


def _of_names(paths: Iterable[str]) -> Sequence[Any]:
    """What there is of these names below ``torch``."""
    found = []
    for path in paths:
        holder: Any = torch
        for part in path.split("."):
            holder = getattr(holder, part, None)
        if callable(holder):
            found.append(holder)
    return found


def look(sample: Sample) -> str:
    return internal.look((sample.args, sample.kwargs))


def _sample(made: Any, info: Any, in_place: bool) -> Sample:
    # That of a list of tensors is PyTorch's own function for one of them.
    reference = None if info.name.startswith(_FOREACH) else info.ref
    unique = torch.zeros_like if info.name in _WITHOUT_VALUES else made.output_process_fn_grad
    if info.name in _CHOOSING and torch.unique(made.input).numel() < made.input.numel():
        unique = operator.itemgetter(0)

    def expected() -> Any:
        # As PyTorch's own tests call it.
        wide = made.transform(_widened).numpy()
        return reference(wide.input, *wide.args, **wide.kwargs)

    args = (made.input, *made.args)
    body: Any = _Wrapper(info.op, info.name) if _exchanges_arguments(info.op) and not in_place else None
    if info.name == "tensor_split":
        body = _with_places_on_host
    return Sample(args, made.kwargs, unique, expected if callable(reference) else None, body=body)


def _with_places_on_host(function: Any, value: Any, places: Any, **kwargs: Any) -> Any:
    """A tensor of places is one of the CPU's, wherever the value is."""
    return function(value, places.cpu() if isinstance(places, torch.Tensor) else places, **kwargs)


class _Wrapper(NamedTuple):
    """A body that calls a wrapper of OpInfo, in which the public function of this name is the function under test."""

    wrapper: Any
    name: str

    def __call__(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        path, _, last = f"torch.{self.name}".rpartition(".")
        with mock.patch.object(importlib.import_module(path), last, function):
            return self.wrapper(*args, **kwargs)


def _exchanges_arguments(operator: Any) -> bool:
    """Whether an operator is a wrapper that does more than to seed: seeds make it the same only on one device."""
    return getattr(operator, "__name__", "") == "<lambda>" and "wrapper_set_seed" not in operator.__code__.co_names


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
    found = internal.internal("common_methods_invocations")
    of_lists = found.foreach_op_db if hasattr(torch, "foreach") else []
    return {internal.name_of(info): info for info in (*found.op_db, *of_lists)}

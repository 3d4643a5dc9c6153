"""Traces every operation that PyTorch dispatches, in the calling thread and in those of autograd."""

from __future__ import annotations

import contextlib
import re
from typing import Any, Iterator

import torch
from torch.utils import _python_dispatch

from runners.core.adapter import HOST, Operation
from runners.core.testing import tree

MOVES = {
    "_copy_from",
    "_copy_from_and_resize",
    "_local_scalar_dense",
    "_pin_memory",
    "_propagate_xla_data",
    "_reshape_alias",
    "_to_copy",
    "_to_cpu",
    "_unsafe_view",
    "clone",
    "copy",
    "copy_",
    "detach",
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "is_pinned",
    "lift",
    "lift_fresh",
    "new_empty",
    "new_empty_strided",
    "pin_memory",
    "record_stream",
    "resize_",
    "set_",
    "split",
    "split_with_sizes",
    "unbind",
}
"""Operations that compute nothing: they move, describe or allocate data, or read one number back."""

_READS = {"_to_copy", "copy_"}
_VIEW = re.compile(r"->.*Tensor\(\w+\)")
"""Part of a schema: an output shares memory with an input that was not written to, ``-> Tensor(a)``."""


def only_moves(name: str) -> bool:
    """Whether an operation, by its name without namespace and overload (``add_``), computes nothing. Views are copies
    (``slice_copy``) if a back end cannot share memory."""
    return name in MOVES or (name.endswith("_copy") and name != "index_copy")


def moves(schema: Any) -> bool:
    """Whether an operation of this schema computes nothing."""
    return only_moves(schema.name.split("::")[1]) or returns_view(str(schema))


def returns_view(schema: str) -> bool:
    """Whether an operation of this schema, as text, has an output that shares memory with an unchanged input."""
    return bool(_VIEW.search(schema))


@contextlib.contextmanager
def traced_ops(device: torch.device) -> Iterator[list[Operation]]:
    """A context that fills a list with the operations inside it. Reading a whole tensor of the device back is one too,
    because the host continues with it."""
    # In 1.12 the context itself creates the mode.
    push = getattr(_python_dispatch, "push_torch_dispatch_mode", None)
    with push(_TraceMode) if push else _TraceMode() as mode:
        mode.device, mode.traced = device, []
        yield mode.traced


class _TraceMode(_python_dispatch.TorchDispatchMode):
    device: torch.device
    traced: list[Operation]

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = function(*args, **(kwargs or {}))
        tensors = [leaf for leaf in tree.leaves((args, kwargs or {}, output)) if isinstance(leaf, torch.Tensor)]
        operation = _classify(function._schema, tensors, self.device)
        if operation:
            self.traced.append(operation)
        return output


def _classify(schema: Any, tensors: list[torch.Tensor], device: torch.device) -> Operation | None:
    """The operation of a call, or None if it computes nothing. One number on the host is like a Python number."""
    there = [tensor for tensor in tensors if tensor.device == device]
    elsewhere = [tensor for tensor in tensors if tensor.device != device and tensor.dim()]
    name = schema.name.split("::")[1]
    if name in _READS and elsewhere and any(tensor.dim() for tensor in there):
        target = tensors[0] if name == "copy_" else tensors[-1]
        return Operation("read to host", HOST) if target.device.type == "cpu" else None
    if moves(schema):
        return None
    full = f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name
    if there:
        return Operation(full, str(device))
    return Operation(full, str(elsewhere[0].device)) if elsewhere else None

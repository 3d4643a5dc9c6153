"""Sees each operation that a call asks PyTorch for, with the dtypes and the layout of its tensors.

What is seen is what reaches the kernels of a device: below autograd, composite operations taken apart.
"""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Dict, Iterator, List, NamedTuple

import torch
from torch.utils import _python_dispatch

from runners.core.testing import tree
from runners.torch.op_trace import moves

Types = Dict[str, List[str]]

LAYOUT = "layout"
"""Among the types of an operation: of its tensors, the one that decides which kernel is taken."""


class Asked(NamedTuple):
    """An operation: ``aten::add.Tensor``; ``types`` has the dtypes of each argument that has one, and the layout of its
    tensors; ``moves``, whether it computes nothing."""

    name: str
    types: Types
    moves: bool


Listener = Callable[[Asked], None]
"""Is told each operation before it is computed. What it raises ends the call that asked for it."""


@contextlib.contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tells the operations of what is called inside, in their order."""
    # In 1.12 the context makes the mode, by itself.
    push = getattr(_python_dispatch, "push_torch_dispatch_mode", None)
    with push(_Recorder) if push else _Recorder() as recorder:
        recorder.listener = listener
        yield


class _Recorder(_python_dispatch.TorchDispatchMode):
    listener: Listener

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        schema = function._schema
        given = dict(zip((argument.name for argument in schema.arguments), args), **(kwargs or {}))
        self.listener(Asked(full_name(schema.name, schema.overload_name), _types(given), moves(schema)))
        return function(*args, **(kwargs or {}))


def full_name(name: str, overload: str) -> str:
    """``aten::add.Tensor``, or ``aten::cos`` of an operation without overload."""
    return f"{name}.{overload}" if overload else name


def _types(given: dict[str, Any]) -> Types:
    found: Types = {}
    layouts = set()
    for name, value in given.items():
        tensors = [leaf for leaf in tree.leaves(value) if isinstance(leaf, torch.Tensor)]
        dtypes = {_said(tensor.dtype) for tensor in tensors} | (
            {_said(value)} if isinstance(value, torch.dtype) else set()
        )
        layouts |= {"quantized" if tensor.is_quantized else _said(tensor.layout) for tensor in tensors}
        if dtypes:
            found[name] = sorted(dtypes)
    if layouts:
        found[LAYOUT] = [next((layout for layout in sorted(layouts) if layout != "strided"), "strided")]
    return found


def _said(kind: Any) -> str:
    return str(kind)[len("torch.") :]

"""Reports each operation that a call requests of PyTorch, with the dtypes and the layout of its tensors.

These are the operations that reach the kernels of a device: below autograd, after composite operations are decomposed.
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
"""Key among the types of an operation: the layout of its tensors that decides which kernel is used."""


class Request(NamedTuple):
    """A requested operation, such as ``aten::add.Tensor``. ``types`` has the dtypes of each argument that has one, and
    the layout of the tensors, also of those that it makes. ``moves``: it computes nothing. ``is_nested``: one of its
    tensors is nested, which its layout does not say."""

    name: str
    types: Types
    moves: bool
    is_nested: bool = False


Listener = Callable[[Request], None]
"""Called with each operation before it is computed. What it raises ends the call that requested it."""


@contextlib.contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """A context in which the listener is called with each operation, in their order."""
    # In 1.12 the context itself creates the mode.
    push = getattr(_python_dispatch, "push_torch_dispatch_mode", None)
    with push(_ListenerMode) if push else _ListenerMode() as mode:
        mode.listener = listener
        yield


class _ListenerMode(_python_dispatch.TorchDispatchMode):
    listener: Listener

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        schema = function._schema
        given = dict(zip((argument.name for argument in schema.arguments), args), **(kwargs or {}))
        name = full_name(schema.name, schema.overload_name)
        is_nested = any(getattr(leaf, "is_nested", False) for leaf in tree.leaves(given))
        self.listener(Request(name, _types(given), moves(schema), is_nested))
        return function(*args, **(kwargs or {}))


def full_name(name: str, overload: str) -> str:
    """``aten::add.Tensor``, or ``aten::cos`` if there is no overload."""
    return f"{name}.{overload}" if overload else name


def _types(given: dict[str, Any]) -> Types:
    found: Types = {}
    layouts = set()
    for name, value in given.items():
        tensors = [leaf for leaf in tree.leaves(value) if isinstance(leaf, torch.Tensor)]
        dtypes = {_name(tensor.dtype) for tensor in tensors} | (
            {_name(value)} if isinstance(value, torch.dtype) else set()
        )
        layouts |= {"quantized" if tensor.is_quantized else _name(tensor.layout) for tensor in tensors}
        if isinstance(value, torch.layout):
            layouts.add(_name(value))
        if dtypes:
            found[name] = sorted(dtypes)
    if layouts:
        found[LAYOUT] = [next((layout for layout in sorted(layouts) if layout != "strided"), "strided")]
    return found


def _name(kind: Any) -> str:
    return str(kind)[len("torch.") :]

"""PyTorch: the operations of ATen that a part of a program makes, as data that can be made again on another device.

Tensors are known by their memory: two that share it and have the same shape and strides are one value. What was there
before is an input, of which only dtype, shape and order of the axes are kept. The results of operations whose shapes
depend on values, and of operations that are not PyTorch's own, are inputs too: nothing else can know them without
computing.

The operations have layers: forward; backward, which autograd makes; and update, which follows until a module is called
again.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import Counter
from typing import Any, Callable, ContextManager, Hashable

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils import _python_dispatch, _pytree

FORMAT = 1
MOST_OPERATIONS = 20_000
_WORD = re.compile(r"\w{0,32}")
_current_backward: Callable[[], int] = getattr(torch._C, "_current_graph_task_id", lambda: -1)
"""The number of the backward pass that runs now, or -1. Versions before 2.1 do not say."""


class CannotTrace(Exception):
    """What data cannot describe; the message says what it is."""


class Trace(_python_dispatch.TorchDispatchMode):  # type: ignore[misc]
    """Notes the operations while it is active. ``paused`` is a context for what it does itself.

    ``problem`` says why there is no whole, or is empty.
    """

    def __init__(self, paused: Callable[[], ContextManager[object]]) -> None:
        super().__init__()
        self._paused = paused
        self.is_passive = self.is_left = False
        self.problem = ""
        self.inputs: list[dict[str, Any]] = []
        self.operations: list[list[Any]] = []
        self.layers: list[str] = []
        """Of each operation."""
        self.is_after_backward = False
        self._values: dict[Hashable, int] = {}
        self._count = 0
        self._memory: dict[int, tuple[Any, list[int]]] = {}
        """By the address of a storage: the storage, not kept alive, and the values in it."""
        self.left_out: Counter[str] = Counter()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        if self.is_passive or self.problem:
            return function(*args, **given)
        noted = self._guarded(self._before, function, args, given)
        output = function(*args, **given)
        if noted is not None:
            self._guarded(self._after, noted, output, function, args)
        return output

    def _guarded(self, note: Callable[..., Any], *args: Any) -> Any:
        try:
            with self._paused():
                return note(*args)
        except Exception as error:
            self.problem = f"{type(error).__name__}: {error}"[:300]
            return None

    def outputs(self) -> list[int]:
        """The values whose memory is alive, without inputs that nothing has written to."""
        return sorted(
            {value for storage, values in self._memory.values() if not storage.expired() for value in values[-1:]}
        )

    def as_bytes(self, operations: int | None = None, outputs: list[int] | None = None) -> bytes:
        """The trace as JSON, or its first ``operations``."""
        document = {
            "format": FORMAT,
            "inputs": self.inputs,
            "operations": self.operations[:operations],
            "layers": [[layer, len(list(same))] for layer, same in itertools.groupby(self.layers[:operations])],
            "outputs": self.outputs() if outputs is None else outputs,
            "left_out": dict(self.left_out),
        }
        return json.dumps(document, separators=(",", ":"), allow_nan=False).encode()

    def _before(self, function: Any, args: Any, kwargs: Any) -> list[Any] | None:
        """The operation without its results; None for one whose results become inputs."""
        name = f"{function._schema.name}.{function._schema.overload_name}".rstrip(".")
        if len(self.operations) >= MOST_OPERATIONS:
            raise CannotTrace(f"more than {MOST_OPERATIONS} operations")
        if not name.startswith(("aten::", "prims::")) or _depends_on_values(function, args):
            if name != "aten::_local_scalar_dense" and not name.startswith("profiler::"):
                self.left_out[name] += 1
            return None
        return [name, [self._one(each) for each in args], {key: self._one(each) for key, each in kwargs.items()}]

    def _after(self, noted: list[Any], output: Any, function: Any, args: Any) -> None:
        for argument, value in zip(function._schema.arguments, args):
            if argument.alias_info is not None and argument.alias_info.is_write:
                for tensor in value if isinstance(value, (list, tuple)) else [value]:
                    written = self._values.get(_key(tensor))
                    # Operations such as as_strided_ change the shape of what they return: a new value, below.
                    if written is not None:
                        self._memory[_address(tensor)][1].append(written)
        leaves = _pytree.tree_leaves(output)
        noted.append([self._new(leaf) if isinstance(leaf, torch.Tensor) else None for leaf in leaves])
        self.operations.append(noted)
        self.layers.append(self._layer())

    def _layer(self) -> str:
        if _current_backward() != -1:
            self.is_after_backward = True
            return "backward"
        return "update" if self.is_after_backward else "forward"

    def _one(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return {"value": self._value(value)}
        if value is None or isinstance(value, (bool, int)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"number": str(value)}
        if isinstance(value, complex):
            return {"complex": [value.real, value.imag]}
        if isinstance(value, (list, tuple)):
            return [self._one(each) for each in value]
        if isinstance(value, (torch.dtype, torch.memory_format, torch.layout)):
            return {"torch": str(value)[len("torch.") :]}
        if isinstance(value, torch.device):
            return {"device": True}
        if isinstance(value, torch.Generator):
            return None
        if isinstance(value, str) and _WORD.fullmatch(value):
            return value
        raise CannotTrace(f"an argument of type {type(value).__name__}")

    def _value(self, tensor: Any) -> int:
        """The number of a tensor; one that is not known is an input."""
        found = self._values.get(_key(tensor))
        if found is None or self._memory[_address(tensor)][0].expired():
            found = self._new(tensor)
            self.inputs.append({"value": found, **_described(tensor)})
            self._memory[_address(tensor)][1].clear()
        return found

    def _new(self, tensor: Any) -> int:
        number, self._count = self._count, self._count + 1
        self._values[_key(tensor)] = number
        kept = self._memory.setdefault(_address(tensor), (StorageWeakRef(tensor.untyped_storage()), []))
        kept[1].append(number)
        return number


def _depends_on_values(function: Any, args: Any) -> bool:
    tags = function.tags
    if torch.Tag.data_dependent_output in tags:
        return True
    if torch.Tag.dynamic_output_shape not in tags:
        return False
    if function._schema.name == "aten::index":
        return any(each is not None and each.dtype in (torch.bool, torch.uint8) for each in args[1])
    return True


def _address(tensor: Any) -> int:
    return int(tensor.untyped_storage()._cdata)


def _key(tensor: Any) -> Hashable:
    if tensor.layout != torch.strided or type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        raise CannotTrace(f"a tensor of type {type(tensor).__name__}, {tensor.layout}")
    geometry = (tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), tensor.dtype)
    return (_address(tensor), *geometry, tensor.is_conj(), tensor.is_neg())


def _described(tensor: Any) -> dict[str, Any]:
    if any(type(size) is not int for size in tensor.shape):
        raise CannotTrace("a tensor without a size")
    data: dict[str, Any] = {"dtype": str(tensor.dtype)[len("torch.") :], "shape": list(tensor.shape)}
    strides = tensor.stride()
    order = sorted(range(tensor.dim()), key=lambda axis: (-strides[axis], axis))
    if order != list(range(tensor.dim())) and 0 not in strides:
        data["order"] = order
    return data

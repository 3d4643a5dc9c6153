"""Finds what the kernels of a device compute on the host with PyTorch, such as a fall-back to the CPU.

Modes of dispatch (``op_trace``) end where a kernel begins. PyTorch's execution trace goes on: it has every call of an
operation, in all threads, with the devices of its tensors and the call that it is inside of.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

import torch

from runners.core.adapter import Operation
from runners.torch.op_trace import only_moves, returns_view

_HOST = "cpu"

_FALL_BACK = "aten::_to_cpu"
"""PyTorch's fall-back (``at::native::cpu_fallback``) calls this with the inputs of the operation that it is for. What
it then computes is not in the trace."""

_DEEPEST = 100
"""A call that is inside of more calls than this is not followed further: a damaged trace could have a circle."""


class _Call(NamedTuple):
    name: str
    """With its overload, if the trace has it: ``aten::add.Tensor``."""
    moves: bool
    """It computes nothing."""
    caller: int
    devices: frozenset[str]
    """Of its tensors, without those on the host that hold a single number."""


class KernelTrace:
    """What kernels of the device computed on the host; complete when the context of ``traced_kernels`` has ended."""

    def __init__(self) -> None:
        self.fallbacks: list[str] = []
        """Operations whose kernels left them to the host as a whole."""
        self.inside: list[str] = []
        """Operations that other kernels called on the host."""
        self.untraced: list[str] = []

    def applied_to(self, dispatched: Sequence[Operation]) -> list[Operation]:
        """The dispatched operations, those that fell back on the host, and what the others called there."""
        left = Counter(self.fallbacks)
        operations = []
        for operation in dispatched:
            fell_back = operation.location != _HOST and left[operation.name] > 0
            left[operation.name] -= fell_back
            operations.append(Operation(operation.name, _HOST) if fell_back else operation)
        # An operation that is not dispatched again below another one fell back inside of that.
        return operations + [Operation(name, _HOST) for name in [*left.elements(), *self.inside]]


@contextlib.contextmanager
def traced_kernels(device: torch.device) -> Iterator[KernelTrace]:
    """A context that traces what kernels of the device compute on the host. Where this PyTorch has no execution trace,
    ``untraced`` says so."""
    trace = KernelTrace()
    observer_class = getattr(torch.profiler, "ExecutionTraceObserver", None)
    if observer_class is None:
        trace.untraced.append(f"not known: what kernels compute on the host; PyTorch {torch.__version__} has no trace")
        yield trace
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        observer = observer_class()
        observer.register_callback(str(path))
        try:
            observer.start()
            try:
                yield trace
            finally:
                observer.stop()
        finally:
            observer.unregister_callback()
        try:
            fill(trace, json.loads(path.read_text("utf-8")), str(device))
        except (OSError, ValueError, LookupError, TypeError) as error:
            trace.untraced.append(
                "not known: what kernels compute on the host; the execution trace of PyTorch "
                f"{torch.__version__} cannot be read: {type(error).__name__}: {error}"
            )


def fill(trace: KernelTrace, document: Mapping[str, Any], device: str) -> None:
    """Adds what an execution trace, as PyTorch writes it, says about kernels of this device (``npu:0``).

    Raises KeyError, IndexError, TypeError or ValueError for a trace of another form.
    """
    calls = {node["id"]: _call(node) for node in document["nodes"]}
    for call in calls.values():
        if call.name == _FALL_BACK and device in call.devices:
            kernel = next((each for each in _callers(call, calls) if device in each.devices), None)
            if kernel:
                trace.fallbacks.append(kernel.name)
        elif _computes_on_host(call):
            around = list(_callers(call, calls))
            depth = next((depth for depth, each in enumerate(around) if device in each.devices), None)
            # What a computation on the host calls in turn is a part of it.
            if depth is None or any(map(_computes_on_host, around[:depth])):
                continue
            if around[depth].name == call.name:
                trace.fallbacks.append(call.name)
            else:
                trace.inside.append(call.name)


def _call(node: Mapping[str, Any]) -> _Call:
    schema = next((each["value"] for each in node["attrs"] if each["name"] == "op_schema"), "")
    name = schema.split("(")[0] or node["name"]
    found: set[str] = set()
    for side in (node["inputs"], node["outputs"]):
        for value, shape, kind in zip(side["values"], side["shapes"], side["types"]):
            found.update(_devices(value, shape, kind))
    moves = not name.startswith("aten::") or only_moves(name[len("aten::") :].split(".")[0]) or returns_view(schema)
    return _Call(name, moves, node["ctrl_deps"], frozenset(found))


def _devices(value: Any, shape: Any, kind: str) -> Iterator[str]:
    """The device of a tensor, which the trace has as a list of numbers and the device; or those of a list of them."""
    if kind.startswith("GenericList["):
        for item, its, each in zip(value, shape, kind[len("GenericList[") : -1].split(",")):
            yield from _devices(item, its, each)
    elif kind.startswith("Tensor(") and (shape or value[-1] != _HOST):
        yield value[-1]


def _computes_on_host(call: _Call) -> bool:
    return call.devices == {_HOST} and not call.moves


def _callers(call: _Call, calls: Mapping[int, _Call]) -> Iterator[_Call]:
    """The calls that a call is inside of, the innermost first."""
    caller = call.caller
    for _ in range(_DEEPEST):
        if caller not in calls:
            return
        yield calls[caller]
        if calls[caller].caller == caller:
            return
        caller = calls[caller].caller

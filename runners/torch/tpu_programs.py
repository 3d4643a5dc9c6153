"""Collects the programs that TorchTPU makes of a call on its stand-in, XLA's CPU compiler.

TorchTPU makes a program of each eager operation. It logs each with its StableHLO when it is first compiled, and only by
its name when it is in the cache. So the programs of each operation are kept, by what it was called with. To empty the
cache takes TorchTPU one second: that is done only before calls whose programs may be hard to distinguish.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections import Counter
from typing import Any, Hashable, Iterator, NamedTuple, Sequence

import torch
from torch.utils import _python_dispatch

from runners.core import environment
from runners.core.errors import DeviceUnavailable
from runners.core.prediction.prediction import Unknown
from runners.core.testing import tree
from runners.torch import tpu

_LARGEST_FRACTION = 0.25
"""An output larger than this fraction of the host's free memory is not computed here."""

_LARGEST_ELEMENT = 16
"""Bytes: complex128."""


_MAIN = re.compile(r"func\.func (?:public )?@main\((.*?)\) ->")
_TENSOR = re.compile(r"tensor<((?:[^<>]|<[^<>]*>)*)>")
_DTYPES = {
    torch.bool: "i1",
    torch.uint8: "ui8",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
    torch.complex64: "complex<f32>",
    torch.complex128: "complex<f64>",
}
"""The names of data types in StableHLO."""


class Program(NamedTuple):
    """A program that a call runs. ``candidates``: the StableHLO of each program that it may have been, mostly one."""

    name: str
    candidates: Sequence[str]


class TooLarge(BaseException):
    """An operation's output is too large for the host. Nothing in a test catches it."""

    def __init__(self, name: str, stablehlo: str) -> None:
        super().__init__(name)
        self.program = Program(name, [stablehlo])


def raise_at_once() -> None:
    """From here on an error of an operation is raised by its own call and not by what reads its output."""
    lacking = [mode for mode in _MODES if not hasattr(tpu.parts.modes._EagerMode, mode)]
    if lacking:
        raise DeviceUnavailable(f"torch_tpu has no mode {', '.join(lacking)}", "Use the version in tpu-aot.lock.")
    tpu.parts.modes._set_eager_mode(tpu.parts.modes._EagerMode.DEFER_NEVER_AND_LAUNCH_BLOCKING)


_MODES = ("DEFER_NEVER_AND_LAUNCH_BLOCKING", "INTERNAL_DEFER_ALL")


class _Log:
    """What TorchTPU's log says of this process."""

    def __init__(self) -> None:
        self._of_operation: dict[Hashable, list[tuple[str, str]]] = {}
        """Names and texts of an operation's programs, by the operation and what it was called with."""
        self._of_name: dict[str, list[str]] = {}
        self._call: list[Program] = []
        self._called: Hashable = None
        self._of_several: set[Hashable] = set()
        """What runs several programs for one operation, or operations that are not dispatched, such as a gradient's."""
        self._dropped = 0

    def begin(self, called: Hashable) -> None:
        """Begins a call: the programs before it are only remembered."""
        self._called = None
        self.read()
        # A program that was lost would be in the cache, and so never be logged with its text.
        if self._dropped or called in self._of_several:
            tpu.parts.backend._clear_cache()
            self._of_operation.clear()
            self._of_name.clear()
        self._call, self._called, self._dropped = [], called, 0

    def read(self, operation: Hashable = None, inputs: Sequence[torch.Tensor] = ()) -> None:
        """Takes the programs that were logged since the last time, all of them of one operation with these inputs;
        None: of unknown operations."""
        log = tpu.parts.tracing._drain_structured_log_buffer()
        self._dropped += log["dropped_since_last_drain"]
        known = self._of_operation.get(operation, []) if operation else []
        if self._called and len(log["events"]) > (operation is not None):
            self._of_several.add(self._called)
        logged = []
        for place, event in enumerate(log["events"]):
            name, text = event["name"], event["stablehlo"]
            of_name = self._of_name.setdefault(name, [])
            if text and text not in of_name:
                of_name.append(text)
            elif not text and place < len(known) and known[place][0] == name:
                text = known[place][1]
            elif event["compile_failed"] and not text and all(program.name != name for program in self._call):
                continue  # an operation on what an earlier one had failed to compute
            logged.append((name, text))
            self._call.append(Program(name, [text] if text else _with_inputs(of_name, inputs)))
        if operation and logged and all(text for _, text in logged):
            self._of_operation[operation] = logged

    def call(self) -> list[Program]:
        """The programs since ``begin``, in their order. Raises Unknown if TorchTPU's log did not hold them all."""
        self.read()
        if self._dropped:
            raise Unknown(f"TorchTPU's log lost {self._dropped} programs of the call")
        return self._call


def _with_inputs(texts: Sequence[str], inputs: Sequence[torch.Tensor]) -> Sequence[str]:
    """Those programs that take these tensors, or all of them if none does."""
    wanted = Counter("x".join([*map(str, each.shape), _DTYPES.get(each.dtype, "")]) for each in inputs)
    return [text for text in texts if not wanted - Counter(_types(text))] or list(texts)


def _types(text: str) -> list[str]:
    """The types of a program's arguments: ``4x5xf32``."""
    found = _MAIN.search(text)
    return _TENSOR.findall(found[1]) if found else []


_log = _Log()


def begin(called: Hashable) -> None:
    """Begins a call of what is ``called``."""
    tpu.wait()
    _log.begin(called)


def taken() -> list[Program]:
    """The programs since ``begin``, in their order. Raises Unknown if TorchTPU's log did not hold them all."""
    return _log.call()


@contextlib.contextmanager
def sparing_the_host() -> Iterator[None]:
    """A context in which an operation whose output is too large for the host raises TooLarge, with its program."""
    with _Sparing() as mode:
        mode.largest = int(_LARGEST_FRACTION * environment.free_memory_bytes())
        yield


class _Sparing(_python_dispatch.TorchDispatchMode):
    largest: int

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        operation = (function, _described((args, given)), _settings())
        try:
            return self._computed(function, args, given)
        finally:
            _log.read(operation, on_tpu((args, given)))

    def _computed(self, function: Any, args: Any, given: Any) -> Any:
        # What writes to its arguments makes nothing larger.
        if function._schema.is_mutable or _LARGEST_ELEMENT * _most_elements((args, given)) <= self.largest:
            return function(*args, **given)
        before = tpu.parts.modes._get_eager_mode()
        tpu.parts.modes._set_eager_mode(tpu.parts.modes._EagerMode.INTERNAL_DEFER_ALL)
        try:
            output = function(*args, **given)
        finally:
            tpu.parts.modes._set_eager_mode(before)
        for leaf in on_tpu(output):
            if leaf.numel() * leaf.element_size() > self.largest and not tpu.parts.sync.is_materialized(leaf):
                raise TooLarge(str(function), tpu.parts.sync.computation_mlir(leaf))
        tpu.wait(output)
        return output


def _settings() -> Hashable:
    """What a program also depends on."""
    return torch.get_float32_matmul_precision(), torch.are_deterministic_algorithms_enabled(), torch.get_default_dtype()


def _described(nested: Any) -> Hashable:
    """What a program depends on: all but the values of tensors."""
    if isinstance(nested, torch.Tensor):
        place = (nested.stride(), nested.storage_offset()) if nested.layout == torch.strided else nested.layout
        return nested.device.type, nested.dtype, tuple(nested.shape), place
    if isinstance(nested, (list, tuple)):
        return tuple(map(_described, nested))
    if isinstance(nested, dict):
        return tuple((name, _described(value)) for name, value in nested.items())
    return type(nested), repr(nested)


def _most_elements(nested: Any) -> int:
    """How many elements an output can have by its inputs: of all tensors together, and of each list of sizes."""
    leaves = tree.leaves(nested)
    tensors = math.prod(max(1, leaf.numel()) for leaf in leaves if isinstance(leaf, torch.Tensor))
    sizes = math.prod(max(1, abs(leaf)) for leaf in leaves if type(leaf) is int)
    return tensors * sizes


def on_tpu(nested: Any) -> Sequence[torch.Tensor]:
    """The tensors of the device in a nested value."""
    return [leaf for leaf in tree.leaves(nested) if isinstance(leaf, torch.Tensor) and leaf.device.type == "tpu"]

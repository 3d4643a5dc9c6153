"""Collects the programs that TorchTPU makes of a call on its stand-in, XLA's CPU compiler.

TorchTPU makes a program of each eager operation, and logs it with its StableHLO when it is compiled. A program from its
cache is logged by its name only, so the cache is off, and on only for the rest of a call that has run many, and for the
call after it. What it holds then are programs of one call: it is emptied before the next, which takes TorchTPU one
second.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections import Counter
from typing import Any, Iterator, NamedTuple, Sequence

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

_MANY = 100
"""Programs of one call. To compile so many takes the stand-in about as long as it takes to empty the cache."""


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
    """A program that a call runs. ``candidates``: the StableHLO of each program that it may be, mostly one; the call
    certainly runs each of several, but maybe not here."""

    name: str
    candidates: Sequence[str]


class TooLarge(BaseException):
    """An operation's output is too large for the host. Nothing in a test catches it."""

    def __init__(self, name: str, stablehlo: str) -> None:
        super().__init__(name)
        self.program = Program(name, [stablehlo])


def prepare() -> None:
    """From here on each program is logged, and an error of an operation is raised by its own call and not by what
    reads its output. Raises DeviceUnavailable."""
    lacking = [mode for mode in _MODES if not hasattr(tpu.parts.modes._EagerMode, mode)]
    if lacking:
        raise DeviceUnavailable(f"torch_tpu has no mode {', '.join(lacking)}", "Use the version in tpu-aot.lock.")
    tpu.parts.modes._set_eager_mode(tpu.parts.modes._EagerMode.DEFER_NEVER_AND_LAUNCH_BLOCKING)
    tpu.parts.backend._set_allow_cache(False)


_MODES = ("DEFER_NEVER_AND_LAUNCH_BLOCKING", "INTERNAL_DEFER_ALL")


class _Log:
    """What TorchTPU's log says of a call."""

    def __init__(self) -> None:
        self._call: list[Program] = []
        self._is_caching = False
        self._cached: dict[str, list[str]] = {}
        """The programs in TorchTPU's cache, by their names."""

    def begin(self) -> None:
        """Begins a call: the programs before it are not its own."""
        tpu.parts.tracing._drain_structured_log_buffer()
        if self._is_caching:
            tpu.parts.backend._clear_cache()
        # A long call is mostly one step of several.
        self._caches(len(self._call) >= _MANY)
        self._call, self._cached = [], {}

    def read(self, inputs: Sequence[torch.Tensor] = ()) -> list[Program]:
        """Takes what was logged since the last time, of an operation with these inputs. Returns the programs of the
        call so far.

        Raises Unknown if the log does not hold them all.
        """
        log = tpu.parts.tracing._drain_structured_log_buffer()
        if log["dropped_since_last_drain"]:
            raise Unknown(f"TorchTPU's log lost {log['dropped_since_last_drain']} programs of the call")
        for event in log["events"]:
            name, text = event["name"], event["stablehlo"]
            if text:
                self._call.append(Program(name, [text]))
                if self._is_caching:
                    self._cached.setdefault(name, []).append(text)
            elif name in self._cached:
                self._call.append(Program(name, _with_inputs(self._cached[name], inputs)))
            elif not event["compile_failed"]:
                raise Unknown(f"TorchTPU did not log its program of {name}")
            # Else it is an operation on what an earlier one had failed to compute.
        if not self._is_caching and len(self._call) >= _MANY:
            self._caches(True)
        return self._call

    def _caches(self, on: bool) -> None:
        tpu.parts.backend._set_allow_cache(on)
        self._is_caching = on


def _with_inputs(texts: Sequence[str], inputs: Sequence[torch.Tensor]) -> Sequence[str]:
    """Those programs that take these tensors, or all of them if none does."""
    wanted = Counter("x".join([*map(str, each.shape), _DTYPES.get(each.dtype, "")]) for each in inputs)
    return [text for text in texts if not wanted - Counter(_types(text))] or list(texts)


def _types(text: str) -> list[str]:
    """The types of a program's arguments: ``4x5xf32``."""
    found = _MAIN.search(text)
    return _TENSOR.findall(found[1]) if found else []


_log = _Log()


def begin() -> None:
    """Begins a call: the programs before it are not its own."""
    tpu.wait()
    _log.begin()


def taken() -> list[Program]:
    """The programs since ``begin``, in their order. Raises Unknown if TorchTPU's log does not hold them all."""
    return _log.read()


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
        _log.read()
        try:
            return self._computed(function, args, given)
        finally:
            _log.read(on_tpu((args, given)))

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


def _most_elements(nested: Any) -> int:
    """How many elements an output can have by its inputs: of all tensors together, and of each list of sizes."""
    leaves = tree.leaves(nested)
    tensors = math.prod(max(1, leaf.numel()) for leaf in leaves if isinstance(leaf, torch.Tensor))
    sizes = math.prod(max(1, abs(leaf)) for leaf in leaves if type(leaf) is int)
    return tensors * sizes


def on_tpu(nested: Any) -> Sequence[torch.Tensor]:
    """The tensors of the device in a nested value."""
    return [leaf for leaf in tree.leaves(nested) if isinstance(leaf, torch.Tensor) and leaf.device.type == "tpu"]

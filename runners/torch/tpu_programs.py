"""Collects the programs that TorchTPU makes of a call on its stand-in, XLA's CPU compiler.

TorchTPU makes a program of each eager operation. It logs each with its StableHLO when it is first compiled, and only by
its name when it is in the cache.
"""

from __future__ import annotations

import contextlib
import math
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


class Program(NamedTuple):
    """A program that a call runs. ``stablehlo`` is empty if it cannot be said which of several it was."""

    name: str
    stablehlo: str


class TooLarge(BaseException):
    """An operation's output is too large for the host. Nothing in a test catches it."""

    def __init__(self, name: str, stablehlo: str) -> None:
        super().__init__(name)
        self.program = Program(name, stablehlo)


def raise_at_once() -> None:
    """From here on an error of an operation is raised by its own call and not by what reads its output."""
    lacking = [mode for mode in _MODES if not hasattr(tpu.parts.modes._EagerMode, mode)]
    if lacking:
        raise DeviceUnavailable(f"torch_tpu has no mode {', '.join(lacking)}", "Use the version in tpu-aot.lock.")
    tpu.parts.modes._set_eager_mode(tpu.parts.modes._EagerMode.DEFER_NEVER_AND_LAUNCH_BLOCKING)


_MODES = ("DEFER_NEVER_AND_LAUNCH_BLOCKING", "INTERNAL_DEFER_ALL")


def begin() -> None:
    """Discards the programs of what was computed before a call, and what would hide programs of it."""
    tpu.wait()
    tpu.parts.backend._clear_cache()
    tpu.parts.tracing._drain_structured_log_buffer()


def taken() -> list[Program]:
    """The programs since ``begin``, in their order. Raises Unknown if TorchTPU's log did not hold them all."""
    log = tpu.parts.tracing._drain_structured_log_buffer()
    if log["dropped_since_last_drain"]:
        raise Unknown(f"TorchTPU's log lost {log['dropped_since_last_drain']} programs of the call")
    known: dict[str, list[str]] = {}
    found = []
    for event in log["events"]:
        name, text = event["name"], event["stablehlo"]
        texts = known.setdefault(name, [])
        if text:
            texts.append(text)
        elif event["compile_failed"] and not texts:
            continue  # an operation on what an earlier one had failed to compute
        found.append(Program(name, text or (texts[0] if len(texts) == 1 else "")))
    return found


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

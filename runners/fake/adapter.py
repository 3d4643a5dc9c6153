"""Adapter of the fake framework."""

from __future__ import annotations

import contextlib
import os
import random
import signal
from pathlib import Path
from typing import Any, Callable, ContextManager, Iterator, Mapping

import numpy as np

from runners.core.adapter import HOST, Operation, OpTrace
from runners.core.errors import DeviceUnavailable
from runners.core.testing import tree
from runners.fake import library

_PLACES = {"cpu": library.HOST, "xla": library.DEVICE}
_WORK = 20_000

TENSORS_CHANGE = True
"""Whether a call can change its arguments."""


def version() -> str:
    return library.__version__


def prepare(device: str) -> None:
    """Needs nothing besides the library. Is killed for each character of the file that FAKE_KILLED_STARTS names."""
    kills = Path(os.environ.get("FAKE_KILLED_STARTS", os.devnull))
    left = kills.read_text()
    if left:
        kills.write_text(left[1:])
        os.kill(os.getpid(), signal.SIGKILL)


def open_device(device: str) -> str:
    if device not in _PLACES:
        raise DeviceUnavailable(f"the fake framework has no {device}", "Use fake-cpu.")
    return device


def device_facts(device: str) -> Mapping[str, Any]:
    return {"kind": device}


def device_state(device: str) -> Mapping[str, Any]:
    return {}


def scope(device: str) -> ContextManager[object]:
    return contextlib.nullcontext()


@contextlib.contextmanager
def full_precision() -> Iterator[None]:
    library.full_precision = True
    try:
        yield
    finally:
        library.full_precision = False


def float64_mode() -> ContextManager[object]:
    return contextlib.nullcontext()


def seed(seed: int) -> None:
    random.seed(seed)


def tensor(array: Any, dtype: str, device: str, layout: str) -> library.Tensor:
    return library.Tensor(array.tolist(), dtype, _PLACES[device])


def copied_to(leaf: Any, device: str, dtype_of: Callable[[str], str]) -> Any:
    if not isinstance(leaf, library.Tensor):
        return leaf
    return library.Tensor(leaf.values, dtype_of(leaf.dtype), _PLACES[device])


def host_device() -> str:
    return "cpu"


def as_function(found: Any) -> Any:
    return found


def dtype(name: str) -> str:
    return name


def dtype_name(leaf: Any) -> str | None:
    return leaf.dtype if isinstance(leaf, library.Tensor) else None


def to_numpy(leaf: library.Tensor) -> Any:
    return np.array(leaf.values, leaf.dtype)


def wait(output: Any) -> None:
    """Asking for the values finishes work that was started."""
    if library.poison is not None:
        library.poison()
    for leaf in tree.leaves(output):
        if isinstance(leaf, library.Pending):
            _ = leaf.values


def wait_as_published(output: Any) -> None:
    """Does nothing: like ``xm.mark_step()``, it leaves the work to the device."""


def calibration_kernel(units: int, device: str) -> Callable[[], Any]:
    def compute() -> list[float]:
        return [float(sum(range(units * _WORK)))]

    return lambda: {"sums": (library.Pending(compute, "float64", _PLACES[device]),)}


def location(leaf: Any) -> str | None:
    return leaf.place if isinstance(leaf, library.Tensor) else None


def on_device(location: str, device: str) -> bool:
    return location == _PLACES[device]


@contextlib.contextmanager
def trace_ops(device: str, counts: bool = True) -> Iterator[OpTrace]:
    trace = OpTrace()
    library.operations = []
    try:
        yield trace
    finally:
        seen, library.operations = library.operations, None
        places = {library.HOST: HOST}
        trace.operations = [Operation(f"fake::{name}", places.get(place, place)) for name, place in seen]


def counters() -> dict[str, int]:
    return {}

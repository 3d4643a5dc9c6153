"""Adapter of the fake framework."""

from __future__ import annotations

import contextlib
import random
from typing import Any, ContextManager, Mapping

from runners.core.errors import DeviceUnavailable
from runners.fake import library


def version() -> str:
    return library.__version__


def open_device(device: str) -> str:
    if device != "cpu":
        raise DeviceUnavailable(f"the fake framework has no {device}", "Use fake-cpu.")
    return device


def device_facts(device: str) -> Mapping[str, Any]:
    return {"kind": device}


def scope(device: str) -> ContextManager[object]:
    return contextlib.nullcontext()


def seed(seed: int) -> None:
    random.seed(seed)


def tensor(array: Any, dtype: str, device: str, layout: str) -> library.Tensor:
    return library.Tensor(array.tolist(), dtype)


def dtype(name: str) -> str:
    return name


def dtype_name(leaf: Any) -> str | None:
    return leaf.dtype if isinstance(leaf, library.Tensor) else None


def to_numpy(leaf: library.Tensor) -> Any:
    import numpy

    return numpy.array(leaf.values, leaf.dtype)


def wait(output: Any) -> None:
    """Nothing to wait for: everything is done when it returns."""


def location(leaf: Any) -> str | None:
    return "cpu"


def on_device(location: str, device: str) -> bool:
    return location == device


def counters() -> dict[str, int]:
    return {}

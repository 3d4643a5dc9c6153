"""PyTorch on the CPU, where nothing is queued."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any, Iterator, Mapping

import torch

from runners.core.adapter import OpTrace
from runners.torch.op_trace import traced_ops


def open_device(device: str) -> torch.device:
    return torch.device("cpu")


def facts(device: torch.device) -> Mapping[str, Any]:
    return {"kind": "cpu"}


def state(device: torch.device) -> Mapping[str, Any]:
    return {}


def read(leaf: torch.Tensor) -> torch.Tensor:
    return leaf.cpu()


@contextlib.contextmanager
def full_precision() -> Iterator[None]:
    """From 2.1 on, a CPU may be allowed to multiply float32 in bfloat16 too."""
    before = matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before or "highest")


def matmul_precision() -> str | None:
    """The precision of float32 products; None if it was set in two ways that 2.9 cannot combine."""
    with warnings.catch_warnings():
        # The warning recommends newer settings, one for each kind of device.
        warnings.simplefilter("ignore")
        try:
            return torch.get_float32_matmul_precision()
        except RuntimeError:
            return None


def seed(seed: int) -> None:
    pass


def wait(output: Any = None) -> None:
    """Does nothing: an operation has ended when its call returns."""


def wait_as_published() -> None:
    pass


@contextlib.contextmanager
def trace_ops(device: torch.device, counts: bool = True) -> Iterator[OpTrace]:
    trace = OpTrace()
    with traced_ops(device) as operations:
        yield trace
    trace.operations = operations


def counters() -> Mapping[str, int]:
    return {}

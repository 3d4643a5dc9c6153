"""PyTorch on the CPU: nothing is queued, nothing is elsewhere."""

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
    """From 2.1 on a CPU, too, may be allowed to multiply float32 in bfloat16."""
    before = matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before or "highest")


def matmul_precision() -> str | None:
    """None where it was set in two ways that 2.9 does not see together."""
    with warnings.catch_warnings():
        # That there is a newer way to say it, for each kind of device by itself.
        warnings.simplefilter("ignore")
        try:
            return torch.get_float32_matmul_precision()
        except RuntimeError:
            return None


def seed(seed: int) -> None:
    pass


def wait() -> None:
    """Nothing to wait for: an operation has ended when its call returns."""


def wait_as_published() -> None:
    pass


@contextlib.contextmanager
def trace_ops(device: torch.device) -> Iterator[OpTrace]:
    watched = OpTrace()
    with traced_ops(device) as seen:
        yield watched
    watched.operations = seen


def counters() -> Mapping[str, int]:
    return {}

"""Adapter of PyTorch, from 1.12 on. Implements runners.core.adapter.Adapter."""

from __future__ import annotations

import contextlib
from typing import Any, ContextManager, Mapping

import numpy as np
import torch

from runners.core.errors import DeviceUnavailable


def version() -> str:
    return torch.__version__.split("+")[0]


def open_device(device: str) -> torch.device:
    if device != "cpu":
        raise DeviceUnavailable(f"the PyTorch adapter cannot open a {device}", "Use torch-cpu.")
    return torch.device("cpu")


def device_facts(device: torch.device) -> Mapping[str, Any]:
    return {
        "kind": device.type,
        "threads": torch.get_num_threads(),
        "interop_threads": torch.get_num_interop_threads(),
        "default_dtype": str(torch.get_default_dtype()),
        "mkl": torch.backends.mkl.is_available(),
        "mkldnn": torch.backends.mkldnn.is_available(),
    }


def scope(device: torch.device) -> ContextManager[object]:
    return contextlib.nullcontext()


def seed(seed: int) -> None:
    torch.manual_seed(seed)


def tensor(array: Any, dtype: str, device: torch.device, layout: str) -> torch.Tensor:
    kind = getattr(torch, dtype)
    if layout == "transposed" and array.ndim > 1:
        return torch.tensor(array.swapaxes(-1, -2)).to(device, kind).transpose(-1, -2)
    if layout == "strided" and array.ndim > 0:
        return torch.tensor(np.repeat(array, 2, axis=-1)).to(device, kind)[..., ::2]
    return torch.tensor(array).to(device, kind)


def dtype(name: str) -> torch.dtype:
    found = getattr(torch, name, None)
    if not isinstance(found, torch.dtype):
        raise KeyError(name)
    return found


def dtype_name(leaf: Any) -> str | None:
    return str(leaf.dtype)[len("torch.") :] if isinstance(leaf, torch.Tensor) else None


def to_numpy(leaf: torch.Tensor) -> Any:
    dense = leaf.detach() if leaf.layout == torch.strided else leaf.detach().to_dense()
    host = dense.cpu().resolve_conj().resolve_neg()
    return (host.float() if host.dtype == torch.bfloat16 else host).numpy()


def wait(output: Any) -> None:
    """Nothing to wait for on the CPU: an operation has ended when its call returns."""


def location(leaf: Any) -> str | None:
    return str(leaf.device) if isinstance(leaf, torch.Tensor) else None


def on_device(location: str, device: torch.device) -> bool:
    return torch.device(location).type == device.type


def counters() -> dict[str, int]:
    return {}

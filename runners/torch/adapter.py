"""Adapter of PyTorch, from 1.12 on. Implements runners.core.adapter.Adapter.

Each kind of device has a module with the same functions: ``host`` (cpu), ``cuda`` (gpu) and ``xla`` (tpu, xla).
"""

from __future__ import annotations

import contextlib
import importlib
from typing import Any, Callable, ContextManager, Mapping

import numpy as np
import torch

from runners.core.adapter import OpTrace
from runners.core.prediction.tpus import MODELS
from runners.torch import host

_KINDS = {
    "cpu": "host",
    "gpu": "cuda",
    "tpu": "xla",
    "xla": "xla",
    "gpu-predicted": "host",
    **dict.fromkeys(MODELS, "xla"),
}
_kind: Any = None


def version() -> str:
    return torch.__version__.split("+")[0]


def prepare(device: str) -> None:
    global _kind
    _kind = importlib.import_module(f"runners.torch.{_KINDS[device]}")
    if hasattr(_kind, "prepare"):
        _kind.prepare()


def open_device(device: str) -> torch.device:
    prepare(device)
    return _kind.open_device(device)  # type: ignore[no-any-return]


def device_facts(device: torch.device) -> Mapping[str, Any]:
    return {
        **_kind.facts(device),
        "threads": torch.get_num_threads(),
        "interop_threads": torch.get_num_interop_threads(),
        "default_dtype": str(torch.get_default_dtype()),
        "float32_matmul_precision": host.matmul_precision(),
        "mkl": torch.backends.mkl.is_available(),
        "mkldnn": torch.backends.mkldnn.is_available(),
    }


def device_state(device: torch.device) -> Mapping[str, Any]:
    return _kind.state(device)  # type: ignore[no-any-return]


def scope(device: torch.device) -> ContextManager[object]:
    """An empty context: functions get their device as an argument. The default device of PyTorch 2.0 and newer also
    holds in the worker processes of a DataLoader, which hang if the device is an accelerator."""
    return contextlib.nullcontext()


def full_precision() -> ContextManager[object]:
    return _kind.full_precision()  # type: ignore[no-any-return]


def float64_mode() -> ContextManager[object]:
    return contextlib.nullcontext()


def seed(seed: int) -> None:
    torch.manual_seed(seed)
    _kind.seed(seed)


def tensor(array: Any, dtype: str, device: torch.device, layout: str) -> torch.Tensor:
    kind = getattr(torch, dtype)
    if layout == "transposed" and array.ndim > 1:
        return torch.tensor(array.swapaxes(-1, -2), device="cpu").to(kind).to(device).transpose(-1, -2)
    if layout == "strided" and array.ndim > 0:
        return torch.tensor(np.repeat(array, 2, axis=-1), device="cpu").to(kind).to(device)[..., ::2]
    return torch.tensor(array, device="cpu").to(kind).to(device)


def dtype(name: str) -> torch.dtype:
    found = getattr(torch, name, None)
    if not isinstance(found, torch.dtype):
        raise KeyError(name)
    return found


def dtype_name(leaf: Any) -> str | None:
    return str(leaf.dtype)[len("torch.") :] if isinstance(leaf, torch.Tensor) else None


def to_numpy(leaf: torch.Tensor) -> Any:
    dense = leaf.detach() if leaf.layout == torch.strided else leaf.detach().to_dense()
    read = _kind.read(dense).resolve_conj().resolve_neg()
    return (read.float() if read.dtype == torch.bfloat16 else read).numpy()


def wait(output: Any) -> None:
    _kind.wait()


def wait_as_published(output: Any) -> None:
    _kind.wait_as_published()


def calibration_kernel(units: int, device: torch.device) -> Callable[[], Any]:
    generator = torch.Generator().manual_seed(0)
    # With this scale, the products neither vanish nor overflow.
    step = (torch.randn(512, 512, generator=generator, device="cpu") / 512**0.5).to(device)
    start = torch.randn(64 * units, 512, generator=generator, device="cpu").to(device)
    wait((step, start))

    def products() -> Any:
        output = start
        for _ in range(8):
            output = output @ step
        # For a plain sum, a compiler could leave out rows or columns of the products.
        return {"sum": (output.abs().sum(),)}

    return products


def location(leaf: Any) -> str | None:
    return str(leaf.device) if isinstance(leaf, torch.Tensor) else None


def on_device(location: str, device: torch.device) -> bool:
    return location == str(device)


def trace_ops(device: torch.device) -> ContextManager[OpTrace]:
    return _kind.trace_ops(device)  # type: ignore[no-any-return]


def counters() -> Mapping[str, int]:
    return _kind.counters()  # type: ignore[no-any-return]

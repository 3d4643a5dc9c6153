"""Adapter of PyTorch, from 1.12 on. Implements runners.core.adapter.Adapter.

Each kind of device has a module with the same functions: ``host`` (cpu), ``cuda`` (gpu), and for tpu and xla ``tpu``
where the environment has TorchTPU, else ``xla``, for torch_xla. ``privateuse1`` is for any vendor's backend.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
from typing import Any, Callable, ContextManager, Mapping, Sequence

import numpy as np
import torch

from runners.core.adapter import OpTrace
from runners.core.prediction.tpus import MODELS
from runners.core.testing import tree
from runners.torch import HAS_TORCH_TPU, host

_XLA = "tpu" if HAS_TORCH_TPU else "xla"
_KINDS = {
    "cpu": "host",
    "gpu": "cuda",
    "tpu": _XLA,
    "xla": _XLA,
    "privateuse1": "privateuse1",
    "gpu-predicted": "host",
    "mps-predicted": "host",
    **dict.fromkeys(MODELS, _XLA),
}
_NUMPY = (torch.float16, torch.float32, torch.float64)
"""Floating dtypes that NumPy has."""

_kind: Any = None


TENSORS_CHANGE = True
"""Whether a call can change its arguments."""


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
        # torch.tensor keeps the strides of an array: a swapped view would be contiguous again after the transpose.
        swapped = np.ascontiguousarray(array.swapaxes(-1, -2))
        return torch.tensor(swapped, device="cpu").to(kind).to(device).transpose(-1, -2)
    if layout == "strided" and array.ndim > 0:
        return torch.tensor(np.repeat(array, 2, axis=-1), device="cpu").to(kind).to(device)[..., ::2]
    return torch.tensor(array, device="cpu").to(kind).to(device)


def host_device() -> torch.device:
    return torch.device("cpu")


def copied_to(leaf: Any, device: torch.device, dtype_of: Callable[[str], str]) -> Any:
    if isinstance(leaf, torch.device) or (isinstance(leaf, str) and leaf == "cpu"):
        return device
    if isinstance(leaf, torch.nn.Module):
        module = copy.deepcopy(leaf)
        return (module.double() if dtype_of("float32") == "float64" else module).to(device)
    if not isinstance(leaf, torch.Tensor):
        return leaf
    kind = getattr(torch, dtype_of(str(leaf.dtype)[len("torch.") :]))
    copied = leaf.detach().clone(memory_format=torch.preserve_format).to(kind).to(device)
    return copied.requires_grad_(leaf.requires_grad)


def in_memory_order(tensor: torch.Tensor, order: Sequence[int]) -> torch.Tensor:
    back = sorted(range(len(order)), key=lambda place: order[place])
    return tensor.permute(*order).contiguous().permute(*back)


def differentiable(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.requires_grad_()


def with_gradients(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    inputs = [leaf for leaf in tree.leaves((args, kwargs)) if _is_differentiable(leaf)]
    # A function may write into its arguments, which the leaves of a graph forbid.
    given, named = tree.mapped(_copy, (args, kwargs))
    output = function(*given, **named)
    roots = [leaf for leaf in tree.leaves(output) if isinstance(leaf, torch.Tensor) and leaf.grad_fn is not None]
    ones = [torch.ones_like(root) for root in roots]
    found = torch.autograd.grad(roots, inputs, ones, allow_unused=True) if roots else [None] * len(inputs)
    gradients = [torch.zeros_like(each) if one is None else one for each, one in zip(inputs, found)]
    return output, gradients, (given, named)


def autocast(device: torch.device, dtype: str) -> ContextManager[object]:
    return torch.autocast(device.type, getattr(torch, dtype))  # type: ignore[no-any-return]


def as_function(found: Any) -> Callable[..., Any]:
    return found  # type: ignore[no-any-return]


def _is_differentiable(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.requires_grad


def _copy(leaf: Any) -> Any:
    return leaf.clone(memory_format=torch.preserve_format) if _is_differentiable(leaf) else leaf


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
    return (read.float() if read.is_floating_point() and read.dtype not in _NUMPY else read).numpy()


def wait(output: Any) -> None:
    _kind.wait(output)


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


def trace_ops(device: torch.device, counts: bool = True) -> ContextManager[OpTrace]:
    return _kind.trace_ops(device, counts)  # type: ignore[no-any-return]


def counters() -> Mapping[str, int]:
    return _kind.counters()  # type: ignore[no-any-return]

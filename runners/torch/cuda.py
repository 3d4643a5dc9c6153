"""PyTorch on CUDA."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any, Iterator, Mapping

import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile, supported_activities

from runners.core import devices
from runners.core.adapter import OpTrace
from runners.core.errors import DeviceUnavailable, first_line
from runners.torch import host
from runners.torch.op_trace import traced_ops

_HELD = ("out of memory", "busy or unavailable")
_OTHER_WHEEL = "no kernel image"


def open_device(device: str) -> torch.device:
    if torch.version.cuda is None or not torch.backends.cuda.is_built():
        raise DeviceUnavailable(
            f"this PyTorch {torch.__version__} was built without CUDA", "Use an environment or image for torch-gpu."
        )
    opened = torch.device("cuda", 0)
    try:
        with warnings.catch_warnings():
            # The causes of its warnings, an old driver or an unknown architecture, fail below and are reported once.
            warnings.simplefilter("ignore")
            torch.cuda.init()
            one = torch.ones(1, device=opened)
            _computes = (one + one).item()
            torch.ones(8, 8, device=opened) @ torch.ones(8, 8, device=opened)
            torch.cuda.synchronize()
    except (RuntimeError, AssertionError) as error:
        raise _unavailable(error) from error
    return opened


def _unavailable(error: Exception) -> DeviceUnavailable:
    said = first_line(error)
    if _OTHER_WHEEL in said:
        capability = ".".join(map(str, torch.cuda.get_device_capability(0)))
        return DeviceUnavailable(
            f"{torch.cuda.get_device_name(0)} has the compute capability {capability}, and this PyTorch"
            f" {torch.__version__} was built for {', '.join(torch.cuda.get_arch_list())} alone",
            "Use a newer PyTorch, or a build of this one for a newer CUDA.",
        )
    held = devices.holders(devices.NVIDIA_NODES) if any(word in said for word in _HELD) else []
    if held:
        return DeviceUnavailable(f"the GPU is held by {', '.join(held)}: {said}", "End what holds it, then run again.")
    return DeviceUnavailable(
        f"there is no CUDA device for PyTorch: {said.split('. ')[0]}",
        "nvidia-smi must list one; a container sees it with --gpus all.",
    )


def facts(device: torch.device) -> Mapping[str, Any]:
    properties = torch.cuda.get_device_properties(device)
    found = {
        "model": properties.name,
        "memory_bytes": properties.total_memory,
        "compute_capability": f"{properties.major}.{properties.minor}",
        "multiprocessors": properties.multi_processor_count,
    }
    found.update(devices.nvidia_facts(device.index or 0))
    return {
        **found,
        "kind": "gpu",
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
        "architectures": ", ".join(torch.cuda.get_arch_list()),
        **_switches(),
        "cudnn_benchmark": torch.backends.cudnn.benchmark,
        "cudnn_deterministic": torch.backends.cudnn.deterministic,
    }


def state(device: torch.device) -> Mapping[str, Any]:
    return devices.nvidia_state(device.index or 0)


def read(leaf: torch.Tensor) -> torch.Tensor:
    return leaf.cpu()


_SWITCHES = (
    ("matmul_tf32", "cuda.matmul.allow_tf32"),
    ("cudnn_tf32", "cudnn.allow_tf32"),
    ("matmul_fp16_sums", "cuda.matmul.allow_fp16_reduced_precision_reduction"),
    ("matmul_bf16_sums", "cuda.matmul.allow_bf16_reduced_precision_reduction"),
)
"""Switches that allow products to be coarser than their dtype, by their names in the facts. Not every version has
all."""


def _switches() -> dict[str, bool]:
    found = {}
    with warnings.catch_warnings():
        # 2.9 has newer names for the first two.
        warnings.simplefilter("ignore")
        for name, path in _SWITCHES:
            holder, switch = _switch(path)
            with contextlib.suppress(AttributeError, AssertionError, RuntimeError):
                found[name] = bool(getattr(holder, switch))
    return found


def _switch(path: str) -> tuple[Any, str]:
    holder: Any = torch.backends
    *modules, switch = path.split(".")
    for module in modules:
        holder = getattr(holder, module)
    return holder, switch


@contextlib.contextmanager
def full_precision() -> Iterator[None]:
    before = _switches()
    # This sets the first switch.
    with host.full_precision():
        others = [(_switch(path), before[name]) for name, path in _SWITCHES[1:] if name in before]
        for (holder, switch), _ in others:
            setattr(holder, switch, False)
        try:
            yield
        finally:
            for (holder, switch), value in others:
                setattr(holder, switch, value)


def seed(seed: int) -> None:
    """Does nothing: torch.manual_seed has seeded every CUDA device."""


def wait(output: Any = None) -> None:
    torch.cuda.synchronize()


def wait_as_published() -> None:
    torch.cuda.synchronize()


@contextlib.contextmanager
def trace_ops(device: torch.device, counts: bool = True) -> Iterator[OpTrace]:
    """Traces operations as they are dispatched, the time of their kernels, and the peak of the device memory. What a
    kernel's own code does on the host cannot be traced: linalg.eig sends its matrix to LAPACK.

    Without ``counts`` there is no profile: to begin and end one takes longer than most tests."""
    if not counts:
        with host.trace_ops(device) as trace:
            yield trace
            torch.cuda.synchronize()
        return
    trace = OpTrace()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats(device)
    held = torch.cuda.memory_allocated(device)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiled, traced_ops(
        device
    ) as operations:
        yield trace
        torch.cuda.synchronize()
    trace.operations = operations
    trace.counters["memory_bytes"] = torch.cuda.max_memory_allocated(device) - held
    # A build without CUPTI reports no kernels.
    if ProfilerActivity.CUDA in supported_activities():
        trace.counters["kernel_ns"] = kernel_ns(profiled.events())


def kernel_ns(events: Any) -> int:
    """The sum of the times of the kernels among a profiler's events, without copies and annotations."""
    kernels = [
        event
        for event in events
        if event.device_type == DeviceType.CUDA
        and not event.name.startswith(("Memcpy", "Memset"))
        and not getattr(event, "is_user_annotation", False)
    ]
    return round(1000 * sum(event.time_range.elapsed_us() for event in kernels))


def counters() -> Mapping[str, int]:
    """Empty: CUDA has no cheap counters."""
    return {}

"""PyTorch on TorchTPU (package torch_tpu): a TPU, or XLA's CPU compiler in its place.

Parts of TorchTPU that are not public are used here and in ``tpu_programs``; ``prepare`` checks that they are there.
The stand-in (device ``xla``) is a PJRT plugin with XLA's CPU compiler, which TorchTPU loads instead of libtpu.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from importlib import metadata
from types import SimpleNamespace
from typing import Any, Mapping

import torch

from runners.core import devices
from runners.core.errors import DeviceUnavailable
from runners.core.testing import tree
from runners.torch import STAND_IN, host, stand_in_library
from runners.torch.opening import compute_once

_PRIVATE = {
    "loader": ("torch_tpu._loader", ("_init_device",)),
    "hardware": ("torch_tpu._internal.utils.hardware", ("get_tpu_device_count",)),
    "modes": (
        "torch_tpu._internal.execution_mode.execution_mode_impl",
        ("_EagerMode", "_set_eager_mode", "_get_eager_mode", "_enable_cpu_fallback", "_is_cpu_fallback_enabled"),
    ),
    "backend": (
        "torch_tpu._internal.device._device_ops_backend",
        ("manual_seed_all", "_clear_cache", "_set_allow_cache", "_get_cache_requests", "_get_cache_misses"),
    ),
    "sync": ("torch_tpu._internal.sync", ("synchronize", "computation_mlir", "is_materialized")),
    "tracing": (
        "torch_tpu._internal.tracing._tpu_torch_tracing",
        ("_structured_log_enabled", "_drain_structured_log_buffer"),
    ),
}
"""The modules of TorchTPU with their names that are not public, by their names in ``parts``."""

parts: Any = None
"""The modules of ``_PRIVATE``, after ``prepare``."""

_missing = ""
"""Why TorchTPU cannot be used."""


REMEDY = "Use an environment or image with the versions of torch and torch_tpu in images/torch/*/tpu.lock."


def missing() -> str:
    """Why TorchTPU cannot be used, after ``prepare``; empty if it can."""
    return _missing


def prepare() -> None:
    """Imports torch_tpu, once, and opens no device. A device cannot be opened if that fails."""
    global parts, _missing
    if parts or _missing:
        return
    try:
        found = {name: importlib.import_module(module) for name, (module, _) in _PRIVATE.items()}
        lacking = [
            f"{path}.{each}"
            for name, (path, names) in _PRIVATE.items()
            for each in names
            if not hasattr(found[name], each)
        ]
        if lacking:
            _missing = f"torch_tpu {metadata.version('torch_tpu')} has no {', '.join(lacking)}"
            return
        found["loader"]._init_device("tpu")
        parts = SimpleNamespace(**found)
    except ImportError as error:
        _missing = f"torch_tpu cannot be imported: {error}"
        return
    if _on_stand_in():
        _keep_programs()


def _keep_programs() -> None:
    """Has TorchTPU keep the programs that it makes in memory. It looks at the variable once; PyTorch has looked before,
    and writes no files for it."""
    before = os.environ.get("TORCH_TRACE")
    os.environ["TORCH_TRACE"] = "1"
    parts.tracing._structured_log_enabled()
    if before is None:
        del os.environ["TORCH_TRACE"]
    else:
        os.environ["TORCH_TRACE"] = before


def _on_stand_in() -> bool:
    library = stand_in_library()
    return library is not None and os.environ.get("TPU_LIBRARY_PATH") == library


def open_device(device: str) -> torch.device:
    prepare()
    if _missing:
        raise DeviceUnavailable(
            f"PyTorch reaches the device '{device}' through TorchTPU, which cannot be used: {_missing}",
            REMEDY,
        )
    if device == "tpu":
        _require_tpu()
    elif not _on_stand_in():
        raise DeviceUnavailable(
            f"the package {STAND_IN}, XLA's CPU compiler as a plugin, is not installed",
            "Use the environment or image of a predicted TPU, such as torch-2.15.0-tpu-v5e.",
        )
    # Silence about what falls back to the host would be a wrong result.
    parts.modes._enable_cpu_fallback(False)
    opened = torch.device("tpu", 0)
    compute_once(opened, f"TorchTPU cannot open the device '{device}'")
    return opened


def _require_tpu() -> None:
    """Raises DeviceUnavailable without a TPU, or with one in use: a first computation would abort the process."""
    if not parts.hardware.get_tpu_device_count():
        raise DeviceUnavailable(
            "there is no TPU for TorchTPU on this machine: none of v4 or newer on the PCI bus has a node in /dev/vfio",
            "Run on a TPU VM; a container needs --privileged to see its TPU.",
        )
    held = devices.holders(devices.TPU_NODES)
    if held:
        raise DeviceUnavailable(f"the TPU is held by {', '.join(held)}", "A TPU has one holder: end the other.")


def facts(device: torch.device) -> Mapping[str, Any]:
    found = {
        "kind": "xla" if _on_stand_in() else "tpu",
        **versions(),
        "eager_mode": parts.modes._get_eager_mode().name,
        "cpu_fallback": parts.modes._is_cpu_fallback_enabled(),
        "xla_flags": os.environ.get("XLA_FLAGS", "").strip(),
    }
    if _on_stand_in():
        return {**found, "hardware": "CPU"}
    found.update(devices.tpu_facts(), libtpu_flags=os.environ.get("LIBTPU_INIT_ARGS", "").strip())
    with contextlib.suppress(RuntimeError, AttributeError):  # a TPU that this version does not know
        properties = torch.tpu.get_device_properties()
        found["model"] = properties.name
        found["memory_bytes"] = properties.total_memory
    return found


def versions() -> Mapping[str, str]:
    """The versions of TorchTPU and, if there is one, of the stand-in."""
    found = {"torch_tpu": metadata.version("torch_tpu")}
    if stand_in_library():
        found["stand_in"] = f"{STAND_IN} {metadata.version(STAND_IN)}"
    return found


state = host.state
read = host.read
full_precision = host.full_precision
"""TorchTPU replaces PyTorch's setting by its own, which is "medium" by default."""


def seed(seed: int) -> None:
    """Seeds the device, which torch.manual_seed does only where it sees a TPU on the PCI bus."""
    parts.backend.manual_seed_all(seed)


def wait(output: Any = None) -> None:
    """Waits for all work of the device, and raises what failed since the call had returned, which is known of its
    output alone."""
    torch.accelerator.synchronize()
    for leaf in tree.leaves(output):
        if isinstance(leaf, torch.Tensor) and leaf.device.type == "tpu":
            parts.sync.synchronize(leaf, wait=True)


def wait_as_published() -> None:
    """The paper's mark_step launched what was traced; here everything is launched when its call returns."""


trace_ops = host.trace_ops
"""Traces operations as they are dispatched: TorchTPU leaves none of them to the host by itself."""


def counters() -> Mapping[str, int]:
    """Programs that were run and compiled. What falls back to the host is an error."""
    return {
        "executions": parts.backend._get_cache_requests(),
        "compilations": parts.backend._get_cache_misses(),
        "fallbacks": 0,
    }

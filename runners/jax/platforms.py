"""JAX's devices: opens one of each kind, says which belong to the target, and collects facts about them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Iterable, Mapping

import jax

from runners.core import devices
from runners.core.adapter import Scalar
from runners.core.errors import DeviceUnavailable
from runners.jax import PLUGIN

_PLATFORMS = {"cpu": "cpu", "gpu": "gpu", "tpu": "tpu", "xla": "cpu"}

_PJRT = "pjrt"
"""The name under which JAX loads a vendor's plugin."""

_NODES = {
    "tpu": (*devices.TPU_NODES, "/tmp/libtpu_lockfile"),
    "gpu": devices.NVIDIA_NODES,
}
_TAKEN = re.compile(r"already in use|lockfile|busy|out of memory|RESOURCE_EXHAUSTED|DEVICE_UNAVAILABLE", re.IGNORECASE)

_plugins: list[Any] = []
"""The client of the plugin, if it is opened. Its devices may have the name of another platform: a plugin for the CPU
says cpu."""

_CUDA_VERSIONS = {"cuda_runtime": "cuda_runtime_get_version", "cudnn": "cudnn_get_version"}


def opened(kind: str) -> Any:
    """The target's device: the first of its platform; for xla the second of the host, so that it differs from the
    host's own. Raises DeviceUnavailable if JAX has none or offers another one instead."""
    if kind == _PJRT:
        _check_plugin()
    try:
        # If a plug-in does not start, JAX raises, or silently continues with other platforms, or fails an assertion if
        # there is none.
        found = jax.local_devices()
    except (RuntimeError, AssertionError) as error:
        raise _unavailable(kind, _reason(error)) from error
    if kind == _PJRT:
        return _of_plugin(found)
    if found[0].platform != _PLATFORMS[kind]:
        raise _unavailable(kind, _why_not(kind) or f"it offers the {found[0].platform} instead")
    if kind != "xla":
        return found[0]
    if len(found) < 2:
        raise DeviceUnavailable(
            "XLA_FLAGS leaves the host one device, and the target xla is the second one",
            "Remove --xla_force_host_platform_device_count from XLA_FLAGS, or set it to 2.",
        )
    return found[1]


def of_target(device: Any) -> tuple[Any, ...]:
    """The devices that a computation on the target may use: its own and those after it, so xla has one."""
    own = jax.local_devices(backend=_PJRT if _is_plugin(device) else device.platform)
    return tuple(other for other in own if other.id >= device.id)


def names_of(some: Iterable[Any]) -> str:
    """The location of something on these devices: ``gpu:0,gpu:1``."""
    return ",".join(sorted(f"{_PJRT if _is_plugin(device) else device.platform}:{device.id}" for device in some))


def facts(kind: str, device: Any) -> Mapping[str, Scalar]:
    """Facts about the device that do not change, and settings of JAX and XLA."""
    found: dict[str, Scalar] = {
        "kind": kind,
        "model": device.device_kind,
        "devices": len(of_target(device)),
        "platform_version": str(device.client.platform_version),
        "x64": bool(jax.config.jax_enable_x64),
        "matmul_precision": jax.config.jax_default_matmul_precision,
        "prng": str(jax.config.jax_default_prng_impl),
        "xla_flags": os.environ.get("XLA_FLAGS", ""),
    }
    if kind == _PJRT:
        plugin = Path(os.environ[PLUGIN])
        found.update({"platform": device.platform, "plugin": plugin.name, "plugin_bytes": plugin.stat().st_size})
    if kind == "gpu":
        found.update(devices.nvidia_facts(device.id))
        found.update(_cuda_versions())
    if kind == "tpu":
        found.update(devices.tpu_facts())
        found["libtpu_init_args"] = os.environ.get("LIBTPU_INIT_ARGS", "")
        found["memory_bytes"] = _memory(device).get("bytes_limit")
        for name in ("coords", "core_on_chip", "num_cores"):
            if hasattr(device, name):
                found[name] = str(getattr(device, name))
    return found


def state(kind: str, device: Any) -> Mapping[str, Scalar]:
    """Facts about the device that change."""
    found: dict[str, Scalar] = dict(devices.nvidia_state(device.id)) if kind == "gpu" else {}
    memory = _memory(device)
    if memory:
        # How much memory JAX reserves on a GPU depends on how much was free.
        found["reserved_bytes"] = memory.get("bytes_limit")
        found["allocated_bytes"] = memory.get("bytes_in_use")
    return found


def _check_plugin() -> None:
    path = os.environ.get(PLUGIN, "")
    remedy = f"Set {PLUGIN} to the absolute path of the plugin's library; docs/bring-your-device.md says what it needs."
    if not path:
        raise DeviceUnavailable(f"{PLUGIN} is not set, so there is no plugin for the device pjrt", remedy)
    if not Path(path).is_absolute() or not Path(path).is_file():
        raise DeviceUnavailable(f"{PLUGIN}={path}: expected the absolute path of a file", remedy)
    if ":" in path or "," in path:
        raise DeviceUnavailable(f"{PLUGIN}={path}: JAX reads : and , as separators", "Give a path without them.")


def _of_plugin(found: Any) -> Any:
    """The plugin's first device. A plugin must not be the host itself, whatever its platform is called."""
    device = found[0]
    if device.client is jax.devices("cpu")[0].client:
        raise _unavailable(_PJRT, _why_not(_PJRT) or "it offers the host instead")
    _plugins[:] = [device.client]
    return device


def _is_plugin(device: Any) -> bool:
    return bool(_plugins) and device.client is _plugins[0]


def _memory(device: Any) -> Mapping[str, Any]:
    try:
        return device.memory_stats() or {}
    except (AttributeError, RuntimeError):  # not every version and platform reports it
        return {}


def _cuda_versions() -> Mapping[str, Scalar]:
    """Versions of the CUDA libraries that are loaded. Before 0.4.17, JAX reports only ``platform_version``."""
    from jax._src import lib

    module = getattr(lib, "cuda_versions", None)
    found = {}
    for name, ask in _CUDA_VERSIONS.items():
        try:
            found[name] = getattr(module, ask)()
        except (AttributeError, RuntimeError):
            continue
    return found


def _why_not(kind: str) -> str:
    """Why JAX continued without the device, which it only logs. Empty if it is unknown."""
    from jax._src import lib, xla_bridge

    for name in ("_backends_errors", "_backend_errors"):
        for said in getattr(xla_bridge, name, {}).values():
            return _first_sentence(said)
    if kind != "gpu" or not hasattr(lib, "cuda_versions"):
        return ""
    if lib.cuda_versions is None:
        return "its plug-in for CUDA is not installed"
    try:
        lib.cuda_versions.cuda_runtime_get_version()
        return f"CUDA counts {lib.cuda_versions.cuda_device_count()} devices, but its plug-in does not start"
    except (AttributeError, RuntimeError) as error:
        return _first_sentence(str(error).split("failed: ")[-1])


def _unavailable(kind: str, reason: str) -> DeviceUnavailable:
    holders = devices.holders(_NODES.get(kind, ())) if _TAKEN.search(reason) else []
    if holders:
        return DeviceUnavailable(
            f"JAX cannot open the {kind}, which {', '.join(holders)} holds: {reason}", "Wait until it ends, or end it."
        )
    if kind == _PJRT:
        return DeviceUnavailable(
            f"JAX {jax.__version__} cannot open the device of {os.environ.get(PLUGIN)}: {reason}",
            "Check that the device is there, and that the plugin is of about the same time as this JAX: its PJRT_Api "
            "must not be older than the oldest that jaxlib accepts.",
        )
    return DeviceUnavailable(
        f"JAX cannot open a {kind}: {reason}",
        f"Use a machine and an image with a {kind}; `portbench doctor jax-{kind}` shows what is missing.",
    )


def _reason(error: Exception) -> str:
    """JAX's message without its advice to fall back."""
    if "GpuAllocatorConfig" in str(error):
        return "this jaxlib is built without CUDA"
    said = re.sub(r"^Unable to initialize backend '\w+': | \(set JAX_PLATFORMS=.*", "", str(error))
    return _first_sentence(said) or "no platform starts"


def _first_sentence(text: str) -> str:
    return re.split(r"\.\s|\n", text + " ")[0].strip()

"""JAX's devices: how one of each kind is opened, which are the target's, and what is known of them."""

from __future__ import annotations

import os
import re
from typing import Any, Iterable, Mapping

import jax

from runners.core import devices
from runners.core.adapter import Scalar
from runners.core.errors import DeviceUnavailable

_PLATFORMS = {"cpu": "cpu", "gpu": "gpu", "tpu": "tpu", "xla": "cpu"}

_TPU_NODES = ("/dev/accel[0-9]*", "/dev/accel/accel[0-9]*", "/dev/vfio/[0-9]*", "/tmp/libtpu_lockfile")
_GPU_NODES = ("/dev/nvidia[0-9]*",)
_GPU_TAKEN = re.compile(r"busy|out of memory|RESOURCE_EXHAUSTED|DEVICE_UNAVAILABLE", re.IGNORECASE)

_CUDA_VERSIONS = {"cuda_runtime": "cuda_runtime_get_version", "cudnn": "cudnn_get_version"}


def opened(kind: str) -> Any:
    """The target's device: the first of its platform, and for xla the second of the host's, which is another one than
    the host's own. Raises DeviceUnavailable where JAX has none or offers another one in its place."""
    try:
        # With a plug-in that does not start JAX raises, or goes on without a word with what is left, or fails an
        # assertion where nothing is left.
        found = jax.local_devices()
    except (RuntimeError, AssertionError) as error:
        raise _unavailable(kind, _reason(error)) from error
    if found[0].platform != _PLATFORMS[kind]:
        raise _unavailable(kind, _what_cuda_says() if kind == "gpu" else f"it offers the {found[0].platform} instead")
    if kind != "xla":
        return found[0]
    if len(found) < 2:
        raise DeviceUnavailable(
            "XLA_FLAGS leaves the host one device, and the target xla is the second one",
            "Take --xla_force_host_platform_device_count out of XLA_FLAGS, or set it to 2.",
        )
    return found[1]


def of_target(device: Any) -> tuple[Any, ...]:
    """The devices that a computation on the target may span: from its own on, so that xla's is alone."""
    return tuple(other for other in jax.local_devices(backend=device.platform) if other.id >= device.id)


def names_of(some: Iterable[Any]) -> str:
    """Where something lives that lies on these devices: ``gpu:0,gpu:1``."""
    return ",".join(sorted(f"{device.platform}:{device.id}" for device in some))


def facts(kind: str, device: Any) -> Mapping[str, Scalar]:
    """What stays the same of the device, and how JAX and XLA are set."""
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
    limit = _memory(device).get("bytes_limit")
    if limit is not None:
        found["memory_limit_bytes"] = limit
    if kind == "gpu":
        found.update(devices.nvidia_facts(device.id))
        found.update(_cuda_versions())
    if kind == "tpu":
        found.update(devices.tpu_facts())
        found["libtpu_init_args"] = os.environ.get("LIBTPU_INIT_ARGS", "")
        for name in ("coords", "core_on_chip", "num_cores"):
            if hasattr(device, name):
                found[name] = str(getattr(device, name))
    return found


def state(kind: str, device: Any) -> Mapping[str, Scalar]:
    """What changes of the device."""
    found: dict[str, Scalar] = dict(devices.nvidia_state(device.id)) if kind == "gpu" else {}
    used = _memory(device).get("bytes_in_use")
    if used is not None:
        found["allocated_bytes"] = used
    return found


def _memory(device: Any) -> Mapping[str, Any]:
    try:
        return device.memory_stats() or {}
    except (AttributeError, RuntimeError):  # not every version and platform tells
        return {}


def _cuda_versions() -> Mapping[str, Scalar]:
    """Of the CUDA libraries that are loaded. JAX's versions before 0.4.17 tell CUDA's in ``platform_version`` only."""
    from jax._src import lib

    module = getattr(lib, "cuda_versions", None)
    found = {}
    for name, ask in _CUDA_VERSIONS.items():
        try:
            found[name] = getattr(module, ask)()
        except (AttributeError, RuntimeError):
            continue
    return found


def _what_cuda_says() -> str:
    """Why JAX went on without the GPU: it writes that to a log only."""
    from jax._src import lib

    module = getattr(lib, "cuda_versions", None)
    if module is None:
        return "its plug-in for CUDA is not installed"
    try:
        module.cuda_runtime_get_version()
        return f"CUDA counts {module.cuda_device_count()} devices, and its plug-in for CUDA does not start"
    except (AttributeError, RuntimeError) as error:
        return _first_sentence(str(error).split("failed: ")[-1])


def _unavailable(kind: str, reason: str) -> DeviceUnavailable:
    doctor = f"`portbench doctor jax-{kind}` tells what is missing."
    if kind == "tpu":
        holders = devices.holders(_TPU_NODES)
        if holders:
            return DeviceUnavailable(
                f"the TPU is held by {', '.join(holders)}", "A TPU has one holder: let it end, or end it."
            )
    if kind == "gpu" and _GPU_TAKEN.search(reason):
        holders = devices.holders(_GPU_NODES)
        if holders:
            return DeviceUnavailable(
                f"JAX cannot open the GPU, which {', '.join(holders)} uses: {reason}", "Let it end, or end it."
            )
    return DeviceUnavailable(f"JAX cannot open a {kind}: {reason}", f"Use a machine and an image with one; {doctor}")


def _reason(error: Exception) -> str:
    """What JAX said, without what it advises: to fall back."""
    said = re.sub(r"^Unable to initialize backend '\w+': | \(set JAX_PLATFORMS=.*", "", str(error))
    return _first_sentence(said) or "no platform starts"


def _first_sentence(text: str) -> str:
    return re.split(r"\.\s|\n", text + " ")[0].strip()

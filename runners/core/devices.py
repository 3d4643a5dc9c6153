"""What the system, not the framework, reports about accelerators: who holds one, what it is, what state it is in.

Adapters call this in ``open_device``, ``device_facts`` and ``device_state``. Nothing here raises: what the system does
not report is left out. Memory is in bytes; other units are part of the keys.
"""

from __future__ import annotations

import fnmatch
import os
import re
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Callable, Mapping, NamedTuple, Sequence

from runners.core.result import Scalar

NVIDIA_NODES = ("/dev/nvidia[0-9]*",)
TPU_NODES = ("/dev/accel[0-9]*", "/dev/accel/accel[0-9]*", "/dev/vfio/[0-9]*")
"""Patterns of the device nodes that a process that uses such a device has open, for ``holders``."""

_MIB = 2**20
_NVIDIA_SMI_SECONDS = 30

_KEEP_DRIVER_LOADED = ("nvidia-persiste",)
"""Names, as shortened by /proc, of processes that have a device open and do not hold it."""


def holders(patterns: Sequence[str], proc: Path = Path("/proc")) -> list[str]:
    """The other processes that have a device node open whose path matches one of the patterns (``/dev/nvidia[0-9]*``),
    each once, as ``python3 (process 123)``. Processes of other users and other containers are not visible."""
    found = []
    for process in sorted(int(each.name) for each in _entries(proc) if each.name.isdigit()):
        if process == os.getpid():
            continue
        name = _text(proc / str(process) / "comm")
        opened = {_target(descriptor) for descriptor in _entries(proc / str(process) / "fd")} - {""}
        if name not in _KEEP_DRIVER_LOADED and any(fnmatch.filter(opened, pattern) for pattern in patterns):
            found.append(f"{name or 'a process'} (process {process})")
    return found


class _Field(NamedTuple):
    key: str
    read: Callable[[str], Scalar]


def _mebibytes(text: str) -> Scalar:
    return int(float(text) * _MIB)


def _whole(text: str) -> Scalar:
    return int(float(text))


_FACTS = {
    "name": _Field("model", str),
    "driver_version": _Field("driver", str),
    "memory.total": _Field("memory_bytes", _mebibytes),
    "compute_cap": _Field("compute_capability", str),
    "clocks.max.sm": _Field("max_sm_clock_mhz", _whole),
    "clocks.max.memory": _Field("max_memory_clock_mhz", _whole),
    "clocks.applications.graphics": _Field("application_sm_clock_mhz", _whole),
    "power.limit": _Field("power_limit_watts", float),
    "pcie.link.gen.max": _Field("pcie_generation", _whole),
    "pcie.link.width.max": _Field("pcie_lanes", _whole),
    "compute_mode": _Field("compute_mode", str),
    "mig.mode.current": _Field("mig_mode", str),
    "ecc.mode.current": _Field("ecc_mode", str),
}

_THROTTLE_REASONS = {
    0x1: "idle",
    0x2: "application clocks",
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "heat, by software",
    0x40: "heat, by hardware",
    0x80: "power brake",
    0x100: "display clocks",
}


def _throttle_reasons(text: str) -> Scalar:
    mask = int(text, 16)
    unknown = mask & ~sum(_THROTTLE_REASONS)
    names = [name for bit, name in _THROTTLE_REASONS.items() if mask & bit]
    return ", ".join(names + ([hex(unknown)] if unknown else []))


_STATE = {
    "clocks.sm": _Field("sm_clock_mhz", _whole),
    "clocks.mem": _Field("memory_clock_mhz", _whole),
    "temperature.gpu": _Field("temperature_celsius", _whole),
    "pstate": _Field("performance_state", str),
    # Renamed by driver 535; a later one may know the new name only.
    "clocks_throttle_reasons.active": _Field("throttle_reasons", _throttle_reasons),
    "clocks_event_reasons.active": _Field("throttle_reasons", _throttle_reasons),
    "memory.used": _Field("memory_used_bytes", _mebibytes),
    "memory.free": _Field("memory_free_bytes", _mebibytes),
    "utilization.gpu": _Field("busy_percent", _whole),
    "power.draw": _Field("power_watts", float),
}


def nvidia_variables() -> dict[str, str]:
    """Environment variables with which CUDA orders devices as nvidia-smi does; CUDA's own order begins with the fastest
    device. An order that the user has set stays."""
    return {"CUDA_DEVICE_ORDER": os.environ.get("CUDA_DEVICE_ORDER", "PCI_BUS_ID")}


def fast_compile_flags() -> dict[str, str]:
    """Environment variables with which XLA compiles quickly for the CPU, for programs that need not run fast, as on a
    stand-in. Other flags that are set stay."""
    flags = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
    return {"XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {flags}".strip()}


def nvidia_facts(index: int) -> dict[str, Scalar]:
    """Facts about CUDA's device ``index`` that do not change: ``model``, ``driver``, ``driver_cuda`` (the newest CUDA
    that the driver supports), ``memory_bytes``, ``max_sm_clock_mhz`` and more. Empty if nvidia-smi is missing or
    fails."""
    facts = _query(index, _FACTS)
    said = _nvidia_smi("-q", "-d", "COMPUTE", *_chosen(index)) or ""
    cuda = re.search(r"CUDA (?:\w+ )?Version\s*:\s*([0-9.]+)", said)
    if facts and cuda:
        facts["driver_cuda"] = cuda[1]
    return facts


def nvidia_state(index: int) -> dict[str, Scalar]:
    """Facts about CUDA's device ``index`` that change: ``sm_clock_mhz``, ``temperature_celsius``, ``throttle_reasons``
    (empty: none), ``memory_free_bytes``, ``power_watts`` and more. Empty if nvidia-smi is missing or fails."""
    return _query(index, _STATE)


_TPU_CHIPS = {
    "0x0027": "v2 or v3",
    "0x005e": "v4",
    "0x0062": "v5p",
    "0x0063": "v5e",
    "0x006f": "v6e",
    "0x0076": "tpu7x",
}
"""Google's PCI devices that are TPUs; others are network cards and disks."""

_TPU_VARIABLES = {
    "TPU_ACCELERATOR_TYPE": "accelerator_type",
    "TPU_TOPOLOGY": "topology",
    "TPU_PROCESS_BOUNDS": "process_bounds",
    "TPU_CHIPS_PER_PROCESS_BOUNDS": "chips_per_process",
    "TPU_HOST_BOUNDS": "process_bounds",
    "TPU_CHIPS_PER_HOST_BOUNDS": "chips_per_process",
    "TPU_WORKER_ID": "worker",
    "TPU_VISIBLE_CHIPS": "visible_chips",
    "TPU_VISIBLE_DEVICES": "visible_chips",
}


def tpu_facts(root: Path = Path("/"), variables: Mapping[str, str] = os.environ) -> dict[str, Scalar]:
    """Facts about the TPUs of this machine: ``chips`` on its bus, their ``generation``, ``device_nodes`` by which a
    process opens them, ``accelerator_type`` and ``topology`` if the environment has them, ``libtpu``."""
    facts: dict[str, Scalar] = {key: variables[name] for name, key in _TPU_VARIABLES.items() if variables.get(name)}
    bus = [path for path in _entries(root / "sys/bus/pci/devices") if _text(path / "vendor") == "0x1ae0"]
    chips = [_TPU_CHIPS[device] for device in (_text(path / "device") for path in bus) if device in _TPU_CHIPS]
    if chips:
        facts["chips"] = len(chips)
        facts["generation"] = ", ".join(sorted(set(chips)))
    nodes = [path for path in _entries(root / "dev") if re.fullmatch(r"accel\d+", path.name)]
    nodes += [path for path in _entries(root / "dev/accel") if re.fullmatch(r"accel\d+", path.name)]
    nodes += [path for path in _entries(root / "dev/vfio") if path.name.isdigit()]
    if nodes:
        facts["device_nodes"] = len(nodes)
    for package in ("libtpu", "libtpu-nightly"):
        try:
            facts.setdefault("libtpu", metadata.version(package))
        except metadata.PackageNotFoundError:
            continue
    return facts


def _query(index: int, fields: Mapping[str, _Field]) -> dict[str, Scalar]:
    asked = list(fields)
    while asked:
        answer = _nvidia_smi(f"--query-gpu={','.join(asked)}", "--format=csv,noheader,nounits", *_chosen(index))
        if answer is None:
            return {}
        # Drivers differ in the fields that they know; each error message names one.
        refused = re.search(r'Field "([^"]+)" is not a valid field', answer)
        if refused is None or refused[1] not in asked:
            break
        asked.remove(refused[1])
    else:
        return {}
    values = [value.strip() for value in answer.strip().split("\n")[0].split(", ")]
    if len(values) != len(asked):
        return {}
    found: dict[str, Scalar] = {}
    for name, value in zip(asked, values):
        try:
            # "[N/A]", "[Not Supported]" and "[Unknown Error]" mean that this model does not report the value.
            if value and not value.startswith("[") and value != "N/A":
                found[fields[name].key] = fields[name].read(value)
        except ValueError:
            continue
    return found


def _nvidia_smi(*arguments: str) -> str | None:
    """The output of nvidia-smi; None if it is missing, does not end or fails."""
    try:
        done = subprocess.run(
            ["nvidia-smi", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_NVIDIA_SMI_SECONDS,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    said = done.stdout.decode("utf-8", "replace")
    return said if done.returncode == 0 or "is not a valid field" in said else None


def _chosen(index: int) -> list[str]:
    """The option that selects CUDA's device: CUDA counts the devices in CUDA_VISIBLE_DEVICES, nvidia-smi counts all."""
    visible = [each.strip() for each in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if each.strip()]
    name = visible[index] if index < len(visible) else str(index)
    if name.startswith("MIG-"):
        name = _parent(name) or name
    return [f"--id={name}"]


def _parent(mig: str) -> str | None:
    """The UUID of the GPU that a part of one (Multi-Instance GPU) belongs to."""
    gpu = None
    for line in (_nvidia_smi("-L") or "").splitlines():
        found = re.search(r"UUID: ([^)\s]+)", line)
        if found and line.startswith("GPU"):
            gpu = found[1]
        elif found and found[1] == mig:
            return gpu
    return None


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:  # it no longer exists, or belongs to another user
        return []


def _target(link: Path) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""

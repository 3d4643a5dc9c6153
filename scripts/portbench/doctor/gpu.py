"""Checks the NVIDIA GPU and its driver, which must be new enough for the CUDA of the target."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from portbench.doctor.facts import facts
from portbench.doctor.gpu_code import gpu_code
from portbench.targets.catalog import Target
from portbench.util.findings import Finding, Findings, error, ok
from portbench.util.machine import Machine
from portbench.util.versions import Version, version_in

_NVIDIA = "0x10de"
_DISPLAY = "0x03"
_SMI_QUERY = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
_CUDA = (
    # A base image, CUDA's own packages, and the build names of PyTorch and JAX.
    r"nvidia/cuda:(\d+)\.",
    r"^nvidia-cuda-runtime==(\d+)\.",
    r"^nvidia-cuda-runtime-cu(\d+)==",
    r"^jax-cuda(\d+)-",
    r"\+cu(\d+)\d\b",
    r"\+cuda(\d+)\b",
)


@dataclass(frozen=True)
class _Seen:
    driver: Version | None
    models: tuple[str, ...]
    trouble: str = ""


def gpu(machine: Machine, targets: Iterable[Target], thorough: bool) -> Findings:
    """Whether these targets can use a GPU here. ``thorough`` also runs nvidia-smi, which may take seconds."""
    seen = _seen_by_kernel(machine)
    if thorough or seen is None:
        # nvidia-smi may find a GPU that the kernel does not show (under WSL, in some containers).
        seen = _seen_by_smi(machine) or seen
    if seen is None:
        yield _absent(machine)
        return
    if seen.trouble:
        yield error(
            "GPU driver",
            f"the NVIDIA driver does not work: nvidia-smi reports {seen.trouble}",
            "Reboot if the driver was just updated, else install it again. nvidia-smi must list the GPU.",
        )
        return
    if not seen.models:
        yield error(
            "GPU", "the NVIDIA driver is loaded, but it finds no GPU", "Fix the driver until nvidia-smi lists the GPU."
        )
        return
    yield ok("GPU", ", ".join(seen.models))
    targets = list(targets)
    yield _driver(seen.driver, machine, targets)
    if thorough:
        yield from gpu_code(machine, targets)


def cuda_of(machine: Machine, target: Target) -> int | None:
    """The major version of the target's CUDA, or None if it is not known."""
    for file in (target.lock or target.source, target.dockerfile):
        text = machine.read(file) or "" if file else ""
        for pattern in _CUDA:
            found = re.search(pattern, text, re.MULTILINE)
            if found:
                return int(found[1])
    return facts()["cuda"].get(target.name)


def _driver(version: Version | None, machine: Machine, targets: Iterable[Target]) -> Finding:
    if version is None:
        return ok("GPU driver", "loaded; its version is not known")
    oldest = facts()["nvidia_driver"]["oldest"]
    for target in targets:
        cuda = str(cuda_of(machine, target))
        needed = version_in(oldest[cuda]) if cuda in oldest else None
        if needed and version < needed:
            return error(
                "GPU driver",
                f"the NVIDIA driver {version} is too old for CUDA {cuda} of {target.name}",
                f"Install {oldest[cuda]} or newer.",
            )
    return ok("GPU driver", str(version))


def _seen_by_kernel(machine: Machine) -> _Seen | None:
    version = machine.read("/proc/driver/nvidia/version")
    if version is None:
        return None
    texts = [machine.read(path) or "" for path in machine.paths("/proc/driver/nvidia/gpus/*/information")]
    models = [found[1] for text in texts if (found := re.search(r"^Model:\s*(.+?)\s*$", text, re.MULTILINE))]
    return _Seen(version_in(version), tuple(models))


def _seen_by_smi(machine: Machine) -> _Seen | None:
    if machine.find("nvidia-smi") is None:
        return None
    answer = machine.run(_SMI_QUERY)
    lines = [line.strip() for line in (answer.stdout + answer.stderr).splitlines() if line.strip()]
    if answer.returncode:
        return _Seen(None, (), lines[0] if lines else f"nothing and ends with status {answer.returncode}")
    rows = [line.rpartition(",") for line in lines if "," in line]
    return _Seen(version_in(rows[0][2]) if rows else None, tuple(model.strip() for model, _, _ in rows))


def _absent(machine: Machine) -> Finding:
    for path in machine.paths("/sys/bus/pci/devices/*/vendor"):
        kind = machine.read(path.replace("/vendor", "/class")) or ""
        if (machine.read(path) or "").strip() == _NVIDIA and kind.startswith(_DISPLAY):
            return error(
                "GPU driver",
                "this machine has an NVIDIA GPU, but its driver is not loaded",
                "Install the NVIDIA driver (and reboot). nvidia-smi must list the GPU.",
            )
    return error("GPU", "this machine has no NVIDIA GPU", "Run gpu targets on a machine that has one.")

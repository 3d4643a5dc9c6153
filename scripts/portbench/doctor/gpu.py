"""An NVIDIA GPU: there, its driver loaded, and new enough for the CUDA of the target."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from portbench.doctor.facts import facts
from portbench.targets.catalog import Target
from portbench.util.findings import Finding, Findings, error, ok
from portbench.util.machine import Machine
from portbench.util.versions import Version, version_in

_NVIDIA = "0x10de"
_DISPLAY = "0x03"
_QUESTION = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
_CUDA = (
    # A base image, packages of CUDA's own, PyTorch's and JAX's names of a build.
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
    """Whether these targets can use a GPU here. ``thorough`` asks nvidia-smi too, which may take seconds."""
    seen = _seen_by_kernel(machine)
    if thorough or seen is None:
        # Where the kernel shows nothing (under WSL, in some containers) nvidia-smi may know.
        seen = _seen_by_smi(machine) or seen
    if seen is None:
        yield _absent(machine)
        return
    if seen.trouble:
        yield error(
            "GPU driver",
            f"the NVIDIA driver does not work: nvidia-smi says {seen.trouble}",
            "Reboot if the driver was just updated; else install it anew. nvidia-smi must list the GPU.",
        )
        return
    if not seen.models:
        yield error(
            "GPU", "the NVIDIA driver is loaded, but it finds no GPU", "Mend it until nvidia-smi lists the GPU."
        )
        return
    yield ok("GPU", ", ".join(seen.models))
    yield _driver(seen.driver, machine, targets)


def cuda_of(machine: Machine, target: Target) -> int | None:
    """The major version of CUDA that the target brings, or None if it is not known."""
    for file in (target.lock, target.dockerfile):
        text = machine.read(file) or "" if file else ""
        for pattern in _CUDA:
            found = re.search(pattern, text, re.MULTILINE)
            if found:
                return int(found[1])
    known = facts()["cuda"].get(target.name)
    return int(known) if known else None


def _driver(version: Version | None, machine: Machine, targets: Iterable[Target]) -> Finding:
    if version is None:
        return ok("GPU driver", "loaded; it does not say which version")
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
    told = machine.read("/proc/driver/nvidia/version")
    if told is None:
        return None
    texts = [machine.read(path) or "" for path in machine.paths("/proc/driver/nvidia/gpus/*/information")]
    models = [found[1] for text in texts if (found := re.search(r"^Model:\s*(.+?)\s*$", text, re.MULTILINE))]
    return _Seen(version_in(told), tuple(models))


def _seen_by_smi(machine: Machine) -> _Seen | None:
    if machine.find("nvidia-smi") is None:
        return None
    answer = machine.run(_QUESTION)
    lines = [line.strip() for line in (answer.stdout + answer.stderr).splitlines() if line.strip()]
    if answer.returncode:
        return _Seen(None, (), lines[0] if lines else f"nothing, and ends with {answer.returncode}")
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

"""Facts about machine, operating system, Python and packages, as a run file records them."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any, Mapping

ROOT = Path(__file__).resolve().parents[2]

VARIABLES: tuple[str, ...] = (
    # The frameworks, their compilers and their runtimes.
    *("TORCH", "PYTORCH_", "ATEN_", "PT_XLA_", "LTC_", "TF_", "KERAS_", "JAX_", "XLA_", "XRT_", "PJRT_", "TRITON_"),
    # TPUs.
    *("TPU_", "LIBTPU_", "ALLOW_MULTIPLE_LIBTPU_LOAD"),
    # NVIDIA's and AMD's GPUs: which are visible, how work is queued, which algorithms are used.
    *("CUDA_", "CUBLAS", "CUDNN_", "NVIDIA_", "NCCL_"),
    *("HIP_", "HIPBLAS", "HSA_", "ROCM_", "ROCR_", "ROCBLAS_", "MIOPEN_", "AMD_", "GPU_"),
    # The host's arithmetic: threads, instruction sets, precision.
    *("OMP_", "GOMP_", "KMP_", "MKL_", "MKLDNN_", "DNNL_", "ONEDNN_", "NPY_", "NUMEXPR_"),
    *("OPENBLAS_", "GOTO_", "BLIS_", "VECLIB_"),
    # What changes every program: other libraries, another allocator, settings of the C library.
    *("LD_PRELOAD", "LD_LIBRARY_PATH", "GLIBC_TUNABLES", "MALLOC_", "TCMALLOC_"),
    *("PYTHONHASHSEED", "PYTHONMALLOC", "PYTHONOPTIMIZE", "PYTHONPATH"),
)
"""Prefixes of the environment variables that change what a framework does."""

_ENGINES = {
    "docker": re.compile("/containers/[0-9a-f]{64}/(hostname|hosts|resolv.conf) "),
    "podman": re.compile("-containers/[0-9a-f]{64}/userdata/"),
    "kubernetes": re.compile("/pods/[0-9a-f-]{36}/etc-hosts "),
}
"""Container engines, with a file that each mounts into a container. Where the files lie on the host can be chosen."""

_TERRAFORM = ("TF_CLI_", "TF_CLOUD_", "TF_TOKEN_", "TF_VAR_")
"""Prefixes of Terraform, which begin like TensorFlow's; these variables may hold secrets."""

_SECRETS = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_CREDENTIALS")
"""Suffixes of names whose values must not be in a shared file, such as NVIDIA_API_KEY."""


def collect(machine: str, device_facts: Mapping[str, Any], variables: Mapping[str, str]) -> dict[str, Any]:
    """The ``environment`` object of a run file. ``variables`` are those that the runner sets for the
    framework."""
    return {
        "machine": machine,
        "os": _operating_system(),
        "kernel": platform.release(),
        "cpu_model": _cpu_model(),
        "cpu_cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "container": container(),
        **backend(),
        "image_digest": os.environ.get("PORTBENCH_IMAGE_DIGEST") or None,
        "python": platform.python_version(),
        "packages": packages(),
        "runner_commit": os.environ.get("PORTBENCH_RUNNER_COMMIT") or _commit(),
        "runner_sha256": own_sha256(),
        "variables": {**_variables(), **variables},
        "device": dict(device_facts),
    }


def _variables() -> dict[str, str]:
    found = {name: value for name, value in os.environ.items() if name.startswith(VARIABLES)}
    return {name: found[name] for name in sorted(found) if not (name.startswith(_TERRAFORM) or name.endswith(_SECRETS))}


def packages() -> dict[str, str]:
    """Every installed distribution and its version, by normalised name."""
    found = {}
    for distribution in metadata.distributions():
        name = distribution.metadata["Name"]
        if name:
            found[name.lower().replace("_", "-")] = distribution.version
    return dict(sorted(found.items()))


def free_memory_bytes() -> int:
    """The memory that the kernel reports as available without swapping; the unused memory if it does not report
    that."""
    try:
        found = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text("ascii"), re.MULTILINE)
    except OSError:
        found = None
    return 1024 * int(found[1]) if found else os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")


def oom_kills() -> int:
    """How many processes the kernel has killed because memory ran out, in this container or else on this machine."""
    for path in ("/sys/fs/cgroup/memory.events", "/proc/vmstat"):
        try:
            for line in Path(path).read_text().splitlines():
                key, _, value = line.partition(" ")
                if key == "oom_kill":
                    return int(value)
        except (OSError, ValueError):
            continue
    return 0


def _operating_system() -> str:
    try:
        for line in Path("/etc/os-release").read_text("utf-8").splitlines():
            if line.startswith("PRETTY_NAME="):
                return line.split("=", 1)[1].strip('"')
    except OSError:
        pass
    return platform.system()


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def backend() -> dict[str, str]:
    """How portbench started the runner: docker, venv or current. Empty where nothing says it."""
    found = os.environ.get("PORTBENCH_BACKEND")
    return {"backend": found} if found in ("docker", "venv", "current") else {}


def container(mounts: Path = Path("/proc/self/mountinfo")) -> str | None:
    """The engine whose container this is, or None. ``mounts``: the mounts of this process.

    An engine mounts files of its own, such as /etc/hostname, into every container. The file /.dockerenv proves nothing:
    virtual machines that were made from an image have it too.
    """
    try:
        mounted = mounts.read_text("utf-8", "replace")
    except OSError:
        mounted = ""
    for engine, mount in _ENGINES.items():
        if mount.search(mounted):
            return engine
    if backend().get("backend") == "docker":
        return "podman" if Path("/run/.containerenv").exists() else "docker"
    return os.environ.get("container") or None  # noqa: SIM112 - so named by systemd-nspawn and others


def _commit() -> str | None:
    if not (ROOT / ".git").exists():
        return None
    try:
        commit = _git("rev-parse", "HEAD")
        return commit + ("+" if _git("status", "--porcelain", "--", "runners", "schema") else "")
    except (OSError, subprocess.SubprocessError):
        return None


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=10).stdout.strip()


def own_sha256() -> str:
    """The SHA-256 of the runner's code and schemas."""
    digest = hashlib.sha256()
    files = [path for folder in ("runners", "schema") for path in (ROOT / folder).rglob("*")]
    for path in sorted(path for path in files if path.suffix in (".py", ".json")):
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()

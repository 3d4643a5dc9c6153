"""Facts about machine, operating system, Python and packages, as a run file records them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any, Iterator, Mapping

from runners.core.installation import pins

ROOT = Path(__file__).resolve().parents[2]

IMAGE = "image.json"
"""What images/describe.py wrote into the image about its sources, beside the runner."""

_ENVIRONMENT = "portbench.json"
"""The same about the packages, in the folder of the image's virtual environment."""

_FACT = re.compile(r"^(Name|Version):[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_SHA256 = re.compile("[0-9a-f]{64}")

VARIABLES: tuple[str, ...] = tuple(
    prefix
    for prefixes in json.loads((ROOT / "schema" / "environment-variables.json").read_text("utf-8")).values()
    for prefix in prefixes
)
"""Prefixes of the environment variables that change what a framework does. The host passes them on to containers."""

_ENGINES = {
    "docker": re.compile("/containers/[0-9a-f]{64}/(hostname|hosts|resolv.conf) "),
    "podman": re.compile("-containers/[0-9a-f]{64}/userdata/"),
    "kubernetes": re.compile("/pods/[0-9a-f-]{36}/etc-hosts "),
}
"""Container engines, with a file that each mounts into a container. Where the files lie on the host can be chosen."""

FIXED = {"PYTHONHASHSEED": "0"}
"""Variables that every process with a framework has: sets of strings have the same order in each, so samples that are
made by going through one are those that were collected."""

_TERRAFORM = ("TF_CLI_", "TF_CLOUD_", "TF_TOKEN_", "TF_VAR_")
"""Prefixes of Terraform, which begin like TensorFlow's; these variables may hold secrets."""

_SECRETS = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_CREDENTIALS")
"""Suffixes of names whose values must not be in a shared file, such as NVIDIA_API_KEY."""


def collect(machine: str, device_facts: Mapping[str, Any], variables: Mapping[str, str]) -> dict[str, Any]:
    """The ``environment`` object of a run file. ``variables`` are those that the runner sets for the
    framework, beside FIXED."""
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
        **pins(),
        **made_from(),
        "runner_commit": _facts(ROOT / IMAGE).get("runner_commit") or _commit(),
        "runner_sha256": own_sha256(),
        "variables": {**_variables(), **FIXED, **variables},
        "device": dict(device_facts),
    }


def _variables() -> dict[str, str]:
    found = {name: value for name, value in os.environ.items() if name.startswith(VARIABLES)}
    return {name: found[name] for name in sorted(found) if not (name.startswith(_TERRAFORM) or name.endswith(_SECRETS))}


def packages() -> dict[str, str]:
    """Every installed distribution and its version, by normalised name."""
    found = {}
    for distribution in metadata.distributions():
        # The parser of the standard library reads all lines, a tenth of a second for a hundred packages.
        texts = map(distribution.read_text, ("METADATA", "PKG-INFO", ""))
        facts = dict(_FACT.findall(next(filter(None, texts), "").partition("\n\n")[0]))
        if "Name" in facts:
            found[facts["Name"].lower().replace("_", "-")] = facts.get("Version", "")
    return dict(sorted(found.items()))


def free_memory_bytes(control_groups: Path = Path("/sys/fs/cgroup")) -> int:
    """The memory that the kernel reports as available without swapping (the unused memory if it does not report that),
    or what the limit of this container leaves, if that is less. ``control_groups``: the mount of control groups."""
    try:
        found = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text("ascii"), re.MULTILINE)
    except OSError:
        found = None
    free = 1024 * int(found[1]) if found else os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    return min([free, *_left_by_limits(control_groups)])


def _left_by_limits(control_groups: Path) -> Iterator[int]:
    """The memory in bytes that the limit of this container leaves, by version 2 or 1 of control groups."""
    for limit, used, cached in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "total_inactive_file"),
    ):
        with contextlib.suppress(OSError, ValueError, KeyError):
            most, held = (int((control_groups / name).read_text()) for name in (limit, used))
            lines = (control_groups / used).with_name("memory.stat").read_text().splitlines()
            # The kernel gives up files that it keeps before a process has to end.
            kept = int(dict(line.split() for line in lines)[cached])
            yield max(0, most - held + kept)


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


def made_from() -> dict[str, dict[str, str]]:
    """The digests of the Dockerfile and of all sources of the image. Empty outside of an image."""
    image = _facts(ROOT / IMAGE)
    found = {name: str(image.get(name)) for name in ("dockerfile_sha256", "source_sha256")}
    digests = {name: value for name, value in found.items() if _SHA256.fullmatch(value)}
    return {"made_from": digests} if digests else {}


def outdated(clone: Path = ROOT / "clone") -> str | None:
    """The sentence for an image that was built from other files than those of the clone, which compose.yaml mounts.
    None if it is up to date, or if that cannot be known."""
    image, packages = _facts(ROOT / IMAGE), _facts(Path(sys.prefix, _ENVIRONMENT))
    dockerfile = clone / str(image.get("dockerfile"))
    if not dockerfile.is_file():
        return None
    changed = []
    if own_sha256(clone) != own_sha256():
        changed.append("runner or schemas")
    if _digest(dockerfile) != image.get("dockerfile_sha256"):
        changed.append("Dockerfile")
    if _digest(dockerfile.with_name(str(packages.get("source")))) != packages.get("source_sha256"):
        changed.append("packages")
    if not changed:
        return None
    return (
        "this image was built from other files than the clone has ({}): 'docker compose build' with the name of the "
        "service updates it".format(", ".join(changed))
    )


def _facts(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def _digest(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def own_sha256(root: Path = ROOT) -> str:
    """The SHA-256 of the runner's code and schemas."""
    digest = hashlib.sha256()
    files = [path for folder in ("runners", "schema") for path in (root / folder).rglob("*")]
    for path in sorted(path for path in files if path.suffix in (".py", ".json")):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()

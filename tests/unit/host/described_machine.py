"""A machine that a test describes, as `portbench doctor` and `run` would find it."""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from portbench.devices import AHEAD_OF_TIME
from portbench.util.machine import TIMEOUT_S, Machine, Process

GB = 10**9
STOPPED = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"
CHIP = {
    "/sys/bus/pci/devices/0000:00:04.0/vendor": "0x1ae0\n",
    "/sys/bus/pci/devices/0000:00:04.0/device": "0x0027\n",
}
# Google's network card, which each of its machines has.
NO_CHIP = {
    "/sys/bus/pci/devices/0000:00:05.0/vendor": "0x1ae0\n",
    "/sys/bus/pci/devices/0000:00:05.0/device": "0x0042\n",
}
NVIDIA_CARD = {
    "/sys/bus/pci/devices/0000:00:06.0/vendor": "0x10de\n",
    "/sys/bus/pci/devices/0000:00:06.0/class": "0x030200\n",
}


def nvidia(driver: str = "535.161.07", model: str | None = "Tesla T4") -> dict[str, str]:
    """The files of a loaded NVIDIA driver, with one GPU or none."""
    text = f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {driver}  Sat Feb 17 22:55:48 UTC 2024"
    files = {"/proc/driver/nvidia/version": f"{text}\nGCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n"}
    if model:
        files["/proc/driver/nvidia/gpus/0000:00:04.0/information"] = f"Model: \t\t {model}\nIRQ:   \t\t 33\n"
    return files


class Described(Machine):
    """A CPU machine without Docker and with a working network, and with what the test adds to it.

    ``commands`` maps the beginning of a command line to its exit status, stdout and stderr; the longest match counts.
    All other commands fail. ``asked`` has every command line that was run.
    """

    def __init__(self) -> None:
        self.files: dict[str, str] = {"/proc/meminfo": "MemTotal: 16000000 kB\nMemAvailable: 12000000 kB\n"}
        self.commands: dict[str, tuple[int, str, str]] = {"uv pip compile": (0, "uv==0.9.0\n", "")}
        self.free: dict[str, float] = {"/": 500 * GB}
        self.owners: dict[str, int] = {}
        self.closed: set[str] = set()
        self.running: list[Process] = []
        self.asked: list[str] = []

    def with_docker(
        self,
        engine: str = "24.0.7",
        compose: str = "2.24.0",
        images: Sequence[str] = (),
        info: Mapping[str, Any] | None = None,
    ) -> Described:
        """An engine that answers, with these images."""
        reported = {"DockerRootDir": "/var/lib/docker", "Runtimes": {"runc": {}}, **(info or {})}
        self.commands |= {
            "docker version": (0, f"{engine}\n", ""),
            "docker compose version": (0, f"{compose}\n", ""),
            "docker info": (0, json.dumps(reported), ""),
        }
        self.commands["docker image ls"] = (0, "\n".join(images), "")
        for image in images:
            self.commands[f"docker image inspect --format {{{{.Id}}}} {image}"] = (0, "sha256:0\n", "")
        self.files["/var/lib"] = ""
        return self

    @property
    def user(self) -> int:
        return 1000

    def find(self, command: str) -> str | None:
        there = any(line.split()[0] == command for line in self.commands)
        return f"/usr/bin/{command}" if there else None

    def run(
        self,
        command: Sequence[str],
        folder: Path | None = None,
        env: Mapping[str, str] | None = None,
        input: str | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> CompletedProcess[str]:
        line = " ".join([Path(command[0]).name, *command[1:]])
        self.asked.append(line)
        if line.startswith("docker compose config"):
            return CompletedProcess(command, 0, json.dumps({"services": self._services(folder, env or {})}), "")
        fitting = max((known for known in self.commands if line.startswith(known)), key=len, default=None)
        status, stdout, stderr = self.commands[fitting] if fitting else (1, "", "no such thing")
        return CompletedProcess(command, status, stdout, stderr)

    def paths(self, pattern: str) -> list[str]:
        return sorted(path for path in self.files if fnmatch.fnmatch(path, pattern))

    def read(self, path: str | Path) -> str | None:
        # The user's own folders are real.
        is_system = re.match(r"/(proc|sys|dev|tmp/libtpu)", str(path))
        return self.files.get(str(path)) if is_system else super().read(path)

    def exists(self, path: str | Path) -> bool:
        return str(path) in self.files

    def owner(self, path: str | Path) -> int | None:
        return self.owners.get(str(path))

    def may_use(self, path: str | Path) -> bool:
        return str(path) not in self.closed

    def free_bytes(self, path: Path) -> int | None:
        fitting = max((known for known in self.free if path.is_relative_to(known)), key=len)
        return int(self.free[fitting])

    def processes(self) -> Iterator[Process]:
        yield from self.running

    def _services(self, folder: Path | None, env: Mapping[str, str]) -> dict[str, object]:
        """The services of a compose.yaml with all targets of the clone."""
        services: dict[str, object] = {}
        for path in folder.glob("images/*/default-version") if folder else ():
            framework = path.parent.name
            version = env.get(f"{framework.upper()}_VERSION") or path.read_text().strip()
            for device in ("cpu", "gpu", "tpu"):
                services[f"{framework}-{device}"] = {"image": f"portbench/{framework}:{version}-{device}"}
            for kind, devices in AHEAD_OF_TIME.items():
                for device in devices:
                    services[f"{framework}-{device}"] = {"image": f"portbench/{framework}:{version}-{kind}"}
        return services

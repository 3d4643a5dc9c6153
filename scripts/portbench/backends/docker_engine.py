"""Checks that Docker Engine and Compose are installed, answer, and are new enough for compose.yaml."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess
from typing import TypedDict, cast

from portbench.util.findings import Finding, Findings, error, ok, warning
from portbench.util.machine import Machine
from portbench.util.versions import Version, version_in

# The images' C library starts threads by clone3. The default seccomp profile before 20.10.10 rejects clone3 with EPERM.
# The library falls back to clone only on ENOSYS, so no thread can be started.
OLDEST_ENGINE = Version("20.10.10")
# The first version with `uts`, which gives a container the name of the machine (compose.yaml).
OLDEST_COMPOSE = Version("2.15.1")


def engine_and_compose(machine: Machine) -> Findings:
    """Whether containers can be started on this machine."""
    if machine.find("docker") is None:
        yield error("Docker", "there is no docker command", "Install Docker Engine and its Compose plugin.")
        return
    answer = machine.run(["docker", "version", "--format", "{{.Server.Version}}"])
    yield _engine(answer)
    if answer.returncode == 0:
        yield _compose(machine.run(["docker", "compose", "version", "--short"]))


class Information(TypedDict, total=False):
    """The used parts of `docker info`."""

    DockerRootDir: str
    Runtimes: dict[str, object]
    DiscoveredDevices: list[dict[str, object]] | None


def information(machine: Machine) -> Information:
    """The output of `docker info`; empty where no engine answers."""
    answer = machine.run(["docker", "info", "--format", "{{json .}}"])
    try:
        info = json.loads(answer.stdout) if answer.returncode == 0 else None
    except ValueError:
        info = None
    return cast(Information, info) if isinstance(info, dict) else Information()


def image_names(machine: Machine) -> frozenset[str]:
    """The names of all images of the engine, such as portbench/torch:2.9.0-cpu."""
    answer = machine.run(["docker", "image", "ls", "--format", "{{.Repository}}:{{.Tag}}"])
    return frozenset(answer.stdout.split())


def data_folder(machine: Machine) -> Path | None:
    """The folder of the engine's images, or None where it is not on this machine's file system."""
    folder = information(machine).get("DockerRootDir")
    return Path(folder) if folder and machine.exists(Path(folder).parent) else None


def gpu_access(machine: Machine) -> Finding:
    """Whether a container can use an NVIDIA GPU: by a runtime or hook of the container toolkit, or by CDI."""
    info = information(machine)
    if "nvidia" in info.get("Runtimes", {}):
        return ok("container toolkit", "the engine knows the runtime nvidia")
    if any("nvidia.com/gpu" in str(device.get("ID")) for device in info.get("DiscoveredDevices") or ()):
        return ok("container toolkit", "the engine knows nvidia.com/gpu (CDI)")
    if machine.find("nvidia-container-runtime-hook"):
        return ok("container toolkit", "nvidia-container-runtime-hook is installed")
    if machine.find("nvidia-ctk"):
        return error(
            "container toolkit",
            "the NVIDIA container toolkit is installed, but the Docker engine does not know it",
            "sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart docker",
        )
    return error(
        "container toolkit",
        "there is no NVIDIA container toolkit, so containers cannot use the GPU",
        "Install nvidia-container-toolkit, then: "
        "sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart docker",
    )


def base_images(machine: Machine, dockerfile: Path) -> Findings:
    """Whether the base images of a Dockerfile are here or can be pulled. Slow: queries a registry."""
    for base in _bases(machine.read(dockerfile) or ""):
        if machine.run(["docker", "image", "inspect", "--format", "{{.Id}}", base]).returncode == 0:
            yield ok("base image", f"{base} is here")
            continue
        answer = machine.run(["docker", "manifest", "inspect", base])
        if answer.returncode == 0:
            yield ok("base image", f"{base} can be pulled")
        else:
            yield warning(
                "base image",
                f"{base} is not here and cannot be pulled: {_last_line(answer)}",
                "Fix the network or the engine's proxy, or copy it from another machine (docker save, docker load).",
            )


def _engine(answer: CompletedProcess[str]) -> Finding:
    stderr = answer.stderr.lower()
    if answer.returncode and "permission denied" in stderr:
        return error(
            "Docker",
            f"this user may not use the Docker engine: {_last_line(answer)}",
            'Join the group docker (sudo usermod -aG docker "$USER"), then log in again.',
        )
    if answer.returncode:
        return error(
            "Docker",
            f"no Docker engine answers: {_last_line(answer)}",
            "Start it (systemctl start docker), or join the group docker.",
        )
    version = version_in(answer.stdout)
    if version is None:
        return warning("Docker", f"the engine answers, but its version cannot be read: {answer.stdout.strip()[:80]!r}")
    if version < OLDEST_ENGINE:
        return error(
            "Docker",
            f"Docker Engine {version} is too old: before {OLDEST_ENGINE} the images' programs cannot "
            "start threads in it",
            "Update Docker Engine.",
        )
    return ok("Docker", f"Engine {version} answers ({OLDEST_ENGINE} or newer is needed)")


def _compose(answer: CompletedProcess[str]) -> Finding:
    if answer.returncode:
        return error(
            "Compose",
            "Docker has no Compose plugin, version 2",
            "Install docker-compose-plugin (or docker-compose-v2).",
        )
    version = version_in(answer.stdout)
    if version is None:
        return warning("Compose", f"its version cannot be read: {answer.stdout.strip()[:80]!r}")
    if version < OLDEST_COMPOSE:
        return error(
            "Compose",
            f"Docker Compose {version} is too old: before {OLDEST_COMPOSE} it cannot read compose.yaml",
            "Update docker-compose-plugin (or docker-compose-v2).",
        )
    return ok("Compose", f"{version} ({OLDEST_COMPOSE} or newer is needed)")


def _bases(dockerfile: str) -> list[str]:
    """The images in FROM lines, except for the file's own stages and names with variables."""
    stages: set[str] = set()
    bases: dict[str, None] = {}
    for line in dockerfile.splitlines():
        words = [word for word in line.split() if not word.startswith("--")]
        if len(words) > 1 and words[0].upper() == "FROM":
            if words[1] not in stages and "$" not in words[1] and words[1] != "scratch":
                bases[words[1]] = None
            if len(words) > 3:
                stages.add(words[3])
    return list(bases)


def _last_line(answer: CompletedProcess[str]) -> str:
    return (answer.stderr.strip().splitlines() or [f"exit status {answer.returncode}"])[-1].strip()

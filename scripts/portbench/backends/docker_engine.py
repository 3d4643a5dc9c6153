"""Docker Engine and Compose: there, answering, and new enough for what compose.yaml asks of them."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from portbench.util.findings import Finding, Findings, error, ok, warning
from portbench.util.machine import Machine
from portbench.util.versions import Version, version_in

# The images hold a C library that starts threads by clone3. Before 20.10.10 the default seccomp profile answers that
# with EPERM, where the library expects ENOSYS to fall back to clone, and no thread can be started.
OLDEST_ENGINE = Version((20, 10, 10), "20.10.10")
# The first to know `uts`, by which a container has the machine's own name (compose.yaml).
OLDEST_COMPOSE = Version((2, 15, 1), "2.15.1")


def engine_and_compose(machine: Machine) -> Findings:
    """Whether containers can be started here at all."""
    if machine.find("docker") is None:
        yield error("Docker", "there is no docker command", "Install Docker Engine and its Compose plugin.")
        return
    answer = machine.run(["docker", "version", "--format", "{{.Server.Version}}"])
    yield _engine(answer)
    if answer.returncode == 0:
        yield _compose(machine.run(["docker", "compose", "version", "--short"]))


def information(machine: Machine) -> dict[str, Any]:
    """What `docker info` says; empty where no engine answers."""
    answer = machine.run(["docker", "info", "--format", "{{json .}}"])
    try:
        told = json.loads(answer.stdout) if answer.returncode == 0 else {}
    except ValueError:
        told = {}
    return told if isinstance(told, dict) else {}


def data_folder(machine: Machine) -> Path | None:
    """Where the engine keeps its images, or None if it does not lie on this machine's file system."""
    folder = information(machine).get("DockerRootDir")
    return Path(folder) if folder and machine.exists(Path(folder).parent) else None


def gpu_access(machine: Machine) -> Finding:
    """Whether a container gets at an NVIDIA GPU: a runtime or hook of the container toolkit, or a CDI description."""
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
        "there is no NVIDIA container toolkit, so containers cannot get at the GPU",
        "Install nvidia-container-toolkit, then: "
        "sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart docker",
    )


def base_images(machine: Machine, dockerfile: Path) -> Findings:
    """Whether the images that a Dockerfile starts from are here, or can be fetched. Asks a registry: slow."""
    for base in _bases(machine.read(dockerfile) or ""):
        if machine.run(["docker", "image", "inspect", "--format", "{{.Id}}", base]).returncode == 0:
            yield ok("base image", f"{base} is here")
            continue
        answer = machine.run(["docker", "manifest", "inspect", base])
        if answer.returncode == 0:
            yield ok("base image", f"{base} can be fetched")
        else:
            yield warning(
                "base image",
                f"{base} is not here and its registry does not give it: {_last_line(answer)}",
                "Mend the network or the engine's proxy, or bring it from another machine (docker save, docker load).",
            )


def _engine(answer: CompletedProcess[str]) -> Finding:
    said = answer.stderr.lower()
    if answer.returncode and "permission denied" in said:
        return error(
            "Docker",
            f"this user may not talk to the Docker engine: {_last_line(answer)}",
            'Be let into the group docker (sudo usermod -aG docker "$USER"), then log in again.',
        )
    if answer.returncode:
        return error(
            "Docker",
            f"no Docker engine answers: {_last_line(answer)}",
            "Start it (systemctl start docker), or ask to be let into the group docker.",
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
    """The images of its FROM lines that are no stages of its own and name no variable."""
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

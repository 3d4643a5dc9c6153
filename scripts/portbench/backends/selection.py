"""Chooses the backend that runs a target here."""

from __future__ import annotations

from portbench.backends import Backend
from portbench.backends.current import Current
from portbench.backends.docker import Docker
from portbench.backends.venv import Venv
from portbench.targets.catalog import Target
from portbench.util.machine import Machine
from portbench.util.repository import Checkout

BACKENDS = ("auto", "docker", "venv", "current")


def choose_backend(
    name: str, target: Target, checkout: Checkout, machine: Machine | None = None
) -> tuple[Backend, str]:
    """The backend of this name and the reason for it, in a few words.

    ``auto`` is docker if an engine answers and the target's image is built, else venv. Raises TargetUnavailable if the
    backend cannot run the target here.
    """
    docker = Docker(checkout, machine or Machine())
    if name == "auto":
        without_docker = docker.blocker(target)
        if without_docker is None:
            return docker, "an engine answers and the image is built"
        name, why = "venv", str(without_docker)
    else:
        why = f"as --backend {name} asks"
    backends: dict[str, Backend] = {each.name: each for each in (docker, Venv(checkout), Current(checkout))}
    backend = backends[name]
    blocker = backend.blocker(target)
    if blocker:
        raise blocker
    return backend, why

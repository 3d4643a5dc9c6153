"""Whether a target can run here, and how: the device, then the backend, then what the backend needs.

``diagnose`` runs all checks, for people. ``ready_backend`` runs only the fast ones and raises at the first error, for
``portbench run``. Both use the same checks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from portbench.backends import Backend
from portbench.backends import docker_engine as engine
from portbench.backends.docker import Docker
from portbench.backends.selection import choose_backend
from portbench.backends.venv import Venv
from portbench.doctor import host, packages
from portbench.doctor.facts import facts, image_build_gb, is_measured
from portbench.doctor.gpu import gpu
from portbench.doctor.gpu_code import gpu_code
from portbench.doctor.predicted import predicted
from portbench.doctor.tpu import lock_file, tpu, tpu_code
from portbench.targets.catalog import Target, needed_environments
from portbench.targets.pinning import unreached_vendor
from portbench.util.findings import Finding, Findings, first_error, warning
from portbench.util.machine import Machine
from portbench.util.repository import Checkout

_DOCKER_REMEDY = "Make room (docker system df; docker builder prune), or move Docker's data-root to another disk."


@dataclass(frozen=True)
class Diagnosis:
    """The findings for one target. ``backend`` is None where no backend can run it."""

    target: Target
    backend: str | None
    why: str
    """The reason for this backend, in a few words."""
    findings: tuple[Finding, ...]

    @property
    def blocker(self) -> Finding | None:
        """The first error, which keeps the target from running, or None."""
        return first_error(self.findings)


def diagnose(
    target: Target, backend: str, checkout: Checkout, machine: Machine, out: Path, thorough: bool = True
) -> Diagnosis:
    """Checks everything for one target. ``backend`` is auto, docker or venv as in ``portbench run``.

    ``thorough`` includes the checks that take longer than a command of Docker.
    """
    docker = list(Docker(checkout, machine).findings(target)) if backend != "venv" else []
    venv = list(Venv(checkout).findings(target)) if backend != "docker" else []
    without_docker, without_venv = first_error(docker), first_error(venv)
    if backend == "auto" and without_docker is None:
        chosen, why, findings = "docker", "an engine answers and the image is built", docker
    elif backend == "auto" and without_venv is None:
        chosen, why, findings = "venv", without_docker.message if without_docker else "", venv
    elif backend == "auto":
        chosen, why, findings = None, "", list(dict.fromkeys([*docker, *venv]))
    else:
        chosen, why, findings = backend, f"as --backend {backend} asks", [*docker, *venv]
    usable = chosen is not None and first_error(findings) is None
    environments = needed_environments(target, checkout)
    needs = (
        _needs(environments, chosen, machine, thorough)
        if usable
        else _build(environments, machine, thorough)
        if docker
        else ()
    )
    everywhere = (*host.memory(machine), host.results(machine, out))
    return Diagnosis(
        target, chosen, why, (*_device(target, checkout, machine, thorough), *findings, *needs, *everywhere)
    )


def examine(targets: Sequence[Target], backend: str, machine: Machine, out: Path) -> list[Finding]:
    """Checks the machine itself for all of these targets."""
    found = [*host.memory(machine), host.results(machine, out)]
    if backend != "venv":
        found += engine.engine_and_compose(machine)
    if backend != "docker":
        found.append(packages.index(machine))
    gpus = [target for target in targets if target.device == "gpu"]
    if gpus:
        found += gpu(machine, gpus, thorough=True)
    tpus = [target for target in targets if target.device == "tpu"]
    if tpus:
        found += tpu(machine, tpus)
        found += lock_file(machine) if backend != "docker" else ()
    return found


def ready_backend(backend: str, target: Target, checkout: Checkout, machine: Machine, out: Path) -> tuple[Backend, str]:
    """The backend that runs the target here, and the reason for it. Fast.

    Raises TargetUnavailable or StorageFailed for the first error, with its remedy.
    """
    if backend != "current":
        _raise_first(_device(target, checkout, machine, thorough=False))
    chosen, why = choose_backend(backend, target, checkout, machine)
    _raise_first(_needs(needed_environments(target, checkout), chosen.name, machine, thorough=False))
    _raise_first([host.results(machine, out)])
    return chosen, why


def have_room(targets: Sequence[Target], checkout: Checkout, machine: Machine) -> bool:
    """Whether the missing environments of all these targets fit on the disk together."""
    needed = {each.environment: each for target in targets for each in needed_environments(target, checkout)}
    return first_error(packages.environment(machine, list(needed.values()), thorough=False)) is None


def unfit(target: Target, machine: Machine) -> list[Finding]:
    """Warnings that the target's version has no code for the device of this machine, for ``portbench run``."""
    if target.device == "gpu":
        return list(gpu_code(machine, [target]))
    return list(tpu_code(machine, [target])) if target.device == "tpu" else []


def _raise_first(findings: Iterable[Finding]) -> None:
    blocker = first_error(findings)
    if blocker:
        raise blocker.failure


def _device(target: Target, checkout: Checkout, machine: Machine, thorough: bool) -> Findings:
    if target.device == "gpu":
        yield from gpu(machine, [target], thorough)
    elif target.device == "tpu":
        yield from tpu(machine, [target])
    else:
        yield from predicted(machine, target, checkout)


def _needs(environments: Sequence[Target], backend: str | None, machine: Machine, thorough: bool) -> Findings:
    """Checks what a usable backend needs for a target with these environments."""
    if backend == "docker":
        need = facts()["space"]["image_update"]["more_gb"]
        yield _docker_disk(machine, need, "to bring the image up to date")
    elif backend == "venv":
        if environments[0].device == "tpu":
            yield from lock_file(machine)
        yield from packages.environment(machine, environments, thorough)


def _build(environments: Sequence[Target], machine: Machine, thorough: bool) -> Findings:
    """Checks what the build of a missing image with these environments needs."""
    dockerfile = environments[0].dockerfile
    if dockerfile and engine.information(machine):
        certain = all(map(is_measured, environments))
        yield _docker_disk(machine, image_build_gb(environments), "to build the image", certain)
        yield from engine.base_images(machine, dockerfile)
        if thorough:
            yield from filter(None, (unreached_vendor(each, machine) for each in environments))


def _docker_disk(machine: Machine, need_gb: float, purpose: str, certain: bool = True) -> Finding:
    folder = engine.data_folder(machine)
    if folder is None:
        return warning(
            "disk",
            f"the engine's images are not on this machine's disks; it needs {need_gb:g} GB there {purpose}",
            "docker system df",
        )
    return host.disk(machine, "disk", folder, need_gb, purpose, _DOCKER_REMEDY, certain)

"""The services of compose.yaml, which alone say how an image is called and built: asked through Docker Compose."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from typing import Any

from portbench.errors import BadInput, EnvironmentFailed, StorageFailed
from portbench.targets.catalog import Target
from portbench.targets.image_digest import source_sha256
from portbench.util import processes
from portbench.util.machine import Machine
from portbench.util.processes import run_streaming
from portbench.util.repository import Checkout

_LOG_LINES_SHOWN = 20


def environment(target: Target) -> dict[str, str]:
    """The variables with which Compose means this target by its service's name."""
    return {**os.environ, f"{target.framework.upper()}_VERSION": target.version}


def image_names(targets: Iterable[Target], checkout: Checkout, machine: Machine) -> dict[str, str]:
    """The images of the targets' services, by the target's name; targets without a service are left out.

    Raises BadInput where Compose cannot read compose.yaml.
    """
    services: dict[tuple[str, str], dict[str, Any]] = {}
    names = {}
    for target in targets:
        version = (target.framework, target.version)
        if version not in services:
            services[version] = _services(target, checkout, machine)
        if name := services[version].get(target.service, {}).get("image"):
            names[target.name] = str(name)
    return names


def build(
    target: Target, checkout: Checkout, machine: Machine, heard: Callable[[str], None] = lambda line: None
) -> None:
    """Builds the target's image from the clone and labels it with what it was built from.

    ``heard`` gets each line of the log. Raises EnvironmentFailed with the log's tail, StorageFailed where the disk is
    full.
    """
    env = {
        **environment(target),
        "BUILDKIT_PROGRESS": "plain",
        "PORTBENCH_RUNNER_COMMIT": runner_commit(checkout, machine),
        "PORTBENCH_SOURCE_SHA256": source_sha256(target, checkout),
    }
    done = run_streaming(["docker", "compose", "build", target.service], checkout.root, env, heard)
    if done.returncode == 0:
        return
    said = processes.tail(done.stdout, _LOG_LINES_SHOWN)
    if "no space left on device" in done.stdout.lower():
        raise StorageFailed(
            f"the disk is full: the image of {target.name} was not built\n{said}",
            "Make room: 'portbench images clean' removes images, 'docker builder prune' what builds have left behind.",
        )
    raise EnvironmentFailed(
        f"the image of {target.name} could not be built; the end of the log:\n{said}",
        "Mend what it says and try again: what was built until there is kept.",
    )


def runner_commit(checkout: Checkout, machine: Machine) -> str:
    """The commit of the last change in what an image holds of this repository, so that other commits make no other
    image; with a + where files there are changed since, empty where git cannot tell."""
    folders = ("runners", "schema")
    commit = machine.run(["git", "log", "-1", "--format=%H", "--", *folders], checkout.root)
    changed = machine.run(["git", "status", "--porcelain", "--", *folders], checkout.root)
    return commit.stdout.strip() + ("+" if changed.stdout.strip() else "") if commit.returncode == 0 else ""


def _services(target: Target, checkout: Checkout, machine: Machine) -> dict[str, Any]:
    command = ["docker", "compose", "config", "--format", "json"]
    answer = machine.run(command, checkout.root, environment(target))
    if answer.returncode:
        raise BadInput(
            f"{checkout.root / 'compose.yaml'} cannot be read by Compose\n{processes.tail(answer.stderr)}",
            "'docker compose config' says what is wrong with it.",
        )
    services: dict[str, Any] = json.loads(answer.stdout)["services"]
    return services

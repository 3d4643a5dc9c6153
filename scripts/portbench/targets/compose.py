"""Reads the services of compose.yaml with Docker Compose. They define the name of each image and how it is built."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TypedDict

from portbench.errors import BadInput, EnvironmentFailed, StorageFailed
from portbench.targets.catalog import Target
from portbench.targets.image_digest import source_sha256
from portbench.util import processes
from portbench.util.machine import Machine
from portbench.util.processes import run_streaming
from portbench.util.repository import Checkout

_LOG_LINES_SHOWN = 20
_ANY_VERSION = "portbench-version"
"""Stands for the version in the names of images while compose.yaml is read for all versions at once."""


def environment(target: Target, checkout: Checkout) -> dict[str, str]:
    """The environment variables with which the target's service in compose.yaml has the target's version and the image
    that is built from this clone's files."""
    tag = image_tag(source_sha256(target, checkout))
    return {**os.environ, f"{target.framework.upper()}_VERSION": target.version, "PORTBENCH_TAG": tag}


def image_tag(source: str) -> str:
    """What follows an image's name where it has the digest of its sources: two clones do not replace each other's."""
    return f"-{source[:12]}"


def image_names(targets: Iterable[Target], checkout: Checkout, machine: Machine) -> dict[str, str]:
    """The names of the targets' images by the target's name, without a digest; targets without a service are missing.

    Runs ``docker compose config`` once, for all versions. Raises BadInput where Compose cannot read compose.yaml.
    """
    services = _services(checkout, machine)
    found = {target.name: (services.get(target.service, {}).get("image"), target.version) for target in targets}
    return {target: image.replace(_ANY_VERSION, version) for target, (image, version) in found.items() if image}


def build(
    target: Target, checkout: Checkout, machine: Machine, on_line: Callable[[str], None] = lambda line: None
) -> None:
    """Builds the target's image from the clone, with the digest of its sources in a label and in its name.

    It also gets the name without a digest, which 'docker compose run' uses: that of the last build on this machine.
    ``on_line`` gets each line of the log. Raises EnvironmentFailed with the last lines of the log, and StorageFailed
    where the disk is full.
    """
    env = {
        **environment(target, checkout),
        "BUILDKIT_PROGRESS": "plain",
        "PORTBENCH_RUNNER_COMMIT": runner_commit(checkout, machine),
        "PORTBENCH_SOURCE_SHA256": source_sha256(target, checkout),
        "PORTBENCH_SOURCE_URL": _origin(checkout, machine),
    }
    done = run_streaming(["docker", "compose", "build", target.service], checkout.root, env, on_line)
    if done.returncode == 0:
        name = image_names([target], checkout, machine)[target.name]
        machine.run(["docker", "tag", f"{name}{env['PORTBENCH_TAG']}", name])
        return
    log = processes.tail(done.stdout, _LOG_LINES_SHOWN)
    if "no space left on device" in done.stdout.lower():
        raise StorageFailed(
            f"the disk is full: the image of {target.name} was not built\n{log}",
            "Make room: 'portbench images clean' removes images, 'docker builder prune' the build cache.",
        )
    raise EnvironmentFailed(
        f"the image of {target.name} could not be built; the end of the log:\n{log}",
        "Fix what it reports and try again: the finished steps are kept.",
    )


def runner_commit(checkout: Checkout, machine: Machine) -> str:
    """The last commit that changed the folders that an image contains, so that other commits do not change the image.

    A + follows where their files have changed since. Empty where git does not know the commit.
    """
    folders = ("runners", "schema")
    commit = machine.run(["git", "log", "-1", "--format=%H", "--", *folders], checkout.root)
    changed = machine.run(["git", "status", "--porcelain", "--", *folders], checkout.root)
    return commit.stdout.strip() + ("+" if changed.stdout.strip() else "") if commit.returncode == 0 else ""


def _origin(checkout: Checkout, machine: Machine) -> str:
    """The address of the clone's remote repository, unless it may hold a password or is a path on this machine."""
    origin = machine.run(["git", "config", "--get", "remote.origin.url"], checkout.root).stdout.strip()
    return origin if re.fullmatch(r"https://[^@\s]+", origin) else ""


class Service(TypedDict, total=False):
    """The used part of a service in compose.yaml."""

    image: str


def _services(checkout: Checkout, machine: Machine) -> dict[str, Service]:
    frameworks = (path.parent.name for path in checkout.images.glob("*/default-version"))
    versions = {f"{framework.upper()}_VERSION": _ANY_VERSION for framework in frameworks}
    env = {**os.environ, **versions, "PORTBENCH_TAG": ""}
    done = machine.run(["docker", "compose", "config", "--format", "json"], checkout.root, env)
    if done.returncode:
        raise BadInput(
            f"{checkout.root / 'compose.yaml'} cannot be read by Compose\n{processes.tail(done.stderr)}",
            "'docker compose config' says what is wrong with it.",
        )
    return _parse_services(done.stdout)


@lru_cache(maxsize=1)
def _parse_services(config: str) -> dict[str, Service]:
    services: dict[str, Service] = json.loads(config)["services"]
    return services

"""Runs a target in a container of its service in compose.yaml, which defines how it is built and started."""

from __future__ import annotations

import json
import os
import socket
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from portbench.backends import Arguments, Command, image_sources, variables
from portbench.backends import docker_engine as engine
from portbench.errors import BadInput, EnvironmentFailed, TargetUnavailable
from portbench.targets import compose
from portbench.targets.catalog import Target
from portbench.targets.image_digest import source_sha256
from portbench.targets.pinning import HASH_LOCKED, lock_finding, pinning
from portbench.util.findings import Finding, Findings, blocker, error, ok
from portbench.util.machine import Machine
from portbench.util.repository import Checkout

_PROGRAMS = "programs"
"""The folder of whole programs beside a recorded manifest."""


@dataclass(frozen=True)
class Docker:
    """The backend ``docker``."""

    checkout: Checkout
    machine: Machine = field(default_factory=Machine)
    name: str = "docker"

    def findings(self, target: Target) -> Findings:
        """Checks Dockerfile, lock, engine, Compose, image and, for a GPU, the container toolkit."""
        if target.dockerfile is None:
            yield error(
                "Dockerfile", f"{target.name} has no {target.device}.Dockerfile", "Use --backend venv for this target."
            )
            return
        if target.source and pinning(target) != HASH_LOCKED:
            finding = lock_finding(target, self.checkout.root)
            yield finding
            if finding.verdict == "error":
                return
        if not self.checkout.is_clone:
            yield error(
                "clone",
                "images are built from a clone of portbench, and the working folder is in none",
                "Change into the folder that 'git clone' made, or use --backend venv or --backend current.",
            )
            return
        usable = True
        for finding in engine.engine_and_compose(self.machine):
            usable = usable and finding.verdict != "error"
            yield finding
        if usable:
            # Before the image, so that nobody builds one that cannot be used.
            if target.device == "gpu":
                yield engine.gpu_access(self.machine)
            yield self._image(target)

    def blocker(self, target: Target) -> TargetUnavailable | None:
        """The first error of ``findings``, or None."""
        return blocker(self.findings(target))

    def engine_blocker(self) -> TargetUnavailable | None:
        """Why no container can be started on this machine, or None."""
        return blocker(engine.engine_and_compose(self.machine))

    def image_name(self, target: Target) -> str | None:
        """The image of the target's service; None where compose.yaml has no such service or cannot be read."""
        try:
            return compose.image_names([target], self.checkout, self.machine).get(target.name)
        except BadInput:
            return None

    def is_built(self, target: Target) -> bool:
        """Whether the target's image exists. Lists all images: a CachedMachine does so once for all targets."""
        name, there = self.image_name(target), engine.image_names(self.machine)
        return name is not None and (name in there or self._own_name(name, target) in there)

    def image_digest(self, target: Target) -> str | None:
        """The id of the image that is built from this clone's files (sha256:...), or None if it is not built."""
        name = self.image_name(target)
        facts = self._inspect(self._own_name(name, target)) if name else None
        return str(facts["Id"]) if facts else None

    def is_missing(self, target: Target) -> bool:
        """An image is updated alone: images share layers, and the engine builds in parallel by itself."""
        return False

    def prepare(self, target: Target, say: Callable[[str], None]) -> None:
        """Builds the image again if it is not up to date, so that no run uses older code.

        An image that is up to date is used as it is, without a build: that needs no registry and no network. Raises
        EnvironmentFailed and StorageFailed.
        """
        if self._has_current_image(target):
            return
        say(f"{target.name}: the image is updated to this clone")
        try:
            compose.build(target, self.checkout, self.machine)
        except EnvironmentFailed as failure:
            failure.remedy += " Or use --backend venv; 'docker compose run' uses the image without an update."
            raise

    def _has_current_image(self, target: Target) -> bool:
        """Whether the image of this clone's files exists. Gives it its own name if it has only the general one."""
        name = self.image_name(target)
        if name is None or self._inspect(self._own_name(name, target)):
            return name is not None
        facts = self._inspect(name)
        labels = (facts["Config"]["Labels"] or {}) if facts else {}
        if not labels or image_sources.recorded(labels, name, self.machine)[0] != self._source(target):
            return False
        return self.machine.run(["docker", "tag", name, self._own_name(name, target)]).returncode == 0

    def _own_name(self, name: str, target: Target) -> str:
        return name + compose.image_tag(self._source(target))

    def _source(self, target: Target) -> str:
        return source_sha256(target, self.checkout)

    def _inspect(self, reference: str) -> dict[str, Any] | None:
        answer = self.machine.run(["docker", "image", "inspect", reference])
        found: list[dict[str, Any]] = json.loads(answer.stdout or "[]") if answer.returncode == 0 else []
        return found[0] if found else None

    def command(self, target: Target, arguments: Arguments) -> Command:
        """Starts the target's service for one run. The container has a name, by which it can be removed."""
        container = f"portbench-{target.name}-{uuid.uuid4().hex[:8]}"
        argv = ["docker", "compose", "run", "--rm", "--no-TTY", "--name", container]
        manifests = self.checkout.manifests
        if arguments.manifest is None:
            manifest = ""
        elif arguments.manifest.is_relative_to(manifests):
            manifest = f"manifests/{arguments.manifest.relative_to(manifests)}"
        else:
            manifest = f"/tmp/{arguments.manifest.name}"
            argv += ["--volume", f"{arguments.manifest}:{manifest}:ro"]
            programs = arguments.manifest.parent / _PROGRAMS
            if programs.is_dir():
                argv += ["--volume", f"{programs}:/tmp/{_PROGRAMS}:ro"]
        if arguments.own_mutants:
            argv += ["--volume", f"{arguments.own_mutants}:{arguments.own_mutants}:ro"]
        for name in variables.for_container(os.environ, self.checkout):
            argv += ["--env", name]
        argv += [target.service, "--version", target.version, *arguments.argv(manifest, "/results")]
        env = {
            **compose.environment(target, self.checkout),
            **variables.gpu(target, os.environ),
            "PORTBENCH_RESULTS": str(arguments.out),
            "PORTBENCH_MACHINE": os.environ.get("PORTBENCH_MACHINE") or socket.gethostname(),
            "PORTBENCH_IMAGE_DIGEST": self.image_digest(target) or "",
        }
        return Command(
            argv,
            self.checkout.root,
            env,
            # On a signal Compose itself ends but leaves its container running.
            interrupt=["docker", "kill", "--signal", "INT", container],
            remove=["docker", "rm", "--force", container],
        )

    def _image(self, target: Target) -> Finding:
        name = self.image_name(target)
        if name is None:
            return error(
                "image",
                f"compose.yaml has no service {target.service}, or cannot be read",
                "'docker compose config' says what is wrong with it.",
            )
        if not self.is_built(target):
            return error("image", f"the image {name} is not built", f"Build it: portbench images build {target.name}")
        return ok("image", f"{name} is built")

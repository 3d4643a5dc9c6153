"""Runs a target in a container of its service in compose.yaml, which defines how it is built and started."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from portbench.backends import Arguments, Command
from portbench.backends import docker_engine as engine
from portbench.errors import BadInput, EnvironmentFailed, TargetUnavailable
from portbench.targets import compose
from portbench.targets.catalog import Target
from portbench.targets.lock import missing_lock
from portbench.util.findings import Finding, Findings, blocker, error, ok
from portbench.util.machine import Machine
from portbench.util.repository import Checkout


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
        not_locked = missing_lock(target)
        if not_locked:
            yield not_locked
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
            yield self._image(target)
            if target.device == "gpu":
                yield engine.gpu_access(self.machine)

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
        return self.image_name(target) in engine.image_names(self.machine)

    def image_digest(self, target: Target) -> str | None:
        """The id of the target's image (sha256:...), or None if it is not built."""
        name = self.image_name(target)
        done = self.machine.run(["docker", "image", "inspect", "--format", "{{.Id}}", name]) if name else None
        return done.stdout.strip() if done and done.returncode == 0 else None

    def prepare(self, target: Target, say: Callable[[str], None]) -> None:
        """Updates the image to the clone, so that no run uses older code. Takes a second if only the runner changed.

        Raises EnvironmentFailed and StorageFailed.
        """
        before = self.image_digest(target)
        try:
            compose.build(target, self.checkout, self.machine)
        except EnvironmentFailed as failure:
            failure.remedy += " Or use --backend venv; 'docker compose run' uses the image without an update."
            raise
        if self.image_digest(target) != before:
            say(f"{target.name}: the image was updated to this clone")

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
        argv += [target.service, "--version", target.version, *arguments.argv(manifest, "/results")]
        env = {
            **compose.environment(target),
            "PORTBENCH_RESULTS": str(arguments.out),
            "PORTBENCH_MACHINE": socket.gethostname(),
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
        if name not in engine.image_names(self.machine):
            return error("image", f"the image {name} is not built", f"Build it: portbench images build {target.name}")
        return ok("image", f"{name} is built")

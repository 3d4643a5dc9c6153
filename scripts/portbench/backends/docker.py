"""Runs a target in a container, through the services of compose.yaml: they alone say how one is built and started."""

from __future__ import annotations

import socket
import subprocess
import uuid
from collections.abc import Callable, Mapping
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
        """Dockerfile, lock, engine, Compose, image; for a GPU how a container gets at it."""
        if target.dockerfile is None:
            yield error(
                "Dockerfile", f"{target.name} has no {target.device}.Dockerfile", "Use --backend venv for this target."
            )
            return
        not_locked = missing_lock(target)
        if not_locked:
            yield not_locked
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
        """The first of the findings that is one."""
        return blocker(self.findings(target))

    def engine_blocker(self) -> TargetUnavailable | None:
        """Why no container can be started here at all, or None."""
        return blocker(engine.engine_and_compose(self.machine))

    def image_name(self, target: Target) -> str | None:
        """The image of the target's service, or None if compose.yaml has no such service or Compose cannot read it."""
        try:
            return compose.image_names([target], self.checkout, self.machine).get(target.name)
        except BadInput:
            return None

    def image_digest(self, target: Target) -> str | None:
        """The id of the target's image (sha256:...), or None if it is not built."""
        name = self.image_name(target)
        answer = self._docker("image", "inspect", "--format", "{{.Id}}", name) if name else None
        return answer.stdout.strip() if answer and answer.returncode == 0 else None

    def prepare(self, target: Target, say: Callable[[str], None]) -> None:
        """Brings the image up to date with the clone, which takes a second where only the runner has changed: an image
        that lags behind would give the results of older code. Raises EnvironmentFailed."""
        before = self.image_digest(target)
        try:
            compose.build(target, self.checkout, self.machine)
        except EnvironmentFailed as failure:
            failure.remedy += " Or use --backend venv; 'docker compose run' takes the image as it is."
            raise
        if self.image_digest(target) != before:
            say(f"{target.name}: the image was brought up to date with this clone")

    def command(self, target: Target, arguments: Arguments) -> Command:
        """The target's service, for one run, under a name by which its container can be removed."""
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
            # Compose leaves its container running when it gets a signal itself.
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
        if self._docker("image", "inspect", "--format", "{{.Id}}", name).returncode:
            return error("image", f"the image {name} is not built", f"Build it: portbench images build {target.name}")
        return ok("image", f"{name} is built")

    def _docker(self, *arguments: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return self.machine.run(["docker", *arguments], self.checkout.root, env)

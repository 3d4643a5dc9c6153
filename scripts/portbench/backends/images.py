"""The images of the targets on this machine: which there are, whether they are what the clone would build, and removal.

An image is known by the labels that its Dockerfile gives it: framework, version, device, and the SHA-256 of what it was
built from. Earlier builds, which have lost their name to a later one, are found by them too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from portbench.backends.docker import Docker
from portbench.errors import StorageFailed, TargetUnavailable
from portbench.targets import compose
from portbench.targets.catalog import Target, all_targets, find_targets
from portbench.targets.image_digest import source_sha256
from portbench.util.machine import Machine
from portbench.util.repository import Checkout

State = Literal["up to date", "stale", "unknown", "not built"]

_LABELS = ("portbench.framework", "portbench.version", "portbench.device")
_REMOVE_LIMIT_S = 300
_UNITS = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}


@dataclass(frozen=True)
class Image:
    """A target's image. What only an image that is built has is None for others."""

    target: str
    image: str | None
    """Its name; None: compose.yaml has no service for the target."""
    state: State
    """unknown: it was built without portbench ('docker compose build'), so that it does not say from what."""
    built_at: str | None = None
    size_bytes: int | None = None
    """Of all its layers, those included that it shares with others."""
    runner_commit: str | None = None


@dataclass(frozen=True)
class Removable:
    """An image of a target, the present one or that of an earlier build."""

    target: str
    references: tuple[str, ...]
    """Its names, or its id where it has none left."""
    size_bytes: int

    @property
    def title(self) -> str:
        """For people."""
        id = self.references[0].partition("sha256:")[2][:12]
        return f"{id} (an earlier build of {self.target})" if id else ", ".join(self.references)


@dataclass(frozen=True)
class DiskUse:
    """In bytes, as the engine rounds them. A layer counts once: as an image's while one has it, else as build cache."""

    images: float
    build_cache: float


@dataclass(frozen=True)
class Images:
    """Raises TargetUnavailable in every method where no engine answers."""

    checkout: Checkout
    machine: Machine

    def targets(self, names: Sequence[str]) -> list[Target]:
        """The targets of these names, or all that have a Dockerfile.

        Raises UnknownTarget, and TargetUnavailable for one without a Dockerfile.
        """
        targets = find_targets(names, self.checkout) if names else all_targets(self.checkout)
        for target in targets if names else ():
            if target.dockerfile is None:
                raise TargetUnavailable(
                    f"{target.name} has no image: there is no {target.device}.Dockerfile in its folder",
                    "'portbench run --backend venv' needs none.",
                )
        return [target for target in targets if target.dockerfile]

    def status(self, targets: Sequence[Target]) -> list[Image]:
        """Each target's image, built or not."""
        self._require_engine()
        names = compose.image_names(targets, self.checkout, self.machine)
        built = {tag: facts for facts in self._inspect(names.values()) for tag in facts["RepoTags"] or ()}
        return [self._image(target, names.get(target.name), built) for target in targets]

    def build(self, target: Target, heard: Callable[[str], None]) -> Image:
        """Builds a target's image; ``heard`` gets the lines of the log. Raises EnvironmentFailed, StorageFailed."""
        (image,) = self.status([target])
        if image.image is None:
            raise TargetUnavailable(
                f"compose.yaml has no service {target.service}", "Add one: see the services that are there."
            )
        if target.lock is None:
            raise TargetUnavailable(
                f"{target.name} is not locked: there is no {target.packages}.lock to install from",
                f"portbench lock {target.framework}/{target.version}",
            )
        compose.build(target, self.checkout, self.machine, heard)
        return self.status([target])[0]

    def removable(self, targets: Sequence[Target] | None) -> list[Removable]:
        """The images of these targets, or of all there have ever been; those of earlier builds too.

        An image that others made from one of ours inherits its labels: one under a foreign name is left alone.
        """
        self._require_engine()
        known = compose.image_names(self.targets([]), self.checkout, self.machine).values()
        repositories = {name.rpartition(":")[0] for name in known}
        wanted = None if targets is None else {(each.framework, each.version, _kind(each)) for each in targets}
        listed = self._ask("image", "ls", "--quiet", "--no-trunc", "--filter", f"label={_LABELS[0]}")
        found = []
        for facts in self._inspect(sorted(set(listed.split()))):
            labels = facts["Config"]["Labels"]
            of = tuple(labels.get(label, "") for label in _LABELS)
            tags = [tag for tag in facts["RepoTags"] or () if tag != "<none>:<none>"]
            own = [tag for tag in tags if tag.rpartition(":")[0] in repositories]
            if (wanted is None or of in wanted) and (own or not tags):
                found.append(Removable("-".join(of), tuple(own) or (facts["Id"],), facts["Size"]))
        return sorted(found, key=lambda each: (each.target, each.references))

    def remove(self, image: Removable) -> None:
        """Removes it. Raises StorageFailed where the engine refuses, most often because a container uses it."""
        answer = self.machine.run(["docker", "image", "rm", *image.references], timeout_s=_REMOVE_LIMIT_S)
        if answer.returncode:
            raise StorageFailed(
                f"{image.title} was not removed: {(answer.stderr.strip().splitlines() or ['no reason given'])[-1]}",
                "If a container uses it: 'docker ps --all' shows which, 'docker rm' removes it. Then try again.",
            )

    def disk_use(self) -> DiskUse | None:
        """What the engine's images and its build cache take; None if it does not say."""
        answer = self.machine.run(["docker", "system", "df", "--format", "{{.Type}}:{{.Size}}"])
        sizes = {
            kind: float(number) * _UNITS[unit]
            for kind, number, unit in re.findall(r"^([^:]+):([0-9.]+)([kMGT]?B)$", answer.stdout, re.MULTILINE)
        }
        known = answer.returncode == 0 and {"Images", "Build Cache"} <= set(sizes)
        return DiskUse(sizes["Images"], sizes["Build Cache"]) if known else None

    def _image(self, target: Target, name: str | None, built: dict[str, Any]) -> Image:
        facts = built.get(name) if name else None
        if facts is None:
            return Image(target.name, name, "not built")
        labels = facts["Config"]["Labels"] or {}
        source = labels.get("portbench.source_sha256")
        state: State = "unknown"
        if source:
            state = "up to date" if source == source_sha256(target, self.checkout) else "stale"
        commit = labels.get("org.opencontainers.image.revision") or None
        return Image(target.name, name, state, facts["Created"], facts["Size"], commit)

    def _inspect(self, references: Iterable[str]) -> list[dict[str, Any]]:
        references = list(references)
        if not references:
            return []
        # Those that are not there make it fail, and are missing from what it says.
        answer = self.machine.run(["docker", "image", "inspect", *references])
        facts: list[dict[str, Any]] = json.loads(answer.stdout or "[]")
        return facts

    def _ask(self, *arguments: str) -> str:
        answer = self.machine.run(["docker", *arguments], self.checkout.root)
        if answer.returncode:
            raise TargetUnavailable(f"'docker {' '.join(arguments)}' failed: {answer.stderr.strip()}")
        return answer.stdout

    def _require_engine(self) -> None:
        if blocker := Docker(self.checkout, self.machine).engine_blocker():
            raise blocker


def _kind(target: Target) -> str:
    """The device that an image's label names: several targets may share an image, which is called after its file."""
    return target.dockerfile.stem if target.dockerfile else target.device

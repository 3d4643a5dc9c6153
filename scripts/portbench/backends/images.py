"""The images of the targets on this machine: lists them, compares them with the clone, builds and removes them.

An image has labels from its Dockerfile: framework, version, device, and the SHA-256 of its sources. They also identify
images of earlier builds and of other clones.

    portbench/torch:1.12.0-cpu                  the last build on this machine, which 'docker compose run' uses
    portbench/torch:1.12.0-cpu-0a1b2c3d4e5f     the build from the files with this digest, which 'portbench run' uses
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

from portbench.backends import image_sources
from portbench.backends.docker import Docker
from portbench.errors import StorageFailed, TargetUnavailable
from portbench.targets import compose
from portbench.targets.catalog import Target, all_targets, find_targets
from portbench.targets.image_digest import source_sha256
from portbench.targets.pinning import lock_finding, require_vendor
from portbench.util.findings import blocker
from portbench.util.machine import Machine
from portbench.util.repository import Checkout

State = Literal["up to date", "stale", "unknown", "not built"]

_LABELS = ("portbench.framework", "portbench.version", "portbench.device")
_REMOVE_LIMIT_S = 300
_UNITS = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}


@dataclass(frozen=True)
class Image:
    """A target's image. The fields with a default are None where the image is not built."""

    target: str
    image: str | None
    """Its name. None: compose.yaml has no service for the target."""
    state: State
    """unknown: it was built by a portbench that did not record its sources."""
    built_at: str | None = None
    size_bytes: int | None = None
    """The size of all its layers, including those that it shares with other images."""
    runner_commit: str | None = None


@dataclass(frozen=True)
class Removable:
    """An image of a target, from the current or an earlier build."""

    target: str
    references: tuple[str, ...]
    """Its names, the shortest first, or its id if it has no name any more."""
    size_bytes: int

    @property
    def title(self) -> str:
        """The image's name for people."""
        id = self.references[0].partition("sha256:")[2][:12]
        if id:
            return f"{id} (an earlier build of {self.target})"
        is_last = self.references[0].endswith(f"-{self.target.split('-', 2)[2]}")
        return self.references[0] + ("" if is_last else " (an earlier build, or that of another clone)")


@dataclass(frozen=True)
class DiskUse:
    """Sizes in bytes, as the engine rounds them. A layer of an image and of the build cache counts as the image's."""

    images: float
    build_cache: float


class _Config(TypedDict):
    Labels: dict[str, str] | None


class _Inspected(TypedDict):
    """The used parts of `docker image inspect`."""

    Id: str
    RepoTags: list[str] | None
    Created: str
    Size: int
    Config: _Config


@dataclass(frozen=True)
class Images:
    """The images of a clone's targets. Every method raises TargetUnavailable if no engine answers."""

    checkout: Checkout
    machine: Machine

    def targets(self, names: Sequence[str]) -> list[Target]:
        """The targets of these names, or all targets with a Dockerfile.

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
        """The image of each target, whether built or not."""
        self._require_engine()
        names = compose.image_names(targets, self.checkout, self.machine)
        sources = {each.dockerfile: source_sha256(each, self.checkout) for each in targets if each.name in names}
        own = {
            each.name: names[each.name] + compose.image_tag(sources[each.dockerfile])
            for each in targets
            if each.name in names
        }
        found = self._inspect(dict.fromkeys([*names.values(), *own.values()]))
        built = {tag: facts for facts in found for tag in facts["RepoTags"] or ()}
        images = []
        for target in targets:
            name = names.get(target.name)
            facts = built.get(own.get(target.name, ""), built.get(name or ""))
            if name is None or facts is None:
                images.append(Image(target.name, name, "not built"))
            else:
                images.append(self._image(target, name, facts, sources[target.dockerfile]))
        return images

    def build(self, target: Target, on_line: Callable[[str], None]) -> Image:
        """Builds a target's image; ``on_line`` gets the lines of the log. Raises EnvironmentFailed, StorageFailed."""
        (image,) = self.status([target])
        if image.image is None:
            raise TargetUnavailable(f"compose.yaml has no service {target.service}", "Add one like the others there.")
        not_locked = blocker([lock_finding(target, self.checkout.root)])
        if not_locked:
            raise not_locked
        if image.state == "not built":
            require_vendor(target, self.machine)
        compose.build(target, self.checkout, self.machine, on_line)
        return self.status([target])[0]

    def sbom(self, target: Target) -> str:
        """The CycloneDX document in the target's image. Raises TargetUnavailable if there is no image or none in it."""
        (image,) = self.status([target])
        if image.image is None or image.state == "not built":
            raise TargetUnavailable(f"{target.name} has no image", f"Build it: portbench images build {target.name}")
        text = image_sources.read(image_sources.SBOM, image.image, self.machine)
        if text is None:
            raise TargetUnavailable(
                f"{image.image} has no {image_sources.SBOM}: an older portbench built it",
                f"Build it again: portbench images build {target.name}",
            )
        return text

    def removable(self, targets: Sequence[Target] | None) -> list[Removable]:
        """The images of these targets, or of all current and former targets, including those of earlier builds.

        An image that others built from one of ours inherits its labels. It has another name and is not included.
        """
        self._require_engine()
        known = compose.image_names(self.targets([]), self.checkout, self.machine).values()
        repositories = {name.rpartition(":")[0] for name in known}
        wanted = None if targets is None else {(each.framework, each.version, _kind(each)) for each in targets}
        listed = self._docker("image", "ls", "--quiet", "--no-trunc", "--filter", f"label={_LABELS[0]}")
        found = []
        for facts in self._inspect(sorted(set(listed.split()))):
            labels = facts["Config"]["Labels"] or {}
            key = tuple(labels.get(label, "") for label in _LABELS)
            tags = [tag for tag in facts["RepoTags"] or () if tag != "<none>:<none>"]
            own = [tag for tag in tags if tag.rpartition(":")[0] in repositories]
            if (wanted is None or key in wanted) and (own or not tags):
                names = tuple(sorted(own, key=len)) or (facts["Id"],)
                found.append(Removable("-".join(key), names, facts["Size"]))
        return sorted(found, key=lambda each: (each.target, each.references))

    def remove(self, image: Removable) -> None:
        """Removes an image. Raises StorageFailed if the engine refuses, usually because a container uses the image."""
        answer = self.machine.run(["docker", "image", "rm", *image.references], timeout_s=_REMOVE_LIMIT_S)
        if answer.returncode:
            raise StorageFailed(
                f"{image.title} was not removed: {(answer.stderr.strip().splitlines() or ['no reason given'])[-1]}",
                "If a container uses it: 'docker ps --all' shows which, 'docker rm' removes it. Then try again.",
            )

    def disk_use(self) -> DiskUse | None:
        """The disk space of the engine's images and of its build cache; None if the engine does not report it."""
        answer = self.machine.run(["docker", "system", "df", "--format", "{{.Type}}:{{.Size}}"])
        sizes = {
            kind: float(number) * _UNITS[unit]
            for kind, number, unit in re.findall(r"^([^:]+):([0-9.]+)([kMGT]?B)$", answer.stdout, re.MULTILINE)
        }
        known = answer.returncode == 0 and {"Images", "Build Cache"} <= set(sizes)
        return DiskUse(sizes["Images"], sizes["Build Cache"]) if known else None

    def _image(self, target: Target, name: str, facts: _Inspected, wanted: str) -> Image:
        source, commit = image_sources.recorded(facts["Config"]["Labels"] or {}, facts["Id"], self.machine)
        state: State = "unknown"
        if source:
            state = "up to date" if source == wanted else "stale"
        return Image(target.name, name, state, facts["Created"], facts["Size"], commit)

    def _inspect(self, references: Iterable[str]) -> list[_Inspected]:
        references = list(references)
        if not references:
            return []
        # Missing images make the command fail. Its output has the others.
        answer = self.machine.run(["docker", "image", "inspect", *references])
        facts: list[_Inspected] = json.loads(answer.stdout or "[]")
        return facts

    def _docker(self, *arguments: str) -> str:
        answer = self.machine.run(["docker", *arguments], self.checkout.root)
        if answer.returncode:
            raise TargetUnavailable(f"'docker {' '.join(arguments)}' failed: {answer.stderr.strip()}")
        return answer.stdout

    def _require_engine(self) -> None:
        if without_engine := Docker(self.checkout, self.machine).engine_blocker():
            raise without_engine


def _kind(target: Target) -> str:
    """The device in an image's label: the stem of its Dockerfile, which several targets may share."""
    return target.dockerfile.stem if target.dockerfile else target.device

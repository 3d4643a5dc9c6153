"""The versions of a history: those of images/, and those that it adds to a copy of images/ in the user's cache.

    <cache>/portbench/history/<device>/images/<framework>/    the clone's folders, and the versions that were added

images/ of a clone is for pins that people commit. A version is added as 'portbench add-version' adds it, for one
device, with packages that are not newer than the release: a package of today may not fit a framework of 2023.
"""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from portbench.errors import BadInput, EnvironmentFailed, PortbenchError, StorageFailed
from portbench.history.releases import Release, list_releases
from portbench.targets import environments, pythons
from portbench.targets.add_version import NewVersion, NoNetwork, add_version
from portbench.targets.catalog import Target, all_targets, find_targets
from portbench.targets.kernels import list_downloaded_kernels, list_installed_kernels
from portbench.targets.version_files import requirements_for
from portbench.util.machine import Machine
from portbench.util.repository import Checkout
from portbench.util.versions import Version

_DAYS = 30
"""Packages may be so much newer than the release: fixes of what the release broke."""

_EARLIEST = datetime.date(2024, 1, 1)
"""The runners need a jsonschema of 2023."""

_GIGABYTES = {"torch": 9.0, "tensorflow": 3.0, "jax": 1.5}
"""The largest environment of a framework: PyTorch's wheels bring CUDA's libraries."""


@dataclass(frozen=True)
class Sources:
    """Where the versions of a framework on a device come from."""

    framework: str
    device: str
    clone: Checkout

    @property
    def checkout(self) -> Checkout:
        """The copy of images/ with the added versions."""
        return Checkout(history_folder() / self.device)

    def pinned(self) -> list[str]:
        """The versions of the device in images/, oldest first. Raises BadInput for what is no target."""
        own = self._targets(self.clone)
        if not own:
            name = f"{self.framework}-{self.device}"
            find_targets([name], self.clone)
            raise BadInput(f"there is no target {name}")
        return [target.version for target in own]

    def packages(self) -> tuple[str, ...]:
        """The packages of the index that have the framework's version, by the newest version's .in file."""
        newest = self._target(self.pinned()[-1], self.clone)
        if newest.source is None:
            raise BadInput(f"{newest.name} has no {newest.packages}.in, so no version can be added")
        return requirements_for(newest.source, self.framework, newest.version, "0").packages

    def target(self, version: str, release: Release | None, say: Callable[[str], None]) -> Target:
        """The target of a version, which is added if there is none: with the packages of the nearest version of images/
        that fit. Raises BadInput, EnvironmentFailed, StorageFailed."""
        self._copy_images()
        try:
            return self._target(version, self.checkout)
        except BadInput:
            if release is None:
                raise
        without_device = self.checkout.images / self.framework / version
        if without_device.exists():
            shutil.rmtree(without_device)
        until = max(datetime.date.fromisoformat(release.date) + datetime.timedelta(days=_DAYS), _EARLIEST)
        patterns = [target for target in self._targets(self.clone) if target.lock]
        failure: PortbenchError | None = None
        for pattern in sorted(patterns, key=lambda each: _distance(each.version, version)):
            python = release.python(pattern.python, lambda each: pythons.find_python(each) is not None)
            devices = (pattern.packages, self.device)
            wanted = NewVersion(self.framework, version, pattern.version, python, devices, until.isoformat())
            try:
                add_version(wanted, self.checkout, say)
                return self._target(version, self.checkout)
            except NoNetwork:
                raise
            except (BadInput, EnvironmentFailed) as error:
                failure = failure or error
        raise failure or BadInput(f"no version of {self.framework}-{self.device} has a lock to take packages from")

    def _target(self, version: str, checkout: Checkout) -> Target:
        for target in self._targets(checkout):
            if target.version == version:
                return replace(target, version_named=True)
        name = f"{self.framework}-{version}-{self.device}"
        raise BadInput(f"there is no target {name}", f"portbench add-version {self.framework} {version}")

    def _targets(self, checkout: Checkout) -> list[Target]:
        """The targets of all versions, oldest first."""
        asked = (self.framework, self.device)
        return [target for target in all_targets(checkout) if (target.framework, target.device) == asked]

    def _copy_images(self) -> None:
        """Brings the clone's own folders up to date in the copy."""
        images, pinned = self.checkout.images, self.pinned()
        try:
            (images / self.framework).mkdir(parents=True, exist_ok=True)
            for name in ("Dockerfile.jinja", "bases.lock"):
                if (self.clone.images / name).is_file():
                    shutil.copyfile(self.clone.images / name, images / name)
            for source in (self.clone.images / self.framework).iterdir():
                place = images / self.framework / source.name
                if source.is_file():
                    shutil.copyfile(source, place)
                elif source.name in pinned or not place.exists():
                    # One without the device may have been added here.
                    shutil.copytree(source, place, dirs_exist_ok=True)
        except OSError as error:
            raise StorageFailed(f"{images} cannot be written: {error}", "Make room, or set XDG_CACHE_HOME.") from error


def history_folder() -> Path:
    """Where histories keep what they can make again: locks of added versions, and run files."""
    return environments.cache_folder() / "history"


def create(target: Target, machine: Machine, say: Callable[[str], None]) -> bool:
    """Creates the target's environment; whether it was missing. Raises as ``create_environment`` does, and
    StorageFailed before anything is downloaded where the disk has too little room."""
    if environments.environment_exists(target):
        return False
    need = _GIGABYTES.get(target.framework, 0.1)
    folder = environments.environments_folder()
    free = machine.free_bytes(folder)
    if free is not None and free < need * 1e9:
        raise StorageFailed(
            f"{target.name}: its environment takes up to {need:g} GB, and {free / 1e9:.1f} GB are free in {folder}",
            "Make room, or set XDG_CACHE_HOME to a folder on another disk. What is finished is kept.",
        )
    environments.create_environment(target, say, keep_downloads=False)
    return True


def list_kernels(target: Target, releases: Mapping[str, Release], clone: Checkout, say: Callable[[str], None]) -> None:
    """Lists the GPU kernels of a version where gpu-predicted needs the list and there is none.

    The wheel of PyTorch in the package index is the one for CUDA, so its environment for the CPU has the kernels.
    TensorFlow's for the CPU has none: the one for CUDA is downloaded, and used beside that environment.
    """
    lists = clone.runners / target.framework / "kernels"
    version = f"{target.version}.json"
    if target.device != "gpu-predicted" or not lists.is_dir() or (lists / version).is_file():
        return
    if environments.kernel_list(target.framework, target.version).is_file():
        return
    own_wheels = target.framework == "torch"
    release = (releases if own_wheels else list_releases([target.framework])).get(target.version)
    wheels = [wheel for wheel in release.wheels if wheel.python == target.python] if release else []
    if not wheels:
        raise EnvironmentFailed(
            f"there is no list of the GPU kernels of {target.framework} {target.version}",
            f"portbench add-version {target.framework} {target.version}, then portbench kernels "
            f"{target.framework}-{target.version}-gpu",
        )
    say(f"listing the GPU kernels of {target.framework} {target.version}")
    name, sha256 = wheels[0].name, wheels[0].sha256
    if own_wheels:
        list_installed_kernels(target, name, sha256, clone)
    else:
        list_downloaded_kernels(target, name, sha256, environments.python_of(target), clone, say)


def _distance(one: str, other: str) -> tuple[int, ...]:
    return tuple(abs(mine - its) for mine, its in zip(Version(one).release, Version(other).release, strict=False))

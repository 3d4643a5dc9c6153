"""Adds a version of a framework: copies the folder of another version in images/ and creates new locks.

The folder is created in a temporary place on the same disk and moved when it is complete, so that images/ never has an
incomplete one. A device whose lock cannot be created is skipped: not every version exists for every device.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from portbench.errors import BadInput, EnvironmentFailed, PortbenchError, StorageFailed
from portbench.targets.catalog import Target, all_targets, by_image, title
from portbench.targets.lock import all_locks, regenerate
from portbench.targets.version_files import dockerfile_for, requirements_for
from portbench.util.repository import Checkout
from portbench.util.text import did_you_mean
from portbench.util.versions import Version, parse_version

_PYTHON = re.compile(r"3\.[0-9]+")


@dataclass(frozen=True)
class NewVersion:
    """The version to add."""

    framework: str
    version: str
    source: str | None = None
    """The version to copy. None: the newest older version, or the oldest version if there is none."""
    python: str | None = None
    """The Python of all devices. None: that of the copied version."""


@dataclass(frozen=True)
class Added:
    """The result of ``add_version``."""

    folder: Path
    source: str
    pythons: Mapping[str, str]
    """By device, for each device that was added. Devices that share an image are one: tpu-v2 … tpu7x."""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """The reason, by device, for each device that was not added."""
    kernels: str | None = None
    """The target to list the GPU kernels of, without which the new version's gpu-predicted cannot run."""


def add_version(asked: NewVersion, checkout: Checkout, say: Callable[[str], None]) -> Added:
    """Creates images/<framework>/<version>/; ``say`` gets a line for each slow step.

    Raises BadInput (an unknown framework; a version that is malformed, exists already or is not in the package index),
    EnvironmentFailed (no lock could be created), StorageFailed. After an error images/ is unchanged.
    """
    patterns = _patterns(asked, checkout)
    source = next(iter(patterns.values())).version
    place = checkout.images / asked.framework / asked.version
    pythons: dict[str, str] = {}
    skipped: dict[str, str] = {}
    failures: list[PortbenchError] = []
    try:
        with tempfile.TemporaryDirectory(prefix=".adding-", dir=checkout.images) as staging:
            staged = Checkout(Path(staging).resolve())
            folder = staged.images / asked.framework / asked.version
            folder.mkdir(parents=True)
            for devices, pattern in patterns.items():
                if pattern.packages in skipped:
                    skipped[devices] = skipped[pattern.packages]
                    continue
                if pattern.packages == devices:
                    say(f"locking {asked.framework}-{asked.version}-{devices}")
                try:
                    pythons[devices] = _add_device(asked, pattern, staged)
                except (BadInput, EnvironmentFailed) as failure:
                    failures.append(failure)
                    skipped[devices] = str(failure)
                    for path in folder.glob(f"{pattern.device}.*"):
                        path.unlink()
            if not pythons:
                raise _nothing_added(asked, source, failures, skipped, checkout)
            _write_pythons(folder, {patterns[devices].packages: python for devices, python in pythons.items()})
            folder.rename(place)
    except OSError as error:
        raise StorageFailed(f"cannot write {place}: {error.strerror}", "Nothing was added.") from error
    lists = checkout.root / "runners" / asked.framework / "kernels"
    needs_kernels = "gpu-predicted" in pythons and lists.is_dir() and not (lists / f"{asked.version}.json").is_file()
    return Added(place, source, pythons, skipped, f"{asked.framework}-{asked.version}-gpu" if needs_kernels else None)


def _patterns(asked: NewVersion, checkout: Checkout) -> dict[str, Target]:
    """For each image of the version to copy, one of its targets; the keys are devices, such as tpu-v2 … tpu7x."""
    parsed = parse_version(asked.version)
    if parsed is None or len(parsed.release) < 2:
        raise BadInput(f"{asked.version!r} is not a version", "Give the complete version, like 2.10.0 or 2.10.0rc1.")
    if asked.python is not None and not _PYTHON.fullmatch(asked.python):
        raise BadInput(f"{asked.python!r} is not a Python version", "Give a minor version, like 3.11.")
    catalogue = all_targets(checkout)
    frameworks = list(dict.fromkeys(target.framework for target in catalogue))
    if asked.framework not in frameworks:
        meant = did_you_mean(asked.framework, frameworks, most=1)
        raise BadInput(f"there is no framework {asked.framework!r}{meant}", f"Known: {', '.join(frameworks)}.")
    place = checkout.images / asked.framework / asked.version
    if place.exists():
        raise BadInput(f"{place} exists already", "Update its locks with 'portbench lock', or remove it.")
    versions = _versions(asked.framework, checkout)
    source = asked.source or _before(asked.version, versions)
    if source not in versions:
        raise BadInput(f"images/{asked.framework} has no version {source}", f"It has {', '.join(versions)}.")
    own = [target for target in catalogue if (target.framework, target.version) == (asked.framework, source)]
    # Devices that share the packages of another device come after that device.
    own.sort(key=lambda target: (target.packages != target.device, target.device))
    return {title(group).partition(f"{source}-")[2]: group[0] for group in by_image(own)}


def _versions(framework: str, checkout: Checkout) -> list[str]:
    """The versions of a framework, oldest first."""
    return list(dict.fromkeys(each.version for each in all_targets(checkout) if each.framework == framework))


def _before(version: str, versions: list[str]) -> str:
    older = [each for each in versions if Version(each) < Version(version)]
    return (older or versions[:1])[-1]


def _add_device(asked: NewVersion, pattern: Target, staged: Checkout) -> str:
    """Writes a device's files and creates its lock; returns its Python. Raises BadInput or EnvironmentFailed."""
    source = pattern.source
    python = asked.python or pattern.python
    if source is None:
        raise BadInput(f"version {pattern.version} has no {pattern.packages}.in to create a lock from")
    folder = staged.images / asked.framework / asked.version
    if pattern.dockerfile:
        text = dockerfile_for(pattern.dockerfile.read_text(), pattern.version, asked.version, pattern.python, python)
        (folder / pattern.dockerfile.name).write_text(text)
    if pattern.packages != pattern.device:
        return python
    wanted = requirements_for(source, asked.framework, pattern.version, asked.version)
    (folder / source.name).write_text(wanted.text)
    (folder / "python-version").write_text(f"{python}\n")
    locks = all_locks(staged, f"{asked.framework}/{asked.version}")
    (lock,) = (each for each in locks if each.source.name == source.name)
    try:
        regenerate([lock], staged, False, lambda *_: None)
    except EnvironmentFailed as failure:
        raise _clearer(failure, asked) from failure
    _check_pins(staged.root / lock.path, wanted.packages, asked)
    return python


def _clearer(failure: EnvironmentFailed, asked: NewVersion) -> PortbenchError:
    """The error with only its reason, on one line: the message names a lock that the user has never seen."""
    message = " ".join(str(failure).split())
    missing = re.search(r"there is no version of ([\w.-]+)(?:\[[^]]*\])?==([\w.]+)", message)
    if missing and missing[2] == asked.version:
        return BadInput(f"the package index has no {missing[1]} {asked.version}", "Check the version.")
    _, because, reason = message.partition("Because ")
    return EnvironmentFailed(because + reason or message)


def _check_pins(lock: Path, packages: tuple[str, ...], asked: NewVersion) -> None:
    text = lock.read_text()
    for package in packages:
        pinned = re.search(rf"^{re.escape(package)}==([^\s;]+)", text, re.MULTILINE)
        if pinned and pinned[1].partition("+")[0] != asked.version:
            # pip treats 2.8 and 2.8.0 alike. The folder has the name that the framework uses.
            raise BadInput(
                f"the package index calls this version {pinned[1]}",
                f"portbench add-version {asked.framework} {pinned[1]}",
            )


def _write_pythons(folder: Path, pythons: Mapping[str, str]) -> None:
    """Writes python-version for the Python of most devices, and <device>.python-version for the other devices."""
    usual = max(sorted(set(pythons.values())), key=list(pythons.values()).count)
    (folder / "python-version").write_text(f"{usual}\n")
    for device, python in pythons.items():
        if python != usual:
            (folder / f"{device}.python-version").write_text(f"{python}\n")


def _nothing_added(
    asked: NewVersion, source: str, failures: list[PortbenchError], skipped: Mapping[str, str], checkout: Checkout
) -> PortbenchError:
    if len(set(skipped.values())) == 1 and isinstance(failures[0], BadInput):
        return BadInput(f"{asked.framework} {asked.version} was not added: {failures[0]}", failures[0].remedy)
    reasons = "\n".join(f"  {device}: {reason}" for device, reason in skipped.items())
    others = ", ".join(each for each in _versions(asked.framework, checkout) if each != source)
    return EnvironmentFailed(
        f"{asked.framework} {asked.version} was not added: no device has packages that fit together like "
        f"those of {source}\n{reasons}",
        f"It may need another Python (--python X.Y) or the packages of another version (--from, one of: {others}).",
    )

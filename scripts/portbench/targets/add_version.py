"""Adds a version of a framework: a folder of images/ like that of another version, with locks of its own.

The folder is made elsewhere on the same disk and moved to its place when all its locks are there, so there is never
half of one. A device whose lock cannot be made is left out: not every version exists for every device.
"""

from __future__ import annotations

import difflib
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from portbench.errors import BadInput, EnvironmentFailed, PortbenchError, StorageFailed
from portbench.targets.catalog import Target, all_targets, by_image, title
from portbench.targets.lock import all_locks, remake
from portbench.targets.version_files import dockerfile_for, requirements_for
from portbench.util.repository import Checkout
from portbench.util.versions import Version, parse_version

_PYTHON = re.compile(r"3\.[0-9]+")


@dataclass(frozen=True)
class NewVersion:
    """What the user asks for."""

    framework: str
    version: str
    source: str | None = None
    """The version whose folder is the pattern; None: the newest below, or else the oldest there is."""
    python: str | None = None
    """The Python that all devices get; None: the pattern's."""


@dataclass(frozen=True)
class Added:
    """What came of it."""

    folder: Path
    source: str
    pythons: Mapping[str, str]
    """By device, of those that were made. All that share an image are one: tpu-v2 … tpu7x."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Why, by device."""
    kernels: str | None = None
    """The target whose GPU kernels have to be listed before the new version's gpu-predicted can run."""


def add_version(asked: NewVersion, checkout: Checkout, say: Callable[[str], None]) -> Added:
    """Makes images/<framework>/<version>/; ``say`` gets a line on what takes time.

    Raises BadInput (an unknown framework, a version that is malformed, is there already or does not exist),
    EnvironmentFailed (no lock could be made), StorageFailed. In every case images/ is as it was.
    """
    patterns = _patterns(asked, checkout)
    source = next(iter(patterns.values())).version
    place = checkout.images / asked.framework / asked.version
    pythons: dict[str, str] = {}
    left_out: dict[str, str] = {}
    failures: list[PortbenchError] = []
    try:
        with tempfile.TemporaryDirectory(prefix=".adding-", dir=checkout.images) as staging:
            staged = Checkout(Path(staging).resolve())
            folder = staged.images / asked.framework / asked.version
            folder.mkdir(parents=True)
            for devices, pattern in patterns.items():
                if pattern.packages in left_out:
                    left_out[devices] = left_out[pattern.packages]
                    continue
                if pattern.packages == devices:
                    say(f"locking {asked.framework}-{asked.version}-{devices}")
                try:
                    pythons[devices] = _add_device(asked, pattern, staged)
                except (BadInput, EnvironmentFailed) as failure:
                    failures.append(failure)
                    left_out[devices] = str(failure)
                    for path in folder.glob(f"{pattern.device}.*"):
                        path.unlink()
            if not pythons:
                raise _nothing(asked, source, failures, left_out, checkout)
            _write_pythons(folder, {patterns[devices].packages: python for devices, python in pythons.items()})
            folder.rename(place)
    except OSError as error:
        raise StorageFailed(f"cannot write {place}: {error.strerror}", "Nothing was added.") from error
    lists = checkout.root / "runners" / asked.framework / "kernels"
    lacking = "gpu-predicted" in pythons and lists.is_dir() and not (lists / f"{asked.version}.json").is_file()
    return Added(place, source, pythons, left_out, f"{asked.framework}-{asked.version}-gpu" if lacking else None)


def _patterns(asked: NewVersion, checkout: Checkout) -> dict[str, Target]:
    """One target of the version that is the pattern for each of its images, by device or devices."""
    parsed = parse_version(asked.version)
    if parsed is None or len(parsed.release) < 2:
        raise BadInput(f"{asked.version!r} is not a version", "Give the whole of it, like 2.10.0 or 2.10.0rc1.")
    if asked.python is not None and not _PYTHON.fullmatch(asked.python):
        raise BadInput(f"{asked.python!r} is not a Python", "Give it like 3.11.")
    catalogue = all_targets(checkout)
    frameworks = list(dict.fromkeys(target.framework for target in catalogue))
    if asked.framework not in frameworks:
        near = difflib.get_close_matches(asked.framework, frameworks, n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise BadInput(f"no framework is called {asked.framework!r}{meant}", f"Known: {', '.join(frameworks)}.")
    place = checkout.images / asked.framework / asked.version
    if place.exists():
        raise BadInput(f"{place} is there already", "'portbench lock' remakes its locks; remove it to begin anew.")
    versions = _versions(asked.framework, checkout)
    source = asked.source or _before(asked.version, versions)
    if source not in versions:
        raise BadInput(f"images/{asked.framework} holds no version {source}", f"It holds {', '.join(versions)}.")
    own = [target for target in catalogue if (target.framework, target.version) == (asked.framework, source)]
    # Those with another device's packages after it.
    own.sort(key=lambda target: (target.packages != target.device, target.device))
    return {title(group).partition(f"{source}-")[2]: group[0] for group in by_image(own)}


def _versions(framework: str, checkout: Checkout) -> list[str]:
    """Oldest first."""
    return list(dict.fromkeys(each.version for each in all_targets(checkout) if each.framework == framework))


def _before(version: str, versions: list[str]) -> str:
    older = [each for each in versions if Version(each) < Version(version)]
    return (older or versions[:1])[-1]


def _add_device(asked: NewVersion, pattern: Target, staged: Checkout) -> str:
    """Writes a device's files and makes its lock; returns its Python. Raises BadInput or EnvironmentFailed."""
    source = pattern.source
    python = asked.python or pattern.python
    if source is None:
        raise BadInput(f"version {pattern.version} has no {pattern.packages}.in to make a lock from")
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
        remake([lock], staged, False, lambda *_: None)
    except EnvironmentFailed as failure:
        raise _clearer(failure, asked) from failure
    _check_pins(staged.root / lock.path, wanted.packages, asked)
    return python


def _clearer(failure: EnvironmentFailed, asked: NewVersion) -> PortbenchError:
    """The reason alone, in one line: the user has never seen the lock that the message speaks of."""
    said = " ".join(str(failure).split())
    missing = re.search(r"there is no version of ([\w.-]+)(?:\[[^]]*\])?==([\w.]+)", said)
    if missing and missing[2] == asked.version:
        return BadInput(f"the package index has no {missing[1]} {asked.version}", "Check the version.")
    _, because, reason = said.partition("Because ")
    return EnvironmentFailed(because + reason or said)


def _check_pins(lock: Path, packages: tuple[str, ...], asked: NewVersion) -> None:
    text = lock.read_text()
    for package in packages:
        pinned = re.search(rf"^{re.escape(package)}==([^\s;]+)", text, re.MULTILINE)
        if pinned and pinned[1].partition("+")[0] != asked.version:
            # To pip 2.8 and 2.8.0 are the same; a folder's name is what the framework calls itself.
            raise BadInput(
                f"the package index calls this version {pinned[1]}",
                f"portbench add-version {asked.framework} {pinned[1]}",
            )


def _write_pythons(folder: Path, pythons: Mapping[str, str]) -> None:
    """python-version is what most devices need; the others have a file of their own."""
    usual = max(sorted(set(pythons.values())), key=list(pythons.values()).count)
    (folder / "python-version").write_text(f"{usual}\n")
    for device, python in pythons.items():
        if python != usual:
            (folder / f"{device}.python-version").write_text(f"{python}\n")


def _nothing(
    asked: NewVersion, source: str, failures: list[PortbenchError], left_out: Mapping[str, str], checkout: Checkout
) -> PortbenchError:
    if len(set(left_out.values())) == 1 and isinstance(failures[0], BadInput):
        return BadInput(f"{asked.framework} {asked.version} was not added: {failures[0]}", failures[0].remedy)
    reasons = "\n".join(f"  {device}: {reason}" for device, reason in left_out.items())
    others = ", ".join(each for each in _versions(asked.framework, checkout) if each != source)
    return EnvironmentFailed(
        f"{asked.framework} {asked.version} was not added: no device's packages fit together like those of {source}\n"
        f"{reasons}",
        f"It may need another Python (--python X.Y) or the packages of another version (--from, one of: {others}).",
    )

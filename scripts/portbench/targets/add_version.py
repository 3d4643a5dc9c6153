"""Adds a version of a framework: copies the folder of another version in images/ and creates new locks.

The folder is created in a temporary place on the same disk and moved when it is complete, so that images/ never has an
incomplete one. A device whose lock cannot be created is skipped: not every version exists for every device.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path

from portbench.errors import BadInput, EnvironmentFailed, PortbenchError, StorageFailed
from portbench.targets.catalog import Target, all_targets, by_image, title
from portbench.targets.dockerfiles import create_latest, dockerfile
from portbench.targets.lock import Unreached, all_locks, regenerate
from portbench.targets.version_files import requirements_for, setup_for
from portbench.util.repository import Checkout
from portbench.util.text import did_you_mean
from portbench.util.versions import Version, parse_version

_PYTHON = re.compile(r"3\.[0-9]+")


class NoNetwork(EnvironmentFailed):
    """The package index cannot be reached, so that no device can be locked."""


@dataclass(frozen=True)
class NewVersion:
    """The version to add."""

    framework: str
    version: str
    source: str | None = None
    """The version to copy. None: for each device, the nearest version that has it."""
    python: str | None = None
    """The Python of all devices. None: that of the version that a device is copied from."""
    devices: tuple[str, ...] = ()
    """The devices to add, of those that there are. Empty: all."""
    released_by: str | None = None
    """A date (2024-01-31): no package is newer. None: the newest packages that fit."""


@dataclass(frozen=True)
class Added:
    """The result of ``add_version``."""

    folder: Path
    sources: Mapping[str, str]
    """The version that was copied, by device, for each device that was added."""
    pythons: Mapping[str, str]
    """By device, for each device that was added. Devices that share an image are one: tpu-v2 … tpu7x."""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """The reason, by device, for each device that was not added."""
    kernels: str | None = None
    """The target to list the GPU kernels of, without which the new version's gpu-predicted cannot run."""


def add_version(asked: NewVersion, checkout: Checkout, say: Callable[[str], None]) -> Added:
    """Creates images/<framework>/<version>/, and images/<framework>/latest/ again. ``say`` gets a line for each slow
    step.

    Raises BadInput (an unknown framework; a version that is malformed, exists already or is not in the package index),
    EnvironmentFailed (no network; no lock could be created), StorageFailed. After an error images/ is unchanged.
    """
    patterns = _patterns(asked, checkout)
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
                    pythons[devices] = _add_device(asked, pattern, checkout, staged)
                except NoNetwork:
                    raise
                except (BadInput, EnvironmentFailed) as failure:
                    failures.append(failure)
                    skipped[devices] = str(failure)
                    for path in folder.glob(f"{pattern.device}.*"):
                        path.unlink()
            if not pythons:
                raise _nothing_added(asked, patterns, failures, skipped, checkout)
            _write_pythons(folder, {patterns[devices].packages: python for devices, python in pythons.items()})
            folder.rename(place)
            create_latest(checkout)
    except OSError as error:
        raise StorageFailed(f"cannot write {place}: {error.strerror}", "Nothing was added.") from error
    lists = checkout.root / "runners" / asked.framework / "kernels"
    needs_kernels = "gpu-predicted" in pythons and lists.is_dir() and not (lists / f"{asked.version}.json").is_file()
    sources = {devices: patterns[devices].version for devices in pythons}
    return Added(place, sources, pythons, skipped, f"{asked.framework}-{asked.version}-gpu" if needs_kernels else None)


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
    if asked.source is not None and asked.source not in versions:
        raise BadInput(f"images/{asked.framework} has no version {asked.source}", f"It has {', '.join(versions)}.")
    own = [
        target
        for version in ([asked.source] if asked.source else _nearest_first(asked.version, versions))
        for target in catalogue
        if (target.framework, target.version) == (asked.framework, version)
    ]
    patterns: dict[str, Target] = {}
    for group in by_image(own):
        if group[0].dockerfile is None and group[0].packages != group[0].device:
            continue  # it needs no file: VENDOR_DEVICES
        if asked.devices and not any(target.device in asked.devices for target in group):
            continue
        patterns.setdefault(title(group).partition(f"{group[0].version}-")[2], group[0])
    # Devices that share the packages of another device come after that device.
    return dict(sorted(patterns.items(), key=lambda item: (item[1].packages != item[1].device, item[1].device)))


def _versions(framework: str, checkout: Checkout) -> list[str]:
    """The versions of a framework, oldest first."""
    return list(dict.fromkeys(each.version for each in all_targets(checkout) if each.framework == framework))


def _nearest_first(version: str, versions: list[str]) -> list[str]:
    """The nearest version, the older one of two, and after it those that are as near in their first number."""
    asked = Version(version)

    def distance(other: str) -> tuple[tuple[int, ...], bool]:
        numbers = zip_longest(asked.release, Version(other).release, fillvalue=0)
        return tuple(abs(mine - its) for mine, its in numbers), Version(other) > asked

    ordered = sorted(versions, key=distance)
    return [each for each in ordered if distance(each)[0][0] == distance(ordered[0])[0][0]]


def _add_device(asked: NewVersion, pattern: Target, checkout: Checkout, staged: Checkout) -> str:
    """Writes a device's files and creates its lock; returns its Python. Raises BadInput or EnvironmentFailed."""
    source = pattern.source
    python = asked.python or pattern.python
    if source is None:
        raise BadInput(f"version {pattern.version} has no {pattern.packages}.in to create a lock from")
    folder = staged.images / asked.framework / asked.version
    if pattern.dockerfile:
        own = pattern.dockerfile.with_suffix(".setup")
        setup = own.read_text() if own.is_file() else ""
        setup = setup_for(setup, pattern.version, asked.version, pattern.python, python)
        if setup:
            (folder / own.name).write_text(setup)
        own_lock = folder / f"{pattern.packages}.lock"
        target = replace(pattern, version=asked.version, python=python, lock=own_lock)
        (folder / pattern.dockerfile.name).write_text(dockerfile(target, checkout, setup))
        devices = pattern.dockerfile.with_suffix(".devices")
        if devices.is_file():
            (folder / devices.name).write_text(devices.read_text())
    if pattern.packages != (pattern.dockerfile.stem if pattern.dockerfile else pattern.device):
        return python
    wanted = requirements_for(source, asked.framework, pattern.version, asked.version)
    (folder / source.name).write_text(wanted.text)
    (folder / "python-version").write_text(f"{python}\n")
    locks = all_locks(staged, f"{asked.framework}/{asked.version}")
    (lock,) = (each for each in locks if each.source.name == source.name)
    try:
        no_newer = ("--exclude-newer", asked.released_by) if asked.released_by else ()
        regenerate([replace(lock, arguments=(*lock.arguments, *no_newer))], staged, False, lambda *_: None)
    except Unreached as failure:
        if failure.address.startswith(tuple(re.findall(r"https?://\S+", wanted.text))):
            raise
        raise NoNetwork(
            f"{asked.framework} {asked.version} was not added: no network: {failure.address} cannot be reached: "
            f"{failure.reason}",
            "Check the network. uv reads UV_INDEX_URL, HTTPS_PROXY and SSL_CERT_FILE. Then try again.",
        ) from failure
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
    asked: NewVersion,
    patterns: Mapping[str, Target],
    failures: list[PortbenchError],
    skipped: Mapping[str, str],
    checkout: Checkout,
) -> PortbenchError:
    if len(set(skipped.values())) == 1 and isinstance(failures[0], BadInput):
        return BadInput(f"{asked.framework} {asked.version} was not added: {failures[0]}", failures[0].remedy)
    reasons = "\n".join(f"  {', '.join(devices)}: {reason}" for reason, devices in by_reason(skipped).items())
    tried = sorted({pattern.version for pattern in patterns.values()}, key=Version)
    others = ", ".join(each for each in _versions(asked.framework, checkout) if each not in tried)
    another = f" or the packages of another version (--from, one of: {others})" if others else ""
    return EnvironmentFailed(
        f"{asked.framework} {asked.version} was not added: no device has packages that fit together like "
        f"those of {', '.join(tried)}\n{reasons}",
        f"It may need another Python (--python X.Y){another}.",
    )


def by_reason(skipped: Mapping[str, str]) -> dict[str, list[str]]:
    """The devices by the reason for which they were skipped, so that each reason is given once."""
    found: dict[str, list[str]] = {}
    for devices, reason in skipped.items():
        found.setdefault(reason, []).append(devices)
    return found

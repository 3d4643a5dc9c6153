"""The releases of a framework in the package index, and those that a user's words mean.

The index must answer in JSON (PEP 691) with the time of each upload (PEP 700), as pypi.org does.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from portbench.errors import BadInput, EnvironmentFailed
from portbench.util.text import did_you_mean
from portbench.util.versions import Version, parse_version

Fetch = Callable[[str], Any]
"""Returns the JSON document at an address. Raises EnvironmentFailed."""

_JSON = "application/vnd.pypi.simple.v1+json"
_TIMEOUT_S = 60
_WHEEL = re.compile(r"[^-]+-(?P<version>[^-]+)(?:-\d[^-]*)?-(?P<python>[^-]+)-(?P<abi>[^-]+)-(?P<platform>[^-]+)\.whl")
_PYTHONS = tuple(f"3.{minor}" for minor in range(8, 15))
_PREFIX = re.compile(r"\d+(?:\.\d+)*")


@dataclass(frozen=True)
class Wheel:
    """A file of a release."""

    name: str
    sha256: str
    python: str
    """The Python that it is for: "3.11"."""


@dataclass(frozen=True)
class Release:
    """A version with wheels for x86-64 Linux. ``date``: of the last upload of its first day, such as 2024-01-31.
    ``pythons``: those with wheels of all packages. ``wheels``: those of the first package."""

    version: str
    date: str
    pythons: tuple[str, ...]
    wheels: tuple[Wheel, ...]

    def python(self, preferred: str, is_here: Callable[[str], bool] = lambda _: True) -> str | None:
        """The Python that is nearest to the preferred one, of those on this machine, or else of all; None without."""

        def distance(each: str) -> int:
            return abs(int(each.split(".")[1]) - int(preferred.split(".")[1]))

        nearest = sorted(self.pythons, key=distance)
        return next(filter(is_here, nearest), nearest[0] if nearest else None)


def list_releases(packages: Sequence[str], fetch: Fetch | None = None) -> dict[str, Release]:
    """The final releases that all of the packages have, oldest first. Raises EnvironmentFailed."""
    found = [_releases(package, fetch or fetch_json) for package in packages]
    shared = set(found[0]).intersection(*found[1:])
    merged = {}
    for version in sorted(shared, key=Version):
        each = [releases[version] for releases in found]
        pythons = tuple(python for python in _PYTHONS if all(python in one.pythons for one in each))
        if pythons:
            merged[version] = Release(version, max(one.date for one in each), pythons, each[0].wheels)
    return merged


def fetch_json(address: str) -> Any:
    """As ``Fetch``, by HTTP."""
    request = urllib.request.Request(address, headers={"Accept": _JSON})
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise EnvironmentFailed(f"{address}: the package index answers with status {error.code}") from error
    except json.JSONDecodeError as error:
        raise EnvironmentFailed(
            f"{address}: expected JSON (PEP 691), found something else",
            "Name the versions, separated by commas, instead of a range: --versions 2.0.1,2.4.1",
        ) from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise EnvironmentFailed(
            f"{address} cannot be read: {getattr(error, 'reason', error)}",
            "Check the network. uv reads UV_INDEX_URL, HTTPS_PROXY and SSL_CERT_FILE. Then try again.",
        ) from error


def choose(words: str, known: Iterable[str], pinned: Sequence[str]) -> list[str]:
    """The versions that the words mean, oldest first: ``1.12..2.15``, ``2.0.1,2.4``.

    A range has one release of each minor version: the one that the range names in full, the one that images/ pins
    (``pinned``), or the latest. A single word means the same of its minor version, or the very version that it names.
    Raises BadInput for words that are not versions, and where a word means no known version.
    """
    every = sorted({*known, *pinned}, key=Version)
    chosen: set[str] = set()
    for word in filter(None, (each.strip() for each in words.split(","))):
        low, dots, high = word.partition("..")
        ends = (low, high if dots else low)
        for end in ends:
            if not _PREFIX.fullmatch(end):
                raise BadInput(f"--versions {words}: {end!r} is not a version", "Give 1.12..2.15, or 2.0,2.4.1.")
        inside = [version for version in every if _is_between(version, *ends)]
        found = {word} if word in every else _one_of_each_minor(inside, ends, pinned)
        if not found:
            newest = f"; the newest is {every[-1]}" if every else ""
            raise BadInput(f"--versions {words}: no release with wheels for x86-64 Linux is {word}{newest}")
        chosen |= found
    if not chosen:
        raise BadInput("--versions names no version", "Give 1.12..2.15, or 2.0,2.4.1.")
    return sorted(chosen, key=Version)


def every_release(one: str, other: str, known: Iterable[str], pinned: Sequence[str]) -> list[str]:
    """All known releases from one version to another, oldest first. Raises BadInput if one of the two is no release."""
    every = sorted({*known, *pinned}, key=Version)
    for version in (one, other):
        if version not in every:
            raise BadInput(f"there is no release {version} with wheels for x86-64 Linux{did_you_mean(version, every)}")
    low, high = sorted((one, other), key=Version)
    return [version for version in every if Version(low) <= Version(version) <= Version(high)]


def _one_of_each_minor(versions: Sequence[str], named: Sequence[str], pinned: Sequence[str]) -> set[str]:
    chosen: dict[tuple[int, ...], str] = {}
    for version in versions:  # oldest first
        minor = Version(version).release[:2]
        kept = chosen.get(minor)
        if kept is None or (kept not in named and (version in named or kept not in pinned or version in pinned)):
            chosen[minor] = version
    return set(chosen.values())


def _is_between(version: str, low: str, high: str) -> bool:
    release, first, last = Version(version).release, Version(low).release, Version(high).release
    return release[: len(first)] >= first and release[: len(last)] <= last


def _releases(package: str, fetch: Fetch) -> dict[str, Release]:
    files: dict[str, list[Mapping[str, Any]]] = {}
    document = fetch(f"{_index()}/{re.sub(r'[-_.]+', '-', package).lower()}/")
    for file in document.get("files", ()) if isinstance(document, dict) else ():
        found = _WHEEL.fullmatch(str(file.get("filename", "")))
        parsed = parse_version(found["version"]) if found else None
        if found is None or parsed is None or parsed.is_prerelease or parsed.is_postrelease or file.get("yanked"):
            continue
        if found["platform"] == "any" or ("linux" in found["platform"] and found["platform"].endswith("x86_64")):
            files.setdefault(found["version"], []).append({**file, **found.groupdict()})
    return {version: _release(version, each) for version, each in files.items()}


def _release(version: str, files: Sequence[Mapping[str, Any]]) -> Release:
    dates = sorted(str(file.get("upload-time", ""))[:10] for file in files)
    wheels = [
        Wheel(str(file["filename"]), str(file.get("hashes", {}).get("sha256", "")), python)
        for file in files
        for python in _pythons(str(file["python"]), str(file["abi"]), str(file.get("requires-python") or ""))
    ]
    pythons = tuple(python for python in _PYTHONS if any(wheel.python == python for wheel in wheels))
    return Release(version, dates[0], pythons, tuple(wheels))


def _pythons(python: str, abi: str, requires: str) -> list[str]:
    """The Pythons that a wheel is for, by its tags. A free-threaded build is none of them."""
    if "py3" in python.split("."):
        from packaging.specifiers import InvalidSpecifier, SpecifierSet

        try:
            return [each for each in _PYTHONS if SpecifierSet(requires).contains(f"{each}.99")]
        except InvalidSpecifier:
            return list(_PYTHONS)
    found = re.fullmatch(r"cp3(\d+)", python)
    return [f"3.{found[1]}"] if found and not re.fullmatch(r"cp\d+t", abi) else []


def _index() -> str:
    named = os.environ.get("UV_DEFAULT_INDEX") or os.environ.get("UV_INDEX_URL") or "https://pypi.org/simple"
    return named.rsplit("=", 1)[-1].rstrip("/")

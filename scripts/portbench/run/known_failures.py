"""Known failures by framework, device and version (schema/expected.schema.json), and how a run differs from them.

expected/<framework>-<device>.json beside the manifest lists them. A failure is new if it is not listed there, or is
listed with another category. A listed test that passes in every run is an unexpected pass. A skipped test counts as
neither, unless its function is not in the version: that is a failure of category removed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from portbench.errors import BadInput
from portbench.formats.documents import Document, files_below, read_document
from portbench.formats.upgrade import RENAMED_CATEGORIES
from portbench.run.model import RunPlan
from portbench.util.repository import Checkout
from portbench.util.strict_json import shown

Data = Mapping[str, Any]


def matches_test(test: str, glob: str) -> bool:
    """Whether the id of a test matches. Its brackets enclose values of its grid: they are no set of characters."""
    return fnmatchcase(test, glob.replace("[", "[[]"))


@dataclass(frozen=True)
class KnownFailure:
    """One entry of the file. ``function`` and ``test`` are names or globs."""

    function: str
    test: str
    category: str
    reason: str
    link: str = ""

    def matches(self, function: str, test: str) -> bool:
        """Whether this test is one of the entry's."""
        return fnmatchcase(function, self.function) and matches_test(test, self.test)


@dataclass(frozen=True)
class KnownFailures:
    """The known failures of a framework on a device. ``versions`` is empty where there is no file ``path``."""

    path: Path
    versions: Mapping[str, Sequence[KnownFailure]]


@dataclass(frozen=True)
class NewFailure:
    """A test that failed and is not listed with this category. ``known``: the categories that it is listed with.

    ``runs`` counts the runs in which it failed so.
    """

    function: str
    test: str
    category: str
    message: str
    runs: int
    known: tuple[str, ...]


@dataclass(frozen=True)
class UnexpectedPass:
    """A listed test that passed."""

    function: str
    test: str
    known: KnownFailure


@dataclass(frozen=True)
class Check:
    """How a run differs from the known failures. ``as_known`` counts the tests that failed as listed.

    ``unmatched``: entries that match no test. Empty unless the run was of the whole manifest.
    """

    path: Path
    version: str
    is_stated: bool
    """Whether the file lists this version."""
    as_known: int
    new: tuple[NewFailure, ...]
    passing: tuple[UnexpectedPass, ...]
    unmatched: tuple[KnownFailure, ...]

    @property
    def is_clean(self) -> bool:
        """No new failure, no unexpected pass, no unmatched entry."""
        return not (self.new or self.passing or self.unmatched)


def known_failures_of(plan: RunPlan) -> dict[str, KnownFailures]:
    """The known failures of each target of a plan, by the target's name. Raises BadInput for an invalid file."""
    found = {}
    for target in plan.targets:
        manifest = plan.arguments[target.framework].manifest
        path = manifest.parent / "expected" / f"{target.service}.json"
        found[target.name] = read_known_failures(path, manifest, target.framework, target.device)
    return found


def read_known_failures(path: Path, manifest: Path, framework: str, device: str) -> KnownFailures:
    """Reads the known failures of a framework on a device; none where there is no such file. Raises BadInput."""
    if not path.exists():
        return KnownFailures(path, {})
    data = read_document(path, "expected").data
    wanted = {
        "manifest": read_document(manifest, "manifest").data["name"],
        "framework": framework,
        "device": device,
    }
    for key, value in wanted.items():
        if data[key] != value:
            raise BadInput(
                f"{shown(path)}: $.{key}: found {json.dumps(data[key])}, expected {json.dumps(value)}",
                "A file of known failures belongs to one manifest, framework and device.",
            )
    return KnownFailures(path, _by_version(data))


def _by_version(data: Data) -> dict[str, list[KnownFailure]]:
    return {version: [_known(entry) for entry in entries] for version, entries in data["versions"].items()}


def _known(entry: Data) -> KnownFailure:
    return KnownFailure(**{**entry, "category": RENAMED_CATEGORIES.get(entry["category"], entry["category"])})


def find_known_failures(run: Data, checkout: Checkout) -> KnownFailures:
    """The known failures in this clone for the target and manifest of a run file, which may be of any machine."""
    wanted = (run["manifest"]["name"], run["target"]["framework"], run["target"]["device"])
    for path in sorted(checkout.manifests.glob("*/expected/*.json")):
        data = read_document(path, "expected").data
        if (data["manifest"], data["framework"], data["device"]) == wanted:
            return KnownFailures(path, _by_version(data))
    return KnownFailures(checkout.manifests, {})


def run_files(paths: Iterable[Path]) -> Iterator[Document]:
    """Reads the given run files, and those in the given folders. Raises BadInput for a file that is no run file."""
    for path in paths:
        if not path.is_dir():
            yield read_document(path, "run")
            continue
        found = [document for document in map(read_document, files_below(path, (".json",))) if document.kind == "run"]
        if not found:
            raise BadInput(f"{shown(path)}: no run file in this folder", "Give the folder that holds them.")
        yield from found


def check_run(run: Data, expected: KnownFailures) -> Check:
    """Compares the failures in a run file with the known failures of its version."""
    version = run["target"]["version"]
    known = expected.versions.get(version, ())
    results: dict[tuple[str, str], list[Data]] = {}
    for result in run["results"]:
        results.setdefault((result["function"], result["test"]), []).append(result)
    new, passing, as_known = [], [], 0
    for (function, test), runs in results.items():
        entries = [entry for entry in known if entry.matches(function, test)]
        categories = tuple(entry.category for entry in entries)
        failed = [result for result in runs if _failed(result)]
        unknown = [result for result in failed if result["category"] not in categories]
        if unknown:
            first = unknown[0]
            message = (first["error"] or {}).get("message") or first["reason"] or ""
            new.append(
                NewFailure(function, test, first["category"] or first["outcome"], message, len(unknown), categories)
            )
        elif failed:
            as_known += 1
        elif entries and any(result["outcome"] == "passed" for result in runs):
            passing.append(UnexpectedPass(function, test, entries[0]))
    return Check(
        path=expected.path,
        version=version,
        is_stated=version in expected.versions,
        as_known=as_known,
        new=tuple(new),
        passing=tuple(passing),
        unmatched=()
        if run["manifest"]["selection"]
        else tuple(entry for entry in known if not any(entry.matches(*key) for key in results)),
    )


def _failed(result: Data) -> bool:
    return result["outcome"] not in ("passed", "skipped") or result["category"] == "removed"

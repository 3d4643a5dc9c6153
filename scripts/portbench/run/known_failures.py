"""Failures that are known, by framework, device and version (schema/expected.schema.json), held against a run.

They stand in expected/<framework>-<device>.json beside the manifest. A failure that is not listed there, or is listed
with another category, is new; a test that is listed and passed in every run is known no more. A test that was skipped
says nothing, unless its function is not in the version: that is a failure of category unavailable.
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
from portbench.run.execute import RunPlan
from portbench.util.repository import Checkout
from portbench.util.strict_json import shown

Data = Mapping[str, Any]


@dataclass(frozen=True)
class Known:
    """A failure that is known. ``function`` and ``test`` are names or globs."""

    function: str
    test: str
    category: str
    reason: str
    link: str = ""

    def matches(self, function: str, test: str) -> bool:
        """Whether it speaks of this test."""
        # The brackets of an id hold its grid's values, so they are no set of characters here.
        return fnmatchcase(function, self.function) and fnmatchcase(test, self.test.replace("[", "[[]"))


@dataclass(frozen=True)
class Expectations:
    """What is known of a framework on a device; ``versions`` is empty where the file ``path`` is not there."""

    path: Path
    versions: Mapping[str, Sequence[Known]]


@dataclass(frozen=True)
class NewFailure:
    """A test that failed in a way that is not known. ``known``: the categories that it was known to fail with."""

    function: str
    test: str
    category: str
    message: str
    runs: int
    known: tuple[str, ...]


@dataclass(frozen=True)
class UnexpectedPass:
    """A test that passed although it is known to fail."""

    function: str
    test: str
    known: Known


@dataclass(frozen=True)
class Check:
    """A run held against what is known. ``as_known`` counts the tests that failed as they are known to.

    ``unmatched``: what is listed and speaks of no test of the run, which was of the whole manifest.
    """

    path: Path
    version: str
    is_stated: bool
    """Whether the file says anything of this version."""
    as_known: int
    new: tuple[NewFailure, ...]
    passing: tuple[UnexpectedPass, ...]
    unmatched: tuple[Known, ...]

    @property
    def is_clean(self) -> bool:
        """Nothing new, and nothing listed that is not so."""
        return not (self.new or self.passing or self.unmatched)


def expectations_of(plan: RunPlan) -> dict[str, Expectations]:
    """What is known of each target of a plan, by its name. Raises BadInput for a file that is not what it should be."""
    found = {}
    for target in plan.targets:
        manifest = plan.arguments[target.framework].manifest
        path = manifest.parent / "expected" / f"{target.service}.json"
        found[target.name] = read_expectations(path, manifest, target.framework, target.device)
    return found


def read_expectations(path: Path, manifest: Path, framework: str, device: str) -> Expectations:
    """Reads the known failures of a framework on a device, none where there is no such file. Raises BadInput."""
    if not path.exists():
        return Expectations(path, {})
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
                "A file of known failures is of one manifest, framework and device.",
            )
    return Expectations(path, _by_version(data))


def _by_version(data: Data) -> dict[str, list[Known]]:
    return {version: [Known(**entry) for entry in entries] for version, entries in data["versions"].items()}


def find_expectations(run: Data, checkout: Checkout) -> Expectations:
    """What the clone's manifests say of the target and the manifest of a run file, whatever machine it is of."""
    wanted = (run["manifest"]["name"], run["target"]["framework"], run["target"]["device"])
    for path in sorted(checkout.manifests.glob("*/expected/*.json")):
        data = read_document(path, "expected").data
        if (data["manifest"], data["framework"], data["device"]) == wanted:
            return Expectations(path, _by_version(data))
    return Expectations(checkout.manifests, {})


def run_files(paths: Iterable[Path]) -> Iterator[Document]:
    """The run files that are given, and those of the folders. Raises BadInput for what is none."""
    for path in paths:
        if not path.is_dir():
            yield read_document(path, "run")
            continue
        found = [document for document in map(read_document, files_below(path, (".json",))) if document.kind == "run"]
        if not found:
            raise BadInput(f"{shown(path)}: no run file in this folder", "Give the folder that holds them.")
        yield from found


def check_run(run: Data, expected: Expectations) -> Check:
    """Holds a run file against what is known of the version that it is of."""
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
            new.append(NewFailure(function, test, first["category"], message, len(unknown), categories))
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
    return result["outcome"] not in ("passed", "skipped") or result["category"] == "unavailable"

"""Reads a manifest: checks it, expands its tests, selects functions and tests."""

from __future__ import annotations

import difflib
import hashlib
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Collection, Iterator, Mapping, Sequence

from runners.core import documents
from runners.core.errors import BadInput
from runners.core.manifest_grids import SAMPLED, Test, expanded_tests
from runners.core.programs import check_files
from runners.core.selection import ALL, Selection

NEWEST = 7
"""The newest version of the manifest's format that can be read."""
_OWN = Path(__file__).resolve().parents[2] / "manifests"


@dataclass(frozen=True)
class Manifest:
    """A manifest with its selected tests."""

    path: Path
    name: str
    framework: str
    written_for: str | None
    sha256: str
    tests: tuple[Test, ...]
    successors: Mapping[str, tuple[str, ...]]
    """What to try instead of a function that a version lacks, the first choice first."""
    places: Mapping[str, str]
    """The JSON path of the first place of each name of a function, successor, attribute, case, reference or
    property."""
    listed: Sequence[Mapping[str, Any]]
    """All its functions, selected or not, with the number of their tests and their strata, as a run file holds them."""

    uncurated: Sequence[str] = ()
    """The selected functions that have no test yet."""

    is_own: bool = False
    """Whether the file is the same, byte for byte, as one in this repository's ``manifests/``."""

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions of the selected tests, each once."""
        return tuple(dict.fromkeys(test.function for test in self.tests))

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of samples of the selected tests, each once (see runners.core.testing.samples)."""
        sampled = (test.parameters["source"] for test in self.tests if test.case.endswith(SAMPLED))
        return tuple(dict.fromkeys(map(str, sampled)))


def read(path: Path, framework: str, selection: Selection = ALL, protocol: str = "both") -> Manifest:
    """Reads, checks and expands a manifest, in the order of the file: its tests with sizes for the protocol scaling,
    the others for every other protocol.

    Raises BadInput, which names the file, the place in it and what was expected.
    """
    try:
        content = path.read_bytes()
        document = documents.parse(content)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}", "Give the path of a manifest.") from error
    except ValueError as error:
        raise BadInput(f"{path}: not valid JSON: {error}", "Fix the file.") from error
    _check_format(path, document)
    checker = documents.checker("manifest")
    mistake = documents.first_mistake(checker, document)
    if mistake:
        raise BadInput(f"{path}: {mistake}", "schema/manifest.schema.json describes the format.")
    if document["framework"] != framework:
        raise BadInput(
            f"{path}: $.framework: the manifest is for {document['framework']}, the target is {framework}",
            f"Give a manifest for {framework}.",
        )
    tests = _of_protocol(path, list(expanded_tests(path, document, checker)), protocol)
    uncurated = [
        entry["function"]
        for entry in document["functions"]
        if not entry["tests"] and selection.has_function(entry["function"])
    ]
    if uncurated and not any(selection.has_function(test.function) for test in tests):
        raise BadInput(
            f"{path}: $.functions: none of its {len(uncurated)} selected functions has a test yet, expected one test",
            "Write tests for them: manifests/README.md says how.",
        )
    chosen = _chosen(path, tests, selection)
    check_files(path, chosen)
    return Manifest(
        path=path,
        name=document["name"],
        framework=framework,
        written_for=document.get("written_for"),
        sha256=hashlib.sha256(content).hexdigest(),
        tests=tuple(chosen),
        successors=_successors(path, document, {test.function for test in chosen}),
        places=_places(document),
        listed=_listed(document, Counter(test.function for test in tests)),
        uncurated=uncurated,
        is_own=_is_own(content),
    )


def _of_protocol(path: Path, tests: Sequence[Test], protocol: str) -> list[Test]:
    chosen = [test for test in tests if (test.size is not None) == (protocol == "scaling")]
    if tests and not chosen:
        if protocol == "scaling":
            message, remedy = "has no test with sizes", "Give one that has, such as scaling, or another --protocol."
        else:
            message, remedy = "has only tests with sizes", "They run with --protocol scaling."
        raise BadInput(f"{path}: $.functions: the manifest {message}", remedy)
    return chosen


def _is_own(content: bytes) -> bool:
    try:
        paths = [path for path in _OWN.rglob("*.json") if path.stat().st_size == len(content)]
        return any(path.read_bytes() == content for path in paths)
    except OSError:
        # There is no such folder, or a file in it cannot be read: what is not known is not trusted.
        return False


def attributes(value: Any) -> Iterator[str]:
    """The names of the framework that arguments are taken from: ``{"attribute": "torch.strided"}``."""
    if isinstance(value, dict):
        if isinstance(value.get("attribute"), str):
            yield value["attribute"]
        for item in value.values():
            yield from attributes(item)
    elif isinstance(value, list):
        for item in value:
            yield from attributes(item)


def _listed(document: Mapping[str, Any], tests: Mapping[str, int]) -> list[dict[str, Any]]:
    strata = {entry["function"]: entry.get("stratum", {}) for entry in document["functions"]}
    return [
        {
            "name": name,
            "tests": tests[name],
            **{fact: stratum.get(fact) for fact in ("decile", "uses", "top20", "listed_as")},
        }
        for name, stratum in strata.items()
    ]


def _chosen(path: Path, tests: Sequence[Test], selection: Selection) -> list[Test]:
    functions = [test for test in tests if selection.has_function(test.function)]
    if not functions:
        _check_excluded(path, tests, selection)
        meant = _did_you_mean(selection.functions, {test.function for test in tests})
        raise BadInput(
            f"{path}: no function matches {', '.join(selection.functions)}{meant}",
            "Globs match whole names: '*linalg*', 'torch.cat'.",
        )
    chosen = [test for test in functions if selection.has_test(test.id, test.full_id)]
    if not chosen:
        meant = _did_you_mean(selection.tests, {test.id for test in functions})
        raise BadInput(
            f"{path}: no test of the selected functions matches {', '.join(selection.tests)}{meant}",
            "Give the id of a test, such as 'rows[dtype=float32]' or 'torch.cat::rows[dtype=float32]', or a glob, such "
            "as 'rows[*]'.",
        )
    part = [test for test in chosen if selection.has_in_shard(test.full_id)]
    if not part and selection.shard:
        of_shard = "/".join(map(str, selection.shard))
        raise BadInput(
            f"{path}: --shard {of_shard}: none of the {len(chosen)} selected tests is in this shard",
            "Use fewer shards.",
        )
    return part


def _did_you_mean(globs: Sequence[str], known: Collection[str]) -> str:
    names = sorted(known)
    # The id of a test that has a grid, without the grid's values.
    near = [name for name in names if name.startswith(f"{globs[0]}[")][:3]
    names += sorted({name.split("[")[0] + "[*]" for name in names if "[" in name})
    near = near or difflib.get_close_matches(globs[0], names, 3, 0.8) or difflib.get_close_matches(globs[0], names, 3)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def _check_excluded(path: Path, tests: Sequence[Test], selection: Selection) -> None:
    without = replace(selection, excluded=())
    if selection.excluded and any(without.has_function(test.function) for test in tests):
        raise BadInput(
            f"{path}: --exclude {' --exclude '.join(selection.excluded)} leaves no function",
            "Exclude fewer. To list what runs, add --dry-run.",
        )


def _places(document: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for f, entry in enumerate(document["functions"]):
        where = f"$.functions[{f}]"
        found.setdefault(entry["function"], f"{where}.function")
        for s, name in enumerate(entry.get("successors", ())):
            found.setdefault(name, f"{where}.successors[{s}]")
        for t, test in enumerate(entry["tests"]):
            found.setdefault(test["case"], f"{where}.tests[{t}].case")
            for name in attributes(test):
                found.setdefault(name, f"{where}.tests[{t}]")
            for key in ("numpy", "scipy", "property"):
                if key in test.get("expect", ()):
                    found.setdefault(test["expect"][key], f"{where}.tests[{t}].expect.{key}")
    return found


def _successors(path: Path, document: Mapping[str, Any], chosen: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The successors of the selected functions. Raises BadInput for a duplicate name, because two results could have
    the same function and test."""
    functions = {entry["function"] for entry in document["functions"]}
    found: dict[str, tuple[str, ...]] = {}
    for f, entry in enumerate(document["functions"]):
        for s, name in enumerate(entry.get("successors", ())):
            if name in functions:
                raise BadInput(
                    f"{path}: $.functions[{f}].successors[{s}]: {name} is a function, or a successor, already",
                    "A successor has no entry of its own and succeeds one function.",
                )
            functions.add(name)
        if entry["function"] in chosen and "successors" in entry:
            found[entry["function"]] = tuple(entry["successors"])
    return found


def _check_format(path: Path, document: Any) -> None:
    if not isinstance(document, dict) or document.get("schema") != "portbench/manifest":
        raise BadInput(f"{path}: not a manifest: $.schema must be 'portbench/manifest'", "Give a manifest.")
    version = document.get("schema_version")
    if isinstance(version, int) and version > NEWEST:
        raise BadInput(
            f"{path}: $.schema_version: written in version {version}, this runner reads up to version {NEWEST}",
            "Use a newer portbench, or an image built from one.",
        )

"""Reads a manifest and expands its grids into single tests with stable ids."""

from __future__ import annotations

import fnmatch
import hashlib
import itertools
import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Collection, Iterator, Mapping, Sequence

from runners.core import documents
from runners.core.errors import BadInput

MOST_TESTS_OF_A_GRID = 10_000
MOST_TESTS = 20_000
MOST_BYTES = 64 * 1024 * 1024
"""Of the tests with all grids filled, as JSON."""
LONGEST_ID = 1000
_OUTSIDE = re.compile(r"[/~\\]|(.*[/\\])?\.\.([/\\]|$)|.*(://|\0)|.+\$[A-Za-z_{(]", re.DOTALL)
"""A path or an address that leads out of the working folder of the tests, or an environment variable in one."""
NEWEST = 3
"""Version of the manifest's format, up to which it is read."""
TEST = "test:"
"""Before a glob over ids of tests, in a run file's selection: what stands there without it is one over functions."""


@dataclass(frozen=True)
class Test:
    """One case with its parameters. ``id`` holds the grid's values: ``rows[dtype=float32]``."""

    function: str
    id: str
    case: str
    parameters: Mapping[str, Any]
    successor_of: str | None = None
    """The function that this one is tried in place of."""

    # pytest collects classes of this name; this one is none of its tests.
    __test__ = False


@dataclass(frozen=True)
class Manifest:
    path: Path
    name: str
    framework: str
    written_for: str | None
    sha256: str
    tests: tuple[Test, ...]
    successors: Mapping[str, tuple[str, ...]]
    """What to try in place of a function that a version lacks, the first choice first."""
    places: Mapping[str, str]
    """Where each name of a function, successor, case, reference or property stands first, as a JSON path."""
    listed: Sequence[Mapping[str, Any]]
    """All its functions, chosen or not, with the number of their tests and their strata, as a run file holds them."""

    uncurated: Sequence[str] = ()
    """The chosen functions that have no test yet."""

    @property
    def functions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(test.function for test in self.tests))


def read(path: Path, framework: str, function_globs: Sequence[str] = (), test_globs: Sequence[str] = ()) -> Manifest:
    """Reads, checks and expands a manifest, in the order of the file.

    Only the functions and tests that match one of their globs; none means all. Raises BadInput naming the file, the
    place in it and what was expected.
    """
    try:
        content = path.read_bytes()
        document = documents.parse(content)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}", "Give the path of a manifest.") from error
    except ValueError as error:
        raise BadInput(f"{path}: not valid JSON: {error}", "Mend the file, or make it anew.") from error
    _check_format(path, document)
    checker = documents.validator("manifest")
    mistake = documents.first_mistake(checker, document)
    if mistake:
        raise BadInput(f"{path}: {mistake}", "schema/manifest.schema.json says what may stand there.")
    if document["framework"] != framework:
        raise BadInput(
            f"{path}: $.framework: the manifest is for {document['framework']}, the target is {framework}",
            f"Give a manifest for {framework}.",
        )
    tests = list(_expanded(path, document, checker))
    uncurated = [
        entry["function"]
        for entry in document["functions"]
        if not entry["tests"] and _matches(entry["function"], function_globs)
    ]
    if uncurated and not any(_matches(test.function, function_globs) for test in tests):
        raise BadInput(
            f"{path}: $.functions: none of its {len(uncurated)} chosen functions has a test yet, expected one that has",
            "Write tests for them: manifests/README.md says how.",
        )
    chosen = _chosen(path, tests, function_globs, test_globs)
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
    )


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


def _chosen(path: Path, tests: Sequence[Test], function_globs: Sequence[str], test_globs: Sequence[str]) -> list[Test]:
    functions = [test for test in tests if _matches(test.function, function_globs)]
    if not functions:
        names = ", ".join(function_globs)
        raise BadInput(f"{path}: no function matches {names}", "Globs match whole names: '*linalg*', 'torch.cat'.")
    # The brackets of an id hold its grid's values, so they are no set of characters here.
    globs = [glob.replace("[", "[[]") for glob in test_globs]
    chosen = [test for test in functions if _matches(test.id, globs)]
    if not chosen:
        names = ", ".join(test_globs)
        raise BadInput(
            f"{path}: no test of the chosen functions matches {names}",
            "Give the whole id of a test, such as 'rows[dtype=float32]', or a glob, such as 'rows[*]'.",
        )
    return chosen


def _matches(name: str, globs: Sequence[str]) -> bool:
    return not globs or any(fnmatch.fnmatchcase(name, glob) for glob in globs)


def _places(document: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for f, entry in enumerate(document["functions"]):
        where = f"$.functions[{f}]"
        found.setdefault(entry["function"], f"{where}.function")
        for s, name in enumerate(entry.get("successors", ())):
            found.setdefault(name, f"{where}.successors[{s}]")
        for t, test in enumerate(entry["tests"]):
            found.setdefault(test["case"], f"{where}.tests[{t}].case")
            for key in ("numpy", "scipy", "property"):
                if key in test.get("expect", ()):
                    found.setdefault(test["expect"][key], f"{where}.tests[{t}].expect.{key}")
    return found


def _successors(path: Path, document: Mapping[str, Any], chosen: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Those of the chosen functions. A name may stand once: two results of one function and test could not be told
    apart."""
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


def _expanded(path: Path, document: Mapping[str, Any], checker: Any) -> Iterator[Test]:
    functions = set()
    _check_size(path, document)
    for f, entry in enumerate(document["functions"]):
        name = entry["function"]
        if name in functions:
            raise BadInput(f"{path}: $.functions[{f}]: {name} stands twice", "Put all its tests into one entry.")
        functions.add(name)
        if not entry["tests"] and document["schema_version"] < 3:
            raise BadInput(
                f"{path}: $.functions[{f}].tests: no tests, expected at least one before version 3 of the format",
                "Write a test, or make it version 3.",
            )
        ids = set()
        templates = set()
        for t, template in enumerate(entry["tests"]):
            where = f"$.functions[{f}].tests[{t}]"
            if template["id"] in templates:
                raise _twice(path, where, name, template["id"])
            templates.add(template["id"])
            _check_texts(path, where, template)
            for test in _grid(path, where, template):
                if test["id"] in ids:
                    raise _twice(path, where, name, test["id"])
                ids.add(test["id"])
                if len(test["id"]) > LONGEST_ID:
                    raise BadInput(
                        f"{path}: {where}.grid: its values make an id of {len(test['id'])} characters, "
                        f"at most {LONGEST_ID} are allowed",
                        "Take shorter values.",
                    )
                if "grid" in template:
                    _check_filled(path, where, document, entry, test, checker)
                case = test["case"]
                if case != "call" and case.split(".")[0] != document["framework"]:
                    raise BadInput(
                        f"{path}: {where}.case: {case} is no case of {document['framework']}",
                        f"Cases of this manifest begin with '{document['framework']}.'.",
                    )
                parameters = test.get("params", {}) if case != "call" else _without(test, "id", "case")
                yield Test(function=name, id=test["id"], case=case, parameters=parameters)


def _twice(path: Path, where: str, function: str, test: str) -> BadInput:
    return BadInput(f"{path}: {where}: {function} has the test id {test!r} twice", "Rename one.")


def _check_texts(path: Path, where: str, template: Mapping[str, Any]) -> None:
    """No text that reaches a function or case may name a place outside of the tests' working folder."""
    for key in ("args", "kwargs", "params", "grid", "expect"):
        for text in _texts(template.get(key)):
            if _OUTSIDE.match(text):
                raise BadInput(
                    f"{path}: {where}.{key}: {json.dumps(text)[:60]} leads out of the working folder of the tests",
                    "Expected is a name in that folder: no absolute path, '..', '~', address or environment variable.",
                )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _texts(item)


def _check_size(path: Path, document: Mapping[str, Any]) -> None:
    """A few bytes of grids can stand for more tests than the memory holds: told before any is made."""
    count = size = 0
    for f, entry in enumerate(document["functions"]):
        for t, template in enumerate(entry["tests"]):
            where = f"{path}: $.functions[{f}].tests[{t}]"
            made = math.prod(len(values) for values in template.get("grid", {}).values())
            if made > MOST_TESTS_OF_A_GRID:
                raise BadInput(
                    f"{where}.grid: makes {made} tests, at most {MOST_TESTS_OF_A_GRID} are allowed",
                    "Take fewer values, or several tests.",
                )
            count, size = count + made, size + made * len(json.dumps(template))
            if count > MOST_TESTS or size > MOST_BYTES:
                raise BadInput(
                    f"{where}: up to here the grids make {count} tests of {size} bytes, "
                    f"at most {MOST_TESTS} of {MOST_BYTES} bytes are allowed",
                    "Make several manifests of it.",
                )


def _grid(path: Path, where: str, template: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One test for each combination of the grid's values, the first key varying slowest."""
    grid: Mapping[str, list[Any]] = template.get("grid", {})
    body = _without(template, "grid")
    used = set(_variables(body))
    for key in used - set(grid):
        raise BadInput(f"{path}: {where}: '${key}' is used and the grid has no such key", f"Add {key!r} to the grid.")
    for key in set(grid) - used:
        raise BadInput(f"{path}: {where}.grid: {key!r} is not used in the test", f"Use '${key}', or remove it.")
    for values in itertools.product(*grid.values()):
        chosen = dict(zip(grid, values))
        test = _filled(body, chosen)
        if chosen:
            test["id"] += "[" + ",".join(f"{key}={_label(value)}" for key, value in chosen.items()) + "]"
        yield test


def _check_filled(
    path: Path, where: str, document: Mapping[str, Any], entry: Mapping[str, Any], test: Mapping[str, Any], checker: Any
) -> None:
    """A grid's value must fit the place that it is put into: the filled test must be valid like a written one."""
    written = dict(test, id="filled")
    mistake = documents.first_mistake(checker, dict(document, functions=[dict(entry, tests=[written])]))
    if mistake:
        mistake = mistake.replace("$.functions[0].tests[0]", where)
        raise BadInput(f"{path}: {test['id']}: {mistake}", "Mend the grid's value, or the place where it is used.")


def _variables(value: Any) -> Iterator[str]:
    if isinstance(value, str) and value.startswith("$"):
        yield value[1:]
    elif isinstance(value, list):
        for item in value:
            yield from _variables(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _variables(item)


def _filled(value: Any, chosen: Mapping[str, Any]) -> Any:
    if isinstance(value, str) and value.startswith("$"):
        return chosen[value[1:]]
    if isinstance(value, list):
        return [_filled(item, chosen) for item in value]
    if isinstance(value, dict):
        return {key: _filled(item, chosen) for key, item in value.items()}
    return value


def _label(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _without(mapping: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in mapping.items() if key not in keys}

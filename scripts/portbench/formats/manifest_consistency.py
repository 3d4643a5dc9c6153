"""Rules for manifests that a schema cannot express: unique names, used grid keys, no paths to other folders."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from portbench.formats.manifest_names import private_part
from portbench.formats.manifest_tests import grid_of, in_test, places_of
from portbench.formats.schema_errors import Violation
from portbench.util.strict_json import quoted
from portbench.util.text import did_you_mean, escape_control, shortened

Data = Mapping[str, Any]

_LEVELS = 100
# A path or an address outside of the tests' working folder, or an environment variable in one.
_OUTSIDE = re.compile(r"[/~\\]|(.*[/\\])?\.\.([/\\]|$)|.*(://|\0)|.+\$[A-Za-z_{(]", re.DOTALL)
# What begins like an address of any scheme (file:/etc), also as urllib unwraps it. Not cuda:0, nor a word, a colon
# and a space.
_ADDRESS = re.compile(r"[\0-\x20<]*(url:|[a-z][a-z0-9+.\-\t\r\n]+:(?! |[0-9]*\Z))", re.IGNORECASE)
_COLLECTED = "collected-"
_SAMPLED = (".sampled:sample", ".sampled:replay")
_INSIDE = "a name in the working folder of the tests: no absolute path, '..', '~', address or environment variable"


def in_manifest(manifest: Data, faulty: Collection[str] = ()) -> Iterator[Violation]:
    """Violations in a manifest that fits its schema, except for the tests and functions at the paths ``faulty``, which
    are left out. Raises RecursionError where it is nested too deeply."""
    _check_depth(manifest, _LEVELS)
    functions: dict[str, int] = {}
    successors: set[str] = set()
    listed = [
        (f"$.functions[{position}]", position, entry)
        for position, entry in enumerate(manifest["functions"])
        if f"$.functions[{position}]" not in faulty
    ]
    entries = {entry["function"] for _, _, entry in listed}
    yield from _name(manifest, listed, faulty)
    for where, position, entry in listed:
        name = entry["function"]
        if name in functions:
            first = f"$.functions[{functions[name]}]"
            found = f"{name} is a duplicate of {first}, expected one entry for each function; put all its tests there"
            yield Violation(f"{where}.function", found)
        functions.setdefault(name, position)
        yield from _private(manifest["framework"], f"{where}.function", name)
        if not entry["tests"] and manifest["schema_version"] < 3:
            yield Violation(f"{where}.tests", "no tests, expected at least one before version 3 of the format")
        for place, successor in enumerate(entry.get("successors", ())):
            if successor in entries or successor in successors:
                found = f"{successor} is already a function or a successor; it can succeed one function only"
                yield Violation(f"{where}.successors[{place}]", found)
            successors.add(successor)
            yield from _private(manifest["framework"], f"{where}.successors[{place}]", successor)
        yield from _in_tests(where, entry, manifest["framework"], faulty)


def _name(manifest: Data, listed: Iterable[tuple[str, int, Data]], faulty: Collection[str]) -> Iterator[Violation]:
    """A study tells collected tests from others by the name of their manifest."""
    if manifest.get("name", _COLLECTED).startswith(_COLLECTED):
        return
    for where, _, entry in listed:
        for position, test in enumerate(entry["tests"]):
            place = f"{where}.tests[{position}]"
            if place not in faulty and test["case"].endswith(_SAMPLED):
                expected = f"expected a name that begins with {_COLLECTED!r}, since this manifest has collected tests"
                yield Violation("$.name", f"found {quoted(manifest['name'])}, {expected} ({place})")
                return


def _private(framework: str, place: str, function: str) -> Iterator[Violation]:
    part = private_part(framework, function)
    if part is not None:
        expected = f"expected a name that {framework} calls public; to run it nevertheless: --private-names"
        yield Violation(place, f"{function} is not public, since {part} begins with an underscore; {expected}")


def _check_depth(value: Any, levels: int) -> None:
    """Raises RecursionError for more nested levels than a runner reads."""
    if levels == 0:
        raise RecursionError
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in items:
        _check_depth(item, levels - 1)


def _in_tests(where: str, entry: Data, framework: str, faulty: Collection[str]) -> Iterator[Violation]:
    function = entry["function"]
    ids: dict[str, int] = {}
    for position, test in enumerate(entry["tests"]):
        place = f"{where}.tests[{position}]"
        if place in faulty:
            continue
        name = test["id"]
        if name in ids:
            yield Violation(
                f"{place}.id",
                f"{quoted(name)} is already the id of {where}.tests[{ids[name]}] of {function}, expected another id",
            )
        ids.setdefault(name, position)
        yield from _in_grid(place, test)
        yield from in_test(place, test, framework)
        for key in ("args", "kwargs", "params", "grid", "expect"):
            for path, text in _texts(test.get(key), f"{place}.{key}"):
                if _OUTSIDE.match(text) or _ADDRESS.match(text):
                    yield Violation(path, f"found {quoted(shortened(text, 60))}, expected {_INSIDE}")


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Every text in a value, including keys, with its JSON path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _texts(item, f"{path}[{position}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield path, key
            yield from _texts(item, f"{path}.{shortened(escape_control(key), 60)}")


def _in_grid(place: str, test: Data) -> Iterator[Violation]:
    if "sizes" in test and "n" in test.get("grid", {}):
        yield Violation(f"{place}.grid.n", "is the key of the sizes, expected another key")
    grid = grid_of(test)
    used: dict[str, str] = {}
    for key, value in test.items():
        if key not in ("grid", "sizes"):
            used.update(_variables(value, f"{place}.{key}"))
    for name, path in used.items():
        if name not in grid:
            known = f"its keys: {shortened(', '.join(grid), 300)}" if grid else "the test has no grid"
            guess = did_you_mean(name, grid)
            yield Violation(path, f"'${escape_control(name)}' is used, but the grid has no such key ({known}){guess}")
    for name, path in places_of(place, test).items():
        if name not in used:
            where = "the grid" if path.startswith(f"{place}.grid") else "the sizes"
            yield Violation(
                shortened(path, 200), f"is in {where}, but no value of the test is '${shortened(name, 60)}'"
            )


def _variables(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Every '$name' in a value, with its JSON path. The runner replaces whole values only."""
    if isinstance(value, str) and value.startswith("$"):
        yield value[1:], path
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _variables(item, f"{path}[{position}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _variables(item, f"{path}.{escape_control(key)}")

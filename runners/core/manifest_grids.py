"""Expands the tests of a manifest: one test for each combination of its grid's values, with a stable id."""

from __future__ import annotations

import itertools
import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator, Mapping

from runners.core import documents
from runners.core.errors import BadInput

MOST_TESTS_OF_A_GRID = 10_000
MOST_TESTS = 20_000
MOST_BYTES = 64 * 1024 * 1024
"""Of all expanded tests, as JSON."""
LONGEST_ID = 1000
PROGRAM = "program"
"""The case of recorded programs, which need to know where their manifest is."""
GENERAL = ("call", "replay", PROGRAM)
"""Cases of every framework; the whole test is their parameters."""
SAMPLED = ".sampled:sample"
"""How the cases of collected tests end (see runners.core.testing.sampled)."""
REPLAYED = ".sampled:replay"
"""How the cases of collected calls end: recorded from docstrings and test suites."""
COLLECTED = "collected-"
"""How the names of manifests with collected tests begin: a study holds only these, or none."""
_NO_PARAMETERS = ("id", "case", "timed", "weight", "sites", "operations", "size")
_OUTSIDE = re.compile(r"[/~\\]|(.*[/\\])?\.\.([/\\]|$)|.*(://|\0)|.+\$[A-Za-z_{(]", re.DOTALL)
"""A path or address that leads out of the working folder of the tests, or an environment variable in one."""
_ADDRESS = re.compile(r"[\0-\x20<]*(url:|[a-z][a-z0-9+.\-\t\r\n]+:(?! |[0-9]*\Z))", re.IGNORECASE)
"""What begins like an address of any scheme (``file:/etc``), also as urllib unwraps it. Not ``cuda:0``, nor a word, a
colon and a space."""


@dataclass(frozen=True)
class Test:
    """One case with its parameters. ``id`` holds the grid's values: ``rows[dtype=float32]``."""

    function: str
    id: str
    case: str
    parameters: Mapping[str, Any]
    successor_of: str | None = None
    """The function that this one is tried in place of."""
    size: Mapping[str, Any] | None = None
    """``n``, ``of`` and ``flops`` of a test of the protocol scaling, as a run file has them; None for other tests."""
    timed: bool = True
    """Whether its calls are timed. A test that only checks values runs once."""

    @property
    def full_id(self) -> str:
        """Unique within the manifest: ``torch.argsort::rows[dtype=float32]``."""
        return f"{self.function}::{self.id}"

    # pytest collects classes of this name; this one is none of its tests.
    __test__ = False


def expanded_tests(path: Path, document: Mapping[str, Any], checker: Any) -> Iterator[Test]:
    """All tests of a manifest that fits its schema. Raises BadInput, which names the place in the file."""
    functions = set()
    _check_size(path, document)
    for f, entry in enumerate(document["functions"]):
        name = entry["function"]
        if name in functions:
            raise BadInput(f"{path}: $.functions[{f}]: found {name} twice", "Put all its tests into one entry.")
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
                if "grid" in template or "sizes" in template:
                    _check_filled(path, where, document, entry, test, checker)
                case = test["case"]
                if case not in GENERAL and case.split(".")[0] != document["framework"]:
                    raise BadInput(
                        f"{path}: {where}.case: {case} is not a case of {document['framework']}",
                        f"Cases of this manifest begin with '{document['framework']}.'.",
                    )
                _check_name(path, document, where, case)
                parameters = _without(test, *_NO_PARAMETERS) if case in GENERAL else test.get("params", {})
                if case == PROGRAM:
                    parameters = dict(parameters, folder=str(path.parent.absolute()))
                yield Test(
                    function=name,
                    id=test["id"],
                    case=case,
                    parameters=parameters,
                    size=test.get("size"),
                    timed=test.get("timed", True),
                )


def _check_name(path: Path, document: Mapping[str, Any], where: str, case: str) -> None:
    """A study tells collected tests from others by the name of their manifest. Raises BadInput."""
    if case.endswith((SAMPLED, REPLAYED)) and not document["name"].startswith(COLLECTED):
        raise BadInput(
            f"{path}: $.name: found {document['name']!r}, expected a name that begins with {COLLECTED!r}, "
            f"since this manifest has collected tests ({where})",
            "Their results are never part of others: give it such a name.",
        )


def _twice(path: Path, where: str, function: str, test: str) -> BadInput:
    return BadInput(f"{path}: {where}: {function} has the test id {test!r} twice", "Rename one.")


def _check_texts(path: Path, where: str, template: Mapping[str, Any]) -> None:
    """No text that reaches a function or case may name a place outside the tests' working folder. Raises BadInput."""
    for key in ("args", "kwargs", "params", "grid", "expect"):
        for text in _texts(template.get(key)):
            if _OUTSIDE.match(text) or _ADDRESS.match(text):
                raise BadInput(
                    f"{path}: {where}.{key}: {json.dumps(text)[:60]} leads out of the working folder of the tests",
                    "Expected is a name in that folder: no absolute path, '..', '~', address or environment variable.",
                )


def leads_outside(value: Any) -> bool:
    """Whether a text in a value leads out of the working folder of the tests, which no manifest may."""
    return any(_OUTSIDE.match(text) or _ADDRESS.match(text) for text in _texts(value))


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
    """A few bytes of grids can expand to more tests than fit into memory. Raises BadInput before any is expanded."""
    count = size = 0
    for f, entry in enumerate(document["functions"]):
        for t, template in enumerate(entry["tests"]):
            where = f"{path}: $.functions[{f}].tests[{t}]"
            made = math.prod(len(values) for values in _values(template).values())
            if made > MOST_TESTS_OF_A_GRID:
                raise BadInput(
                    f"{where}.grid: makes {made} tests, at most {MOST_TESTS_OF_A_GRID} are allowed",
                    "Take fewer values, or several tests.",
                )
            if made == 1:
                # Nothing expands: the test is as large as the file says, and a sweep may have any number of them.
                continue
            count, size = count + made, size + made * len(json.dumps(template))
            if count > MOST_TESTS or size > MOST_BYTES:
                raise BadInput(
                    f"{where}: up to here the grids make {count} tests of {size} bytes, "
                    f"at most {MOST_TESTS} of {MOST_BYTES} bytes are allowed",
                    "Make several manifests of it.",
                )


def _grid(path: Path, where: str, template: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One test for each combination of the grid's values; the first key varies slowest, sizes fastest."""
    grid = _values(template)
    sizes = template.get("sizes")
    if sizes and "n" in template.get("grid", {}):
        raise BadInput(f"{path}: {where}.grid: found the key 'n', which is that of the sizes", "Rename it.")
    body = _without(template, "grid", "sizes")
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
        if sizes:
            factor, power = sizes.get("flops", (None, None))
            flops = None if factor is None else float(factor * chosen["n"] ** power)
            test["size"] = {"n": chosen["n"], "of": sizes["of"], "flops": flops}
        yield test


def _values(template: Mapping[str, Any]) -> Mapping[str, list[Any]]:
    """The values of a test's grid; its sizes are those of the key ``n``."""
    sizes = {"n": template["sizes"]["n"]} if "sizes" in template else {}
    return {**template.get("grid", {}), **sizes}


def _check_filled(
    path: Path, where: str, document: Mapping[str, Any], entry: Mapping[str, Any], test: Mapping[str, Any], checker: Any
) -> None:
    """Raises BadInput if a grid's value does not fit its place: the filled test must be as valid as a written one."""
    written = dict(_without(test, "size"), id="filled")
    rest = _without(document, "collected", "recorded", "provenance")
    mistake = documents.first_mistake(checker, dict(rest, functions=[dict(entry, tests=[written])]))
    if mistake:
        mistake = mistake.replace("$.functions[0].tests[0]", where)
        raise BadInput(f"{path}: {test['id']}: {mistake}", "Fix the grid's value, or the place where it is used.")


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

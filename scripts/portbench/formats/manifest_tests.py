"""Checks what the tests of a manifest name and give, as far as that needs no framework, also through their grids."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from portbench.formats import manifest_names as names
from portbench.formats.edge_values import edge_values
from portbench.formats.schema_errors import Violation
from portbench.formats.schemas import VERSIONS, violations
from portbench.util.strict_json import quoted
from portbench.util.text import did_you_mean, shortened

Data = Mapping[str, Any]

_NUMBERS = ("nan", "inf", "-inf")
# As in the runner.
_MOST_TESTS_OF_A_GRID = 10_000
_EXPECTED_VALUES = 'numbers, booleans, "nan", "inf" and "-inf"'


@dataclass(frozen=True)
class _Grid:
    """The values of a test's grid, and the JSON path of each key's."""

    places: Mapping[str, str]
    values: Mapping[str, list[Any]]

    def filled(self, value: Any, path: str) -> Iterator[tuple[Any, str]]:
        """The value at ``path`` of the test, or each value of the grid that takes its place, with its own path."""
        if isinstance(value, str) and value.startswith("$") and value[1:] in self.values:
            key = value[1:]
            yield from ((found, f"{self.places[key]}[{n}]") for n, found in enumerate(self.values[key]))
        else:
            yield value, path


def grid_of(test: Data) -> Mapping[str, list[Any]]:
    """The values of a test's grid; its sizes are those of the key ``n``."""
    sizes = {"n": test["sizes"]["n"]} if "sizes" in test else {}
    return {**test.get("grid", {}), **sizes}


def places_of(place: str, test: Data) -> Mapping[str, str]:
    """The JSON path of the values of each key of the grid of the test at ``place``."""
    grid = {key: f"{place}.grid.{key}" for key in test.get("grid", {})}
    return {**grid, **({"n": f"{place}.sizes.n"} if "sizes" in test else {})}


def in_test(place: str, test: Data, framework: str) -> Iterator[Violation]:
    """Violations in the names and values of one test that fits the schema, at its JSON path ``place``."""
    grid = _Grid(places_of(place, test), grid_of(test))
    made = math.prod(map(len, grid.values.values()))
    if made > _MOST_TESTS_OF_A_GRID:
        found = f"makes {made} tests, at most {_MOST_TESTS_OF_A_GRID} are allowed; take fewer values, or several tests"
        yield Violation(f"{place}.grid", found)
        return
    yield from _in_filled(place, test, framework)
    if test["case"] == "replay":
        for key in ("args", "kwargs"):
            yield from _in_arguments(test.get(key, ()), f"{place}.{key}", grid)
        return
    if test["case"] == "program":
        return
    if test["case"] != "call":
        yield from _in_case(place, test, framework)
        return
    for key in ("args", "kwargs"):
        yield from _in_arguments(test.get(key, ()), f"{place}.{key}", grid)
    yield from _in_expect(f"{place}.expect", test, grid)


def _in_filled(place: str, test: Data, framework: str) -> Iterator[Violation]:
    """Values of a grid that do not fit where they are used. The other keys have their first value meanwhile."""
    grid, places = grid_of(test), places_of(place, test)
    body = {key: value for key, value in test.items() if key not in ("grid", "sizes")}
    first = {key: values[0] for key, values in grid.items()}
    seen = set()
    for key, values in grid.items():
        for position, value in enumerate(values):
            filled = dict(_substituted(body, {**first, key: value}), id="filled")
            entry = {"function": "a.b", "tests": [filled]}
            head = {
                "schema": "portbench/manifest",
                "schema_version": VERSIONS["manifest"],
                "name": "a",
                "framework": framework,
            }
            for found in violations("manifest", {**head, "functions": [entry]}):
                inside = found.path.removeprefix("$.functions[0].tests[0]")
                if (inside, found.sentence) not in seen:
                    seen.add((inside, found.sentence))
                    sentence = f"does not fit at {place}{inside}: {found.sentence}"
                    yield Violation(f"{places[key]}[{position}]", sentence)


def _substituted(value: Any, chosen: Data) -> Any:
    if isinstance(value, str) and value.startswith("$"):
        return chosen.get(value[1:], value)
    if isinstance(value, list):
        return [_substituted(item, chosen) for item in value]
    if isinstance(value, dict):
        return {key: _substituted(item, chosen) for key, item in value.items()}
    return value


def _in_case(place: str, test: Data, framework: str) -> Iterator[Violation]:
    case = test["case"]
    if not case.startswith(f"{framework}."):
        yield Violation(f"{place}.case", f"found {quoted(case)}, expected call or a case of {framework}")
        return
    found = names.find_case(framework, case)
    if isinstance(found, str):
        yield Violation(f"{place}.case", found)
    else:
        yield from _in_parameters(f"{place}.params", test.get("params", {}), found, case)


def _in_parameters(place: str, given: Data, signature: names.Signature, owner: str) -> Iterator[Violation]:
    for key, mistake in signature.mistakes(given):
        yield Violation(place, f"{owner}: {f'{quoted(shortened(key, 60))} ' if key else ''}{mistake}")


def _in_arguments(value: Any, path: str, grid: _Grid) -> Iterator[Violation]:
    """Dtypes and values of every tensor and dtype in arguments: a plain value, a list, or an object that builds one."""
    for found, place in grid.filled(value, path):
        if isinstance(found, (list, tuple)):
            for position, item in enumerate(found):
                yield from _in_arguments(item, f"{place}[{position}]", grid)
        elif isinstance(found, dict):
            for key, item in found.items():
                if key == "tensor" and isinstance(item, dict):
                    yield from _in_tensor(item, f"{place}.tensor", grid)
                elif key == "dtype":
                    yield from _in_dtype(item, f"{place}.dtype", grid, names.INPUT_DTYPES)
                elif key not in ("attribute", "device", "complex", "number", "arg"):
                    yield from _in_arguments(item, f"{place}.{key}", grid)


def _in_tensor(tensor: Data, path: str, grid: _Grid) -> Iterator[Violation]:
    yield from _in_dtype(tensor.get("dtype"), f"{path}.dtype", grid, names.INPUT_DTYPES)
    if isinstance(tensor.get("values"), dict):
        for found, place in grid.filled(tensor.get("dtype"), f"{path}.dtype"):
            if found in names.INPUT_DTYPES and found not in edge_values():
                yield Violation(place, f"found {quoted(found)}, which has no edge values: {', '.join(edge_values())}")
        return
    for found, place in grid.filled(tensor.get("values", 0), f"{path}.values"):
        mistake = _values_mistake(found)
        if mistake:
            yield Violation(place, mistake)


def _in_dtype(value: Any, path: str, grid: _Grid, known: tuple[str, ...]) -> Iterator[Violation]:
    for found, place in grid.filled(value, path):
        # A variable that the grid lacks is reported with the grid.
        if isinstance(found, str) and found not in known and not found.startswith("$"):
            expected = did_you_mean(found, known) or f": {', '.join(names.INPUT_DTYPES)}"
            yield Violation(place, f"found {quoted(shortened(found, 60))}, expected a dtype{expected}")


def _values_mistake(value: Any) -> str:
    """What is wrong with the values of a tensor: other things than numbers, or rows of different lengths."""
    if isinstance(value, list):
        shapes = {_shape(item) for item in value}
        if None in shapes:
            return next(filter(None, map(_values_mistake, value)), "lists in one list have different lengths")
        if len(shapes) > 1:
            return "found lists of different lengths, expected rows of one length"
        return ""
    # A value of the grid is checked where it is used as a whole.
    if isinstance(value, (bool, int, float)) or value in _NUMBERS or (isinstance(value, str) and value.startswith("$")):
        return ""
    return f"found {quoted(shortened(str(value), 60))}, expected {_EXPECTED_VALUES}"


def _shape(value: Any) -> tuple[int, ...] | None:
    """The shape of nested lists; None where they have none."""
    if not isinstance(value, list):
        return None if _values_mistake(value) else ()
    shapes = {_shape(item) for item in value}
    if None in shapes or len(shapes) > 1:
        return None
    return (len(value), *(next(iter(shapes), ()) or ()))


def _in_expect(place: str, test: Data, grid: _Grid) -> Iterator[Violation]:
    expect = test["expect"]
    for library in ("numpy", "scipy"):
        for name, where in grid.filled(expect.get(library), f"{place}.{library}"):
            mistake = names.reference_mistake(library, name) if isinstance(name, str) else ""
            if mistake:
                yield Violation(where, mistake)
    known = names.properties()
    for name, where in grid.filled(expect.get("property"), f"{place}.property"):
        if known is None or not isinstance(name, str):
            continue
        if name in known:
            yield from _in_parameters(f"{place}.params", expect.get("params", {}), known[name], f"property {name}")
        else:
            listed = ", ".join(sorted(known))
            guess = did_you_mean(name, known)
            yield Violation(where, f"there is no property {quoted(shortened(name, 60))}{guess}; known: {listed}")
    for key in ("args", "kwargs", "value"):
        yield from _in_arguments(expect.get(key), f"{place}.{key}", grid)
    yield from _in_dtype(expect.get("dtype"), f"{place}.dtype", grid, names.OUTPUT_DTYPES)
    yield from _in_references_to_arguments(f"{place}.args", expect, test)


def _in_references_to_arguments(place: str, expect: Data, test: Data) -> Iterator[Violation]:
    given = test.get("args", [])
    count = len(given) if isinstance(given, list) else math.inf
    for position, item in enumerate(expect.get("args", ())):
        if isinstance(item, dict) and isinstance(item.get("arg"), int) and item["arg"] >= count:
            found = f"found argument {item['arg']}, but the test has {count}; the first is 0"
            yield Violation(f"{place}[{position}].arg", found)

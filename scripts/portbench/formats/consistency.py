"""What a schema cannot say about a document: that names are unique, that one value agrees with another."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from portbench.devices import PREDICTED_DEVICES
from portbench.formats.schema_errors import Violation
from portbench.util.strict_json import json_path
from portbench.util.text import escape_control, shortened

Data = Mapping[str, Any]

_LEVELS = 100
_FORETOLD = {"accepted": ("passed",), "refused": ("failed", "timed_out", "crashed"), "unknown": ("skipped",)}
# A path or an address that leads out of the working folder of the tests, or an environment variable in one.
_OUTSIDE = re.compile(r"[/~\\]|(.*[/\\])?\.\.([/\\]|$)|.*(://|\0)|.+\$[A-Za-z_{(]", re.DOTALL)


def check_consistency(kind: str, data: Data) -> Iterator[Violation]:
    """What does not fit together in a document that fits its schema, in the order of the document.

    Raises RecursionError where it is nested too deeply.
    """
    return _RULES[kind](data)


def _in_manifest(manifest: Data) -> Iterator[Violation]:
    _check_depth(manifest, _LEVELS)
    functions: dict[str, int] = {}
    successors: set[str] = set()
    entries = {entry["function"] for entry in manifest["functions"]}
    for position, entry in enumerate(manifest["functions"]):
        where = f"$.functions[{position}]"
        name = entry["function"]
        if name in functions:
            first = f"$.functions[{functions[name]}]"
            yield Violation(f"{where}.function", f"{name} stands at {first} already; put all its tests into one entry")
        functions.setdefault(name, position)
        if not entry["tests"] and manifest["schema_version"] < 3:
            yield Violation(f"{where}.tests", "no tests, expected at least one before version 3 of the format")
        for place, successor in enumerate(entry.get("successors", ())):
            if successor in entries or successor in successors:
                found = f"{successor} is a function, or a successor, already; it can succeed one function only"
                yield Violation(f"{where}.successors[{place}]", found)
            successors.add(successor)
        yield from _in_tests(where, name, entry["tests"], manifest["framework"])


def _check_depth(value: Any, levels: int) -> None:
    """Raises RecursionError for more levels than a runner reads."""
    if levels == 0:
        raise RecursionError
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in items:
        _check_depth(item, levels - 1)


def _in_tests(where: str, function: str, tests: list[Data], framework: str) -> Iterator[Violation]:
    ids: dict[str, int] = {}
    for position, test in enumerate(tests):
        place = f"{where}.tests[{position}]"
        name, case = test["id"], test["case"]
        if name in ids:
            yield Violation(
                f"{place}.id",
                f"{function} has a test {_quoted(name)} at {where}.tests[{ids[name]}] already, expected another id",
            )
        ids.setdefault(name, position)
        if case != "call" and not case.startswith(f"{framework}."):
            yield Violation(f"{place}.case", f"found {_quoted(case)}, expected call or a case of {framework}")
        yield from _in_grid(place, test)
        for key in ("args", "kwargs", "params", "grid", "expect"):
            for path, text in _texts(test.get(key), f"{place}.{key}"):
                if _OUTSIDE.match(text):
                    yield Violation(path, f"found {_quoted(shortened(text, 60))}, expected {_INSIDE}")


_INSIDE = "a name in the working folder of the tests: no absolute path, '..', '~', address or environment variable"


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Every text in a value, keys included, with its place."""
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
    grid = test.get("grid", {})
    used: dict[str, str] = {}
    for key, value in test.items():
        if key != "grid":
            used.update(_variables(value, f"{place}.{key}"))
    for name, path in used.items():
        if name not in grid:
            known = f"its keys: {', '.join(grid)}" if grid else "the test has no grid"
            yield Violation(path, f"'${escape_control(name)}' is used, but the grid has no such key ({known})")
    for name in grid:
        if name not in used:
            yield Violation(f"{place}.grid.{name}", f"is in the grid, but '${name}' is used nowhere in the test")


def _variables(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Every '$name' in a value with its place; the runner replaces whole values only."""
    if isinstance(value, str) and value.startswith("$"):
        yield value[1:], path
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _variables(item, f"{path}[{position}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _variables(item, f"{path}.{escape_control(key)}")


def _in_run(run: Data) -> Iterator[Violation]:
    yield from _in_times(run)
    yield from _in_prediction(run)
    runs = run["protocol"]["runs"]
    is_complete = run["protocol"].get("sync", "complete") == "complete"
    seen: dict[tuple[str, str, int], int] = {}
    for position, result in enumerate(run["results"]):
        key = (result["function"], result["test"], result["run"])
        first = seen.setdefault(key, position)
        if result["run"] > runs:
            found = f"found {result['run']}, expected at most {runs}, which is $.protocol.runs"
            yield Violation(f"$.results[{position}].run", found)
        if first != position:
            test = f"{escape_control(key[0])} {escape_control(key[1])}, run {key[2]}"
            found = f"a second result of {test}, expected one; the first is $.results[{first}]"
            yield Violation(f"$.results[{position}]", found)
        proof = result.get("proof")
        if is_complete and proof and not proof["passed"]:
            yield from _unproven(f"$.results[{position}]", result)


def _in_prediction(run: Data) -> Iterator[Violation]:
    """Nothing that is foretold may look measured, nor the other way round."""
    device = run["target"]["device"]
    if device in PREDICTED_DEVICES and "prediction" not in run:
        yield Violation("$.target.device", f"found {device}, which is only predicted, expected $.prediction beside it")
    if device not in PREDICTED_DEVICES and "prediction" in run:
        yield Violation("$.prediction", f"found a prediction, expected none, since {device} was there")
    for position, result in enumerate(run["results"]):
        where = f"$.results[{position}]"
        foretold = result.get("prediction")
        if device not in PREDICTED_DEVICES and foretold:
            yield Violation(f"{where}.prediction", f"found a prediction, expected none, since {device} was there")
        if device in PREDICTED_DEVICES and result["calls"]:
            yield Violation(f"{where}.calls", f"found times, expected none, since nothing was computed on {device}")
        if foretold and result["outcome"] not in _FORETOLD[foretold["verdict"]]:
            expected = " or ".join(_FORETOLD[foretold["verdict"]])
            since = f"since {where}.prediction says {foretold['verdict']}"
            yield Violation(f"{where}.outcome", f"found {result['outcome']}, expected {expected}, {since}")


def _unproven(where: str, result: Data) -> Iterator[Violation]:
    """Times of a worker whose clock does not see the work of the device."""
    for position, call in enumerate(result["calls"]):
        for protocol in ("cold", "steady"):
            if call[protocol]:
                found = f"found times, expected null, since {where}.proof did not pass"
                yield Violation(f"{where}.calls[{position}].{protocol}", found)


def _in_times(run: Data) -> Iterator[Violation]:
    times = []
    for key in ("started_at", "ended_at"):
        try:
            times.append(datetime.fromisoformat(run[key]))
        except ValueError as error:
            yield Violation(f"$.{key}", f"found {_quoted(run[key])}, expected a point in time: {error}")
    if len(times) == 2 and times[1] < times[0]:
        yield Violation("$.ended_at", f"found {run['ended_at']}, which is before $.started_at, {run['started_at']}")


def _in_survivors(document: Data) -> Iterator[Violation]:
    seen: set[tuple[str, str, str]] = set()
    for position, entry in enumerate(document["survivors"]):
        key = (entry["function"], entry["test"], entry["mutant"])
        if key in seen:
            yield Violation(
                f"$.survivors[{position}]", f"{escape_control(' '.join(key))} stands there already; remove one"
            )
        seen.add(key)


def _in_annotations(document: Data) -> Iterator[Violation]:
    seen: dict[tuple[str | None, ...], int] = {}
    for position, entry in enumerate(document["annotations"]):
        if "function" not in entry and "fingerprint" not in entry:
            yield Violation(
                f"$.annotations[{position}]", 'states neither "function" nor "fingerprint", expected one or both'
            )
        if "test" in entry and "function" not in entry:
            yield Violation(f"$.annotations[{position}].test", 'stands without the "function" that it is a test of')
        key = (entry.get("function"), entry.get("test"), entry.get("fingerprint"))
        if key in seen:
            found = f"is of the same failures as $.annotations[{seen[key]}]; remove one"
            yield Violation(f"$.annotations[{position}]", found)
        seen.setdefault(key, position)


def _in_expected(document: Data) -> Iterator[Violation]:
    for version, entries in document["versions"].items():
        seen: set[tuple[str, str, str]] = set()
        for position, entry in enumerate(entries):
            key = (entry["function"], entry["test"], entry["category"])
            if key in seen:
                where = json_path(["versions", version, position])
                yield Violation(where, f"{escape_control(' '.join(key))} stands there already; remove one")
            seen.add(key)


def _in_functions(document: Data) -> Iterator[Violation]:
    names: dict[str, int] = {}
    for position, entry in enumerate(document["functions"]):
        for name in (entry["name"], *entry["aliases"]):
            if name in names:
                first = f"$.functions[{names[name]}]"
                yield Violation(f"$.functions[{position}]", f"{escape_control(name)} is a name of {first} already")
            names.setdefault(name, position)
    found = {
        "functions": len(document["functions"]),
        "by_kind": dict(Counter(entry["kind"] for entry in document["functions"])),
        "by_namespace": sum(document["counts"]["by_namespace"].values()),
    }
    stated = dict(document["counts"], by_namespace=len(document["functions"]))
    for key, value in found.items():
        if stated[key] != value:
            yield Violation(
                f"$.counts.{key}", f"does not fit the {len(document['functions'])} functions that are listed"
            )


def _in_counts(document: Data) -> Iterator[Violation]:
    for place, framework in enumerate(document["frameworks"]):
        seen: set[str] = set()
        for position, function in enumerate(framework["functions"]):
            where = f"$.frameworks[{place}].functions[{position}]"
            if function["name"] in seen:
                yield Violation(f"{where}.name", f"{escape_control(function['name'])} stands there already; remove one")
            seen.add(function["name"])
        for kind in ("resolved", "decile"):
            stated = sum(function.get(kind) is not None for function in framework["functions"])
            if kind == "resolved" and framework["calls"]["resolved"] != sum(f[kind] for f in framework["functions"]):
                found = f"found {framework['calls'][kind]}, which is not the sum of the functions'"
                yield Violation(f"$.frameworks[{place}].calls.{kind}", found)
            if kind == "decile" and 0 < stated < len(framework["functions"]):
                yield Violation(f"$.frameworks[{place}].functions", f"{stated} state a decile, expected all or none")


def _in_kernels(document: Data) -> Iterator[Violation]:
    """The wheel is the version's: else what it has would be said of another."""
    version, name = document["version"], document["wheel"]["name"]
    if not name.startswith(f"{document['framework']}-{version}-"):
        yield Violation("$.wheel.name", f"{escape_control(shortened(name, 60))} is no wheel of version {version}")


def _in_exclusions(document: Data) -> Iterator[Violation]:
    seen: dict[str, int] = {}
    for position, entry in enumerate(document["exclusions"]):
        first = seen.setdefault(entry["function"], position)
        if first != position:
            found = f"{escape_control(entry['function'])} stands at $.exclusions[{first}] already; remove one"
            yield Violation(f"$.exclusions[{position}].function", found)


def _in_study(study: Data) -> Iterator[Violation]:
    for position, target in enumerate(study["targets"]):
        statuses = Counter(function["status"] for function in target["functions"] if not function.get("successor_of"))
        for status, count in target["functions_by_status"].items():
            if statuses[status] != count:
                found = f"found {count}, but {statuses[status]} of its functions have that status"
                yield Violation(f"$.targets[{position}].functions_by_status.{status}", found)


def _in_comparison(comparison: Data) -> Iterator[Violation]:
    """A test can stand once in each list of a pair."""
    for position, pair in enumerate(comparison["pairs"]):
        lists = {f".{name}": entries for name, entries in pair.items() if isinstance(entries, list)}
        lists |= {f".latency.{name}.tests": latency["tests"] for name, latency in pair["latency"].items()}
        for name, entries in lists.items():
            seen: dict[tuple[str, ...], int] = {}
            for place, entry in enumerate(entry for entry in entries if "test" in entry):
                key = (entry["function"], entry["successor_of"] or "", str(entry["test"]))
                if key in seen:
                    where = f"$.pairs[{position}]{name}"
                    yield Violation(
                        f"{where}[{place}]", f"is of the same test as {where}[{seen[key]}], expected each once"
                    )
                seen.setdefault(key, place)


def _quoted(text: str) -> str:
    return escape_control(json.dumps(text, ensure_ascii=False))


_RULES: Mapping[str, Callable[[Data], Iterator[Violation]]] = {
    "manifest": _in_manifest,
    "run": _in_run,
    "study": _in_study,
    "survivors": _in_survivors,
    "annotations": _in_annotations,
    "expected": _in_expected,
    "comparison": _in_comparison,
    "functions": _in_functions,
    "counts": _in_counts,
    "exclusions": _in_exclusions,
    "kernels": _in_kernels,
}

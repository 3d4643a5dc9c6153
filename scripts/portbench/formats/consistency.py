"""Rules that a schema cannot express: names are unique, and values agree with each other."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from portbench.devices import PREDICTED_DEVICES
from portbench.formats.manifest_consistency import in_manifest
from portbench.formats.schema_errors import Violation
from portbench.util.strict_json import json_path, quoted
from portbench.util.text import escape_control, shortened

Data = Mapping[str, Any]

# The test, or else the function, that a JSON path of a manifest leads into.
_PLACE = re.compile(r"\$\.functions\[\d+\](\.tests\[\d+\])?")
_REQUIRED = {"framework", "functions", "schema_version"}
_OUTCOMES_OF = {"accepted": ("passed",), "refused": ("failed", "timed_out", "crashed"), "unknown": ("skipped",)}


def check_consistency(kind: str, data: Data) -> Iterator[Violation]:
    """The violations in a document that fits its schema, in the order of the document.

    Raises RecursionError where the document is nested too deeply.
    """
    return _RULES[kind](data)


def check_rest_of_manifest(manifest: Data, found: Sequence[Violation]) -> Iterator[Violation]:
    """The violations in the tests and functions of a manifest that does not fit its schema in other places.

    ``found`` are the violations of the schema. Where one is not inside of the functions, nothing else is checked unless
    it says nothing about them: the name of the manifest, an unknown key.
    """
    faulty = set()
    for violation in found:
        place = _PLACE.match(violation.path)
        if place:
            faulty.add(place[0])
        elif violation.path in ("$.functions", "$.framework", "$.schema_version") or not manifest.keys() >= _REQUIRED:
            return
    yield from in_manifest(manifest, faulty)


def _in_run(run: Data) -> Iterator[Violation]:
    yield from _in_times(run)
    yield from _in_prediction(run)
    yield from _in_sizes(run)
    runs = run["protocol"]["runs"]
    is_complete = run["protocol"]["sync"] == "complete"
    listed = {entry["name"] for entry in run["manifest"].get("functions", ())}
    seen: dict[tuple[str, str, int], int] = {}
    for position, result in enumerate(run["results"]):
        name = result.get("successor_of") or result["function"]
        if listed and name not in listed:
            found = f"found {escape_control(shortened(name, 200))}, expected a function of $.manifest.functions"
            yield Violation(f"$.results[{position}].function", found)
        key = (result["function"], result["test"], result["run"])
        first = seen.setdefault(key, position)
        if result["run"] > runs:
            found = f"found {result['run']}, expected at most {runs}, which is $.protocol.runs"
            yield Violation(f"$.results[{position}].run", found)
        if first != position:
            test = f"{escape_control(key[0])} {escape_control(key[1])}, run {key[2]}"
            found = f"a second result of {test}, expected one; the first is $.results[{first}]"
            yield Violation(f"$.results[{position}]", found)
        if result["outcome"] is None and not run.get("imported"):
            yield Violation(
                f"$.results[{position}].outcome", "found null, expected an outcome, since $.imported is absent"
            )
        check = result.get("sync_check")
        if is_complete and check and not check["passed"]:
            yield from _without_times(f"$.results[{position}]", result)


def _in_sizes(run: Data) -> Iterator[Violation]:
    """The tests of the protocol scaling have sizes, and no others."""
    protocol = run["protocol"]["name"]
    for position, result in enumerate(run["results"]):
        has_size = result.get("size") is not None
        if has_size != (protocol == "scaling"):
            found, expected = ("a size", "none") if has_size else ("none", "a size")
            where = f"$.results[{position}].size"
            yield Violation(where, f"found {found}, expected {expected}, since $.protocol.name is {protocol!r}")


def _in_prediction(run: Data) -> Iterator[Violation]:
    """A predicted result never looks measured, and a measured result never looks predicted."""
    device = run["target"]["device"]
    if device in PREDICTED_DEVICES and "prediction" not in run:
        yield Violation("$.target.device", f"found {device}, which is only predicted, expected $.prediction too")
    if device not in PREDICTED_DEVICES and "prediction" in run:
        yield Violation("$.prediction", f"found a prediction, expected none, since {device} was present")
    for position, result in enumerate(run["results"]):
        where = f"$.results[{position}]"
        prediction = result.get("prediction")
        if device not in PREDICTED_DEVICES and prediction:
            yield Violation(f"{where}.prediction", f"found a prediction, expected none, since {device} was present")
        if device in PREDICTED_DEVICES and result["calls"]:
            yield Violation(f"{where}.calls", f"found times, expected none, since nothing was computed on {device}")
        if prediction and result["outcome"] not in _OUTCOMES_OF[prediction["verdict"]]:
            expected = " or ".join(_OUTCOMES_OF[prediction["verdict"]])
            since = f"since {where}.prediction says {prediction['verdict']}"
            yield Violation(f"{where}.outcome", f"found {result['outcome']}, expected {expected}, {since}")


def _without_times(where: str, result: Data) -> Iterator[Violation]:
    """A worker has no times where the synchronization check failed: its clock does not see the work of the device."""
    for position, call in enumerate(result["calls"]):
        for protocol in ("cold", "steady"):
            if call[protocol]:
                found = f"found times, expected null, since {where}.sync_check did not pass"
                yield Violation(f"{where}.calls[{position}].{protocol}", found)


def _in_times(run: Data) -> Iterator[Violation]:
    times = []
    for key in ("started_at", "ended_at"):
        if run[key] is None:
            continue
        try:
            times.append(datetime.fromisoformat(run[key]))
        except ValueError as error:
            yield Violation(f"$.{key}", f"found {quoted(run[key])}, expected a point in time: {error}")
    if len(times) == 2 and times[1] < times[0]:
        yield Violation("$.ended_at", f"found {run['ended_at']}, which is before $.started_at, {run['started_at']}")


def _in_survivors(document: Data) -> Iterator[Violation]:
    seen: set[tuple[str, str, str]] = set()
    for position, entry in enumerate(document["survivors"]):
        place = f"$.survivors[{position}]"
        if document["schema_version"] < 3 and not isinstance(entry["mutant"], str):
            yield Violation(f"{place}.mutant", "found a list of mutants, which needs version 3 of the format")
        for mutant in mutants_of(entry):
            key = (entry["function"], entry["test"], mutant)
            if key in seen:
                yield Violation(place, f"{escape_control(' '.join(key))} is a duplicate; remove one entry")
            seen.add(key)


def mutants_of(survivor: Data) -> tuple[str, ...]:
    """The mutants that an entry of a file of survivors is about."""
    found = survivor["mutant"]
    return (found,) if isinstance(found, str) else tuple(found)


def _in_annotations(document: Data) -> Iterator[Violation]:
    seen: dict[tuple[str | None, ...], int] = {}
    for position, entry in enumerate(document["annotations"]):
        if "function" not in entry and "fingerprint" not in entry:
            yield Violation(
                f"$.annotations[{position}]", 'has neither "function" nor "fingerprint", expected one or both'
            )
        if "test" in entry and "function" not in entry:
            yield Violation(f"$.annotations[{position}].test", 'found a test without its "function", expected both')
        key = (entry.get("function"), entry.get("test"), entry.get("fingerprint"))
        if key in seen:
            found = f"annotates the same failures as $.annotations[{seen[key]}]; remove one"
            yield Violation(f"$.annotations[{position}]", found)
        seen.setdefault(key, position)


def _in_expected(document: Data) -> Iterator[Violation]:
    for version, entries in document["versions"].items():
        seen: set[tuple[str, str, str]] = set()
        for position, entry in enumerate(entries):
            key = (entry["function"], entry["test"], entry["category"])
            if key in seen:
                where = json_path(["versions", version, position])
                yield Violation(where, f"{escape_control(' '.join(key))} is a duplicate; remove one entry")
            seen.add(key)


def _in_functions(document: Data) -> Iterator[Violation]:
    names: dict[str, int] = {}
    for position, entry in enumerate(document["functions"]):
        for name in (entry["name"], *entry["aliases"]):
            if name in names:
                first = f"$.functions[{names[name]}]"
                yield Violation(f"$.functions[{position}]", f"{escape_control(name)} is already a name of {first}")
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
                f"$.counts.{key}", f"does not match the {len(document['functions'])} functions that are listed"
            )


def _in_counts(document: Data) -> Iterator[Violation]:
    for place, framework in enumerate(document["frameworks"]):
        seen: set[str] = set()
        for position, function in enumerate(framework["functions"]):
            where = f"$.frameworks[{place}].functions[{position}]"
            if function["name"] in seen:
                yield Violation(f"{where}.name", f"{escape_control(function['name'])} is a duplicate; remove one")
            seen.add(function["name"])
        for kind in ("resolved", "decile"):
            stated = sum(function.get(kind) is not None for function in framework["functions"])
            if kind == "resolved" and framework["calls"]["resolved"] != sum(f[kind] for f in framework["functions"]):
                found = f"found {framework['calls'][kind]}, which is not the sum of the functions'"
                yield Violation(f"$.frameworks[{place}].calls.{kind}", found)
            if kind == "decile" and 0 < stated < len(framework["functions"]):
                yield Violation(f"$.frameworks[{place}].functions", f"{stated} have a decile, expected all or none")


def _in_kernels(document: Data) -> Iterator[Violation]:
    """The wheel is that of the stated framework and version."""
    version, name = document["version"], document["wheel"]["name"]
    if not name.startswith(f"{document['framework']}-{version}-"):
        yield Violation("$.wheel.name", f"{escape_control(shortened(name, 60))} is not a wheel of version {version}")


def _in_exclusions(document: Data) -> Iterator[Violation]:
    for position, first, name in _duplicates(document["exclusions"], "function"):
        found = f"{escape_control(name)} is a duplicate of $.exclusions[{first}], expected each once; remove one"
        yield Violation(f"$.exclusions[{position}].function", found)


def _in_mapping(document: Data) -> Iterator[Violation]:
    for position, first, _ in _duplicates(document["tests"], "nodes"):
        found = f"is a duplicate of $.tests[{first}], which is used, expected each once; remove one"
        yield Violation(f"$.tests[{position}].nodes", found)


def _duplicates(entries: Sequence[Data], key: str) -> Iterator[tuple[int, int, str]]:
    """The positions of entries that have the same ``key`` as an earlier one, with its position and the key's value."""
    seen: dict[str, int] = {}
    for position, entry in enumerate(entries):
        first = seen.setdefault(entry[key], position)
        if first != position:
            yield position, first, entry[key]


def _in_verdict(document: Data) -> Iterator[Violation]:
    """Every recorded call has exactly one verdict on a target."""
    for place, recording in enumerate(document["recordings"]):
        for position, target in enumerate(recording["targets"]):
            calls = sum(share["calls"] for share in target["shares"].values())
            if calls != recording["all"]["calls"]:
                found = f"found {calls} calls together, expected {recording['all']['calls']}, which were recorded"
                yield Violation(f"$.recordings[{place}].targets[{position}].shares", found)


def _in_study(study: Data) -> Iterator[Violation]:
    for position, target in enumerate(study["targets"]):
        statuses = Counter(function["status"] for function in target["functions"] if not function.get("successor_of"))
        for status, count in target["functions_by_status"].items():
            if statuses[status] != count:
                found = f"found {count}, but {statuses[status]} of its functions have that status"
                yield Violation(f"$.targets[{position}].functions_by_status.{status}", found)


def _in_comparison(comparison: Data) -> Iterator[Violation]:
    """Each list of a pair contains a test at most once."""
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
                        f"{where}[{place}]", f"has the same test as {where}[{seen[key]}], expected each test once"
                    )
                seen.setdefault(key, place)


def _in_site(_: Data) -> Iterator[Violation]:
    """The schema says everything."""
    return iter(())


_RULES: Mapping[str, Callable[[Data], Iterator[Violation]]] = {
    "manifest": in_manifest,
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
    "mapping": _in_mapping,
    "site": _in_site,
    "verdict": _in_verdict,
}

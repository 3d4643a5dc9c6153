"""Makes a run file of test reports of other software, with a mapping that says where and of which functions they are.

A run file gets no fact that neither the reports nor the mapping state: it is null or absent, see NOT_RECORDED.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from portbench.errors import BadInput
from portbench.formats.documents import Document, read_document
from portbench.formats.schemas import VERSIONS, violations
from portbench.study.categories import Error, Rules, read_rules
from portbench.study.foreign.junit import read_junit
from portbench.study.foreign.pytest_json import read_pytest_json
from portbench.study.foreign.reported import Report, ReportedTest
from portbench.util.files import write_text
from portbench.util.repository import find_checkout
from portbench.util.strict_json import quoted, shown
from portbench.util.text import escape_control, pluralize

Data = dict[str, Any]

READERS: Mapping[str, Callable[[Path], Report]] = {"pytest-json": read_pytest_json, "junit": read_junit}
"""The reader of each format of reports."""

NOT_RECORDED = (
    "the times of calls, where the operations ran, where in a test it failed, the causes of errors, and all of the "
    "environment that the mapping does not state"
)
_CASE_LIMIT = 300
_MESSAGE_LIMIT = 8_000
_TRACEBACK_LIMIT = 16_000
_OUTPUT_LIMIT = 60_000
_WORST = ("skipped", "passed", "failed", "crashed")


@dataclass(frozen=True)
class Imported:
    """An imported run file. ``outcomes`` counts results; ``left_out`` are ids of tests that no entry matches.

    ``unused`` are positions of entries of the mapping that match no test; ``not_collected`` are test files.
    """

    path: Path
    runs: int
    outcomes: Mapping[str, int]
    left_out: tuple[str, ...]
    unused: tuple[int, ...]
    not_collected: tuple[str, ...]


def import_results(paths: Sequence[Path], form: str, mapping_path: Path, out: Path) -> Imported:
    """Writes the run file ``out`` of reports in one format (a key of READERS): the first is run 1, and so on.

    Raises BadInput for a report or a mapping that is not valid, for a mapping that matches no test, for two tests that
    get the same id, and for a text that is too long for a run file; then it writes nothing. Raises StorageFailed where
    a file cannot be read or written.
    """
    mapping = read_document(mapping_path, "mapping")
    reports = [(path, READERS[form](path)) for path in paths]
    chosen = _Chosen(mapping)
    rules = read_rules(find_checkout().runners, [mapping.data["target"]["framework"]])
    results: list[Data] = []
    for run, (path, report) in enumerate(reports, 1):
        for function, test, reported in chosen.of(path, report):
            results.append(_result(function, test, run, reported, mapping.data["target"]["framework"], rules))
    if not results:
        example = reports[0][1].tests[0].node
        raise BadInput(
            f"{shown(mapping_path)}: $.tests: no entry gives a function to any of the "
            f"{pluralize(sum(len(report.tests) for _, report in reports), 'test')} of {shown(paths[0])}, "
            f"such as {quoted(example)}",
            'Change $.tests: each "nodes" is a glob over such ids.',
        )
    document = _run_file(mapping, [report for _, report in reports], results)
    if problems := violations("run", document):
        raise BadInput(
            f"{', '.join(shown(path) for path in paths)}: no valid run file can be made of this: "
            f"{problems[0].path}: {problems[0].sentence}",
            'Change that in the report, or leave the test out: "function": null in $.tests of the mapping.',
        )
    write_text(out, json.dumps(document, indent=1, allow_nan=False) + "\n")
    return Imported(
        path=out,
        runs=len(reports),
        outcomes=Counter(result["outcome"] for result in results),
        left_out=tuple(sorted(chosen.left_out)),
        unused=tuple(sorted(set(range(len(mapping.data["tests"]))) - chosen.used)),
        not_collected=tuple(sorted({file for _, report in reports for file in report.not_collected})),
    )


class _Chosen:
    """The tests that a mapping chooses, each with its function and its id without what the mapping removes."""

    def __init__(self, mapping: Document) -> None:
        self.path = mapping.path
        self.removed = mapping.data.get("remove", [])
        # The brackets of an id enclose parameters. They are not a set of characters here.
        self.entries = [(entry["nodes"].replace("[", "[[]"), entry["function"]) for entry in mapping.data["tests"]]
        self.used: set[int] = set()
        self.left_out: set[str] = set()

    def of(self, path: Path, report: Report) -> list[tuple[str, str, ReportedTest]]:
        found: dict[tuple[str, str], ReportedTest] = {}
        for reported in report.tests:
            function = self._function(reported.node)
            if function is None:
                continue
            key = (function, self._test(path, reported.node))
            other = found.setdefault(key, reported)
            if other.node != reported.node:
                raise BadInput(
                    f"{shown(path)}: {quoted(other.node)} and {quoted(reported.node)} both get the id "
                    f"{quoted(key[1])} of {escape_control(function)}",
                    f"Change $.remove in {shown(self.path)}, so that their ids differ, or leave one out.",
                )
            # A test may be reported twice, as failed and with an error after it: the worst counts.
            if _WORST.index(reported.outcome) > _WORST.index(other.outcome):
                found[key] = reported
        return [(function, test, reported) for (function, test), reported in found.items()]

    def _function(self, node: str) -> str | None:
        for position, (pattern, function) in enumerate(self.entries):
            if fnmatchcase(node, pattern):
                self.used.add(position)
                return None if function is None else str(function)
        self.left_out.add(node)
        return None

    def _test(self, path: Path, node: str) -> str:
        test = node
        for text in self.removed:
            test = test.replace(text, "")
        if not test:
            raise BadInput(
                f"{shown(path)}: the mapping removes all of the id {quoted(node)}",
                f"Change $.remove in {shown(self.path)}.",
            )
        return test


def _result(function: str, test: str, run: int, reported: ReportedTest, framework: str, rules: Rules) -> Data:
    error = reported.error
    known = Error(error.type, error.message) if error else None
    return {
        "function": function,
        "test": test,
        "run": run,
        "case": _clipped(reported.node, _CASE_LIMIT),
        "outcome": reported.outcome,
        "reason": reported.reason,
        "phase": None,
        "category": rules.category(framework, reported.outcome, known),
        "error": error
        and {
            "type": error.type,
            "message": _clipped(error.message, _MESSAGE_LIMIT),
            "traceback": _clipped(error.traceback, _TRACEBACK_LIMIT),
            "causes": [],
        },
        "exit": dict.fromkeys(("code", "signal", "oom_killed", "peak_memory_bytes"))
        if reported.outcome == "crashed"
        else None,
        "placement": {"verdict": "unknown", "evidence": []},
        "calls": [],
        "output": {
            "text": _clipped(reported.output, _OUTPUT_LIMIT),
            "total_bytes": len(reported.output.encode("utf-8")),
        },
        "worker": None,
        "case_ns": None if reported.call_s is None else round(reported.call_s * 1e9),
    }


def _run_file(mapping: Document, reports: Sequence[Report], results: Sequence[Data]) -> Data:
    target, stated = mapping.data["target"], mapping.data["environment"]
    pythons = {report.python for report in reports}
    started, ended = [r.started_s for r in reports], [r.ended_s for r in reports]
    document: Data = {
        "schema": "portbench/run",
        "schema_version": VERSIONS["run"],
        "run_id": "",
        "target": target,
        "imported": {"source": mapping.data["source"], "not_recorded": NOT_RECORDED},
        "manifest": _manifest(mapping, results),
        # No call is timed, so nothing depends on the kind of protocol or on its synchronization.
        "protocol": {
            "name": "cold",
            "runs": len(reports),
            "timeout_s": None,
            "steady_budget_s": None,
            "shuffle": None,
            "mutant": None,
            "sync": "complete",
            "cold": "test",
            "memory_bytes": None,
        },
        "environment": {
            "machine": stated["machine"],
            **{key: stated.get(key) for key in ("os", "kernel", "cpu_model", "cpu_cores", "memory_bytes")},
            "container": None,
            "image_digest": None,
            "python": stated.get("python", pythons.pop() if len(pythons) == 1 else None),
            "packages": {**stated.get("packages", {}), target["framework"]: target["version"]},
            "runner_commit": None,
            "runner_sha256": None,
            "variables": {},
            "device": stated.get("device", {}),
        },
        "started_at": None if None in started else _instant(min(time for time in started if time is not None)),
        "ended_at": None if None in ended else _instant(max(time for time in ended if time is not None)),
        "results": results,
    }
    # The same content always has the same id.
    document["run_id"] = hashlib.sha256(json.dumps(document).encode()).hexdigest()[:32]
    return document


def _manifest(mapping: Document, results: Sequence[Data]) -> Data:
    # The mapping takes the place of a manifest. Its digest is in the name, because each device has its own mapping.
    tests = {(result["function"], result["test"]) for result in results}
    count = Counter(function for function, _ in tests)
    functions = dict.fromkeys(entry["function"] for entry in mapping.data["tests"] if entry["function"])
    return {
        "name": f"imported-{mapping.sha256[:12]}",
        "sha256": mapping.sha256,
        "selection": [],
        "functions": [
            {"name": name, "tests": count[name], **dict.fromkeys(("decile", "uses", "top20", "listed_as"))}
            for name in functions
        ],
    }


def _clipped(text: str, limit: int) -> str:
    """At most ``limit`` characters of a text: its beginning and its end."""
    if len(text) <= limit:
        return text
    mark = f"\n[... {len(text) - limit} characters left out ...]\n"
    half = (limit - len(mark)) // 2
    return text[:half] + mark + text[-half:]


def _instant(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")

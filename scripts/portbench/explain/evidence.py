"""Reads everything that a study holds of one function: the results of each test on each target and machine.

All text comes out of run files and is not trusted: printers escape it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import duckdb

from portbench.errors import BadInput
from portbench.study.model import FUNCTION_KEY, Target
from portbench.study.store import Study, connect, create_views
from portbench.study.summary import Row, analyse, fetch_dicts
from portbench.study.tables_check import reading
from portbench.util.sql import load_sql
from portbench.util.text import did_you_mean, escape_control, pluralize

_WORST_FIRST = ("error", "failed", "flaky", "passed", "unknown", "skipped")


@dataclass(frozen=True)
class TestEvidence:
    """One test on one target: the result of each run, in order, and a summary of its samples."""

    id: str
    verdict: str
    results: tuple[Row, ...]
    times: Row | None
    """None where nothing was timed."""

    # Keeps pytest from collecting this class.
    __test__ = False

    @property
    def representative(self) -> Row:
        """The result of the first run that did not pass, or else of the first run."""
        return next((row for row in self.results if row["outcome"] != "passed"), self.results[0])


@dataclass(frozen=True)
class TargetEvidence:
    """A function on one target and machine. ``successor_of``: the function that it replaces, or ''."""

    target: Target
    machine: str
    sync: str
    function: str
    successor_of: str
    status: str
    tests: tuple[TestEvidence, ...]
    runs: Mapping[str, Row]
    """The run files by their run_id: manifest, protocol, environment."""

    def run_of(self, test: TestEvidence) -> Row:
        """The run file of a test's representative result."""
        return self.runs[test.representative["run_id"]]


@dataclass(frozen=True)
class Explanation:
    """What a study holds of a function; the oldest version comes first."""

    function: str
    targets: tuple[TargetEvidence, ...]

    @property
    def worst(self) -> tuple[TargetEvidence, TestEvidence]:
        """The test to repeat: the first that fails, or else is flaky, or passes."""
        found = [(target, test) for target in self.targets for test in target.tests]
        return min(found, key=lambda each: (_WORST_FIRST.index(each[1].verdict), each[0].sync != "complete"))


def explain(study: Study, function: str, test: str = "", target: str = "") -> Explanation:
    """Collects what ``study`` holds of a function; with ``test`` or ``target``, of that one alone.

    Raises BadInput, with similar names, where the study has no such function, test or target.
    """
    with reading(study.tables), connect() as connection:
        create_views(connection, study.tables, function=function)
        analyse(connection)
        connection.execute(load_sql("explain", "explain"))
        targets = _targets(connection)
    if not targets:
        raise _unknown("function", function, _functions(study), "The study")
    if target:
        known = {name: found for found in targets for name in _names(found.target)}
        if target not in known:
            raise _unknown("target", target, known, f"{function} in this study")
        targets = [found for found in targets if target in _names(found.target)]
    if test:
        ids = {found.id for entry in targets for found in entry.tests}
        if test not in ids:
            raise _unknown("test", test, ids, function)
        chosen = [replace(entry, tests=tuple(found for found in entry.tests if found.id == test)) for entry in targets]
        targets = [entry for entry in chosen if entry.tests]
    return Explanation(function, tuple(targets))


def _functions(study: Study) -> set[str]:
    with reading(study.tables), connect() as connection:
        create_views(connection, study.tables)
        return {row["function"] for row in fetch_dicts(connection, "SELECT DISTINCT function FROM results")}


def as_data(explanation: Explanation) -> dict[str, Any]:
    """The explanation as data for JSON."""
    return {
        "function": explanation.function,
        "targets": [
            {
                "target": str(entry.target),
                "machine": entry.machine,
                "sync": entry.sync,
                "function": entry.function,
                "successor_of": entry.successor_of or None,
                "status": entry.status,
                "tests": [
                    {"id": test.id, "verdict": test.verdict, "results": list(test.results), "times": test.times}
                    for test in entry.tests
                ],
                "runs": list(entry.runs.values()),
            }
            for entry in explanation.targets
        ],
    }


def _targets(connection: duckdb.DuckDBPyConnection) -> list[TargetEvidence]:
    runs = {row["run_id"]: row | {"environment": json.loads(row["environment"])} for row in _rows(connection, "runs")}
    times = {(*_key(row), row["test"]): _facts(row) for row in _rows(connection, "explained_times")}
    results: dict[tuple[str, ...], dict[str, list[Row]]] = {}
    for row in fetch_dicts(connection, "FROM explained_results ORDER BY test, run, run_id"):
        results.setdefault(_key(row), {}).setdefault(row["test"], []).append(row)
    found = []
    for row in _rows(connection, "explained_functions"):
        key = _key(row)
        tests = tuple(
            TestEvidence(test, rows[0]["verdict"], tuple(map(_facts, rows)), times.get((*key, test)))
            for test, rows in results[key].items()
        )
        used = {result["run_id"] for test in tests for result in test.results}
        found.append(
            TargetEvidence(
                target=Target(row["framework"], row["version"], row["device"]),
                machine=row["machine"],
                sync=row["sync"],
                function=row["function"],
                successor_of=row["successor_of"],
                status=row["status"],
                tests=tests,
                runs={run_id: runs[run_id] for run_id in sorted(used)},
            )
        )
    return sorted(found, key=lambda entry: (entry.target.order, entry.machine, entry.sync, entry.successor_of))


def _rows(connection: duckdb.DuckDBPyConnection, view: str) -> list[Row]:
    return fetch_dicts(connection, f"FROM {view}")


def _key(row: Row) -> tuple[str, ...]:
    return tuple(row[column] for column in FUNCTION_KEY)


def _facts(row: Row) -> Row:
    return {name: value for name, value in row.items() if name not in (*FUNCTION_KEY, "test", "verdict")}


def _names(target: Target) -> tuple[str, str]:
    return str(target), f"{target.framework}-{target.device}"


def _unknown(kind: str, given: str, known: Collection[str], where: str) -> BadInput:
    listed = f"Known: {', '.join(sorted(known))}" if len(known) <= 10 else f"It has {pluralize(len(known), kind)}."
    return BadInput(
        f"{escape_control(where)} has no {kind} {escape_control(json.dumps(given))}{did_you_mean(given, known)}",
        escape_control(listed),
    )

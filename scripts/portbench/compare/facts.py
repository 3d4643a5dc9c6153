"""Reads one side of a comparison from a study: each test's verdict and samples, and the environments of its runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict, cast

import duckdb

from portbench.analysis.configurations import Configuration
from portbench.study.model import TargetKey
from portbench.study.summary import Row, fetch_dicts
from portbench.util.sql import load_sql


class Key(NamedTuple):
    """Identifies a test on both sides. ``successor_of``: the function that ``function`` replaces, or ''."""

    function: str
    successor_of: str
    test: str


Run = tuple[str, int]
"""A pass over the manifest in new processes: the run_id of the run file, and the number of the run in it."""

Samples = Mapping[int, Mapping[Run, list[float]]]
"""Nanoseconds of each sample of a test, by timed call and run."""


@dataclass(frozen=True)
class TestFacts:
    """A test on one side, over all of its runs. ``samples``: by protocol; empty unless it passed in every run.

    ``placement`` is the worst of the runs that passed; ``categories`` are those of the runs that failed.
    """

    verdict: str
    passed_runs: int
    ran_runs: int
    categories: tuple[str, ...]
    is_wrong: bool
    placement: str
    host_operations: tuple[str, ...]
    skip_reason: str
    is_removed: bool
    evidence: str
    has_failed_sync_check: bool
    samples: Mapping[str, Samples]

    # Keeps pytest from collecting this class.
    __test__ = False


class RunRow(TypedDict):
    """A run file: the columns of the table runs that a comparison reads. ``environment`` is that of the document."""

    framework: str
    manifest: str
    manifest_sha256: str
    selection: list[str] | None
    runs: int
    protocol: str
    timeout_s: float
    steady_budget_s: float
    shuffle: int | None
    memory_bytes: int | None
    sync: str
    cold: str
    environment: dict[str, Any]


@dataclass(frozen=True)
class SideFacts:
    """One side: its tests, and its run files with their environments, the oldest first.

    ``with_other_sync``: tests of the same target and machine with the other synchronization.
    """

    side: Configuration
    tests: Mapping[Key, TestFacts]
    run_files: tuple[RunRow, ...]
    with_other_sync: frozenset[Key]

    @property
    def first_calls(self) -> frozenset[str]:
        """What its first calls are the first of: ``test`` or ``process``, the values of --cold."""
        return frozenset(row["cold"] for row in self.run_files)

    @property
    def runs(self) -> int:
        """How often the tests ran, each time in new processes: the most of any selection of them, such as a shard."""
        found: Counter[tuple[str, ...]] = Counter()
        for row in self.run_files:
            found[tuple(row["selection"] or ())] += row["runs"]
        return max(found.values(), default=0)


def read_side(connection: duckdb.DuckDBPyConnection, side: Configuration) -> SideFacts:
    """Reads a side from a study. ``connection`` has the views of ``portbench.study.summary.analyse``."""
    for name, value in zip(TargetKey._fields, side.key, strict=True):
        connection.execute(f"SET VARIABLE {name} = ?", [value])
    samples = _samples(connection)
    tests = {
        (key := _key(row)): TestFacts(
            verdict=row["verdict"],
            passed_runs=row["passed_runs"],
            ran_runs=row["ran_runs"],
            categories=tuple(row["categories"]),
            is_wrong=row["is_wrong"],
            placement=row["placement"],
            host_operations=tuple(row["host_operations"]),
            skip_reason=row["skip_reason"] or "",
            is_removed=row["is_removed"],
            evidence=_first_line(row["evidence"] or ""),
            has_failed_sync_check=row["has_failed_sync_check"],
            samples=samples.get(key, {}),
        )
        for row in fetch_dicts(connection, load_sql("compare", "tests"))
    }
    return SideFacts(side, tests, tuple(_run_files(connection, side)), _with_other_sync(connection, side))


def _samples(connection: duckdb.DuckDBPyConnection) -> Mapping[Key, Mapping[str, Samples]]:
    found: dict[Key, dict[str, dict[int, dict[Run, list[float]]]]] = {}
    for function, former, test, protocol, call, run_id, run, ns in connection.sql(
        load_sql("compare", "times")
    ).fetchall():
        calls = found.setdefault(Key(function, former, test), {}).setdefault(protocol, {})
        calls.setdefault(call, {})[run_id, run] = ns
    return found


def _run_files(connection: duckdb.DuckDBPyConnection, side: Configuration) -> list[RunRow]:
    query = "FROM runs WHERE (framework, version, device, machine, sync) = (?, ?, ?, ?, ?) ORDER BY started_at, run_id"
    relation = connection.execute(query, side.key)
    names = [column[0] for column in relation.description]
    rows: list[Row] = [dict(zip(names, row, strict=True)) for row in relation.fetchall()]
    return [cast("RunRow", row | {"environment": json.loads(row["environment"])}) for row in rows]


def _with_other_sync(connection: duckdb.DuckDBPyConnection, side: Configuration) -> frozenset[Key]:
    query = (
        "SELECT DISTINCT function, successor_of, test FROM verdicts"
        " WHERE (framework, version, device, machine) = (?, ?, ?, ?) AND sync <> ?"
    )
    return frozenset(Key(*row) for row in connection.execute(query, side.key).fetchall())


def _key(row: Row) -> Key:
    return Key(row["function"], row["successor_of"], row["test"])


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")

"""What a study holds of one side of a comparison: each test's verdict and samples, and the environments of its runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import duckdb

from portbench.analysis.configurations import Configuration
from portbench.study.summary import Row, fetch_dicts
from portbench.util.sql import load_sql


class Key(NamedTuple):
    """What the tests of two sides are matched by. ``successor_of``: '' unless tried in place of that function."""

    function: str
    successor_of: str
    test: str


Run = tuple[str, int]
"""A pass over the manifest in fresh processes: the id of the run file, and its number there."""

Samples = Mapping[int, Mapping[Run, list[float]]]
"""ns a call: of each timed call of a test, by run."""


@dataclass(frozen=True)
class TestFacts:
    """A test on one side, over all of its runs. ``samples``: by protocol, only where it passed in every run.

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
    is_unavailable: bool
    evidence: str
    is_unproven: bool
    samples: Mapping[str, Samples]

    # pytest collects classes of this name; this one is none of its tests.
    __test__ = False


@dataclass(frozen=True)
class SideFacts:
    """One side: its tests, and its run files with their environments, the oldest first.

    ``with_other_sync``: tests of the same target and machine whose timed regions ended elsewhere.
    """

    side: Configuration
    tests: Mapping[Key, TestFacts]
    run_files: tuple[Row, ...]
    with_other_sync: frozenset[Key]

    @property
    def runs(self) -> int:
        """How often the tests were run, each time in fresh processes, over all run files."""
        return sum(row["runs"] for row in self.run_files)


def read_side(connection: duckdb.DuckDBPyConnection, side: Configuration) -> SideFacts:
    """Reads a side from a study; ``portbench.analysis.analyse`` was called on the connection."""
    for name in ("framework", "version", "device", "machine", "sync"):
        connection.execute(f"SET VARIABLE {name} = ?", [getattr(side, name)])
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
            is_unavailable=row["is_unavailable"],
            evidence=_first_line(row["evidence"] or ""),
            is_unproven=row["is_unproven"],
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


def _run_files(connection: duckdb.DuckDBPyConnection, side: Configuration) -> list[Row]:
    query = (
        "SELECT * REPLACE (coalesce(sync, 'complete') AS sync) FROM runs"
        " WHERE (framework, version, device, machine, coalesce(sync, 'complete')) = (?, ?, ?, ?, ?)"
        " ORDER BY started_at, run_id"
    )
    relation = connection.execute(query, side.key)
    names = [column[0] for column in relation.description]
    rows: list[dict[str, Any]] = [dict(zip(names, row, strict=True)) for row in relation.fetchall()]
    return [row | {"environment": json.loads(row["environment"])} for row in rows]


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

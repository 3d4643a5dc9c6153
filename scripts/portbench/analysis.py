"""The analysis as published: the status of each function on each target and machine, rates over functions, times.

The rules stand in sql/analysis.sql; here their rows become the summary of a study.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from itertools import groupby
from typing import Any

import duckdb

STATUSES = ("pass", "partial", "complete", "none")
VERDICTS = ("passed", "failed", "flaky", "skipped")

_KEY = "framework, version, device, machine, function, successor_of"

Row = dict[str, Any]
Counts = dict[tuple[str, ...], dict[str, int]]


@dataclass(frozen=True)
class Target:
    """What was run: framework, version and device."""

    framework: str
    version: str
    device: str

    def __str__(self) -> str:
        return f"{self.framework}-{self.version}-{self.device}"

    @property
    def order(self) -> tuple[Any, ...]:
        """Sorts targets by framework, from the oldest version to the newest, and by device."""
        numbers = [(int(part), "") if part.isdecimal() else (-1, part) for part in self.version.split(".")]
        return self.framework, numbers, self.version, self.device


@dataclass(frozen=True)
class RunFile:
    """A run file of a study. ``sha256`` is that of the file's bytes, ``manifest_sha256`` that of the manifest's."""

    run_id: str
    sha256: str
    target: Target
    machine: str
    manifest: str
    manifest_sha256: str
    started_at: str


def statements(name: str) -> str:
    """The SQL of ``sql/<name>.sql``."""
    return (resources.files("portbench") / "sql" / f"{name}.sql").read_text("utf-8")


def runs_of(summary: Row) -> list[RunFile]:
    """The run files of a study, from its summary."""
    return [
        RunFile(
            run_id=row["run_id"],
            sha256=row["sha256"],
            target=Target(**row["target"]),
            machine=row["machine"],
            manifest=row["manifest"]["name"],
            manifest_sha256=row["manifest"]["sha256"],
            started_at=row["started_at"],
        )
        for row in summary["run_files"]
    ]


def analyse(connection: duckdb.DuckDBPyConnection) -> None:
    """Makes the tables and views of sql/analysis.sql from runs, results and samples."""
    connection.execute(statements("analysis"))


def summarise(connection: duckdb.DuckDBPyConnection, runs: Iterable[RunFile], tables: str) -> Row:
    """The summary of a study whose tables ``connection`` shows and whose run files are ``runs``; see ``analyse``.

    It depends on the run files alone, not on their order. ``tables`` is the name of the tables' folder.
    """
    ordered = sorted(runs, key=lambda run: (run.target.order, run.machine, run.started_at, run.run_id))
    return {
        "schema": "portbench/study",
        "schema_version": 2,
        "tables": tables,
        "run_files": [_run_file(run) for run in ordered],
        "targets": _targets(connection),
    }


def rows_of(connection: duckdb.DuckDBPyConnection, query: str) -> list[Row]:
    """The rows of a query as dictionaries."""
    relation = connection.sql(query)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def _run_file(run: RunFile) -> Row:
    return {
        "run_id": run.run_id,
        "sha256": run.sha256,
        "target": asdict(run.target),
        "machine": run.machine,
        "manifest": {"name": run.manifest, "sha256": run.manifest_sha256},
        "started_at": run.started_at,
    }


def _targets(connection: duckdb.DuckDBPyConnection) -> list[Row]:
    categories = _counts(connection, "categories")
    placements = _counts(connection, "placements")
    reasons = _counts(connection, "skip_reasons")
    rows = rows_of(connection, f"FROM functions ORDER BY {_KEY}")
    targets = []
    for (target, machine), group in groupby(rows, lambda row: (_target(row), row["machine"])):
        functions = []
        for row in group:
            key = tuple(row[part] for part in _KEY.split(", "))
            functions.append(
                {
                    "name": row["function"],
                    "successor_of": row["successor_of"] or None,
                    "status": row["status"],
                    "tests_by_verdict": {verdict: row[verdict] for verdict in VERDICTS},
                    "tests_by_category": categories.get(key, {}),
                    "tests_by_placement": placements.get(key, {}),
                    "skipped": [{"reason": why, "tests": tests} for why, tests in reasons.get(key, {}).items()],
                    "cold_mean_ns": row["cold_mean_ns"],
                    "steady_median_ns": row["steady_median_ns"],
                }
            )
        targets.append((target, machine, functions))
    targets.sort(key=lambda entry: (entry[0].order, entry[1]))
    return [_target_summary(*entry) for entry in targets]


def _target_summary(target: Target, machine: str, functions: Sequence[Row]) -> Row:
    own = [function["status"] for function in functions if function["successor_of"] is None]
    counts = {status: own.count(status) for status in STATUSES}
    rated = sum(counts.values()) - counts["none"]
    percent = {status: 100 * counts[status] / rated for status in STATUSES[:-1]} if rated else None
    return {
        "target": asdict(target),
        "machine": machine,
        "functions_by_status": counts,
        "percent_of_rated_functions": percent,
        "functions": functions,
    }


def _target(row: Row) -> Target:
    return Target(row["framework"], row["version"], row["device"])


def _counts(connection: duckdb.DuckDBPyConnection, view: str) -> Counts:
    """The rows of a view as what was seen → in how many tests, for each function of each target and machine."""
    counts: Counts = {}
    for *key, seen, tests in connection.sql(f"SELECT {_KEY}, seen, tests FROM {view} ORDER BY ALL").fetchall():
        counts.setdefault(tuple(key), {})[seen] = tests
    return counts

"""The summary of a study: the status and times of each function on each target and machine, and rates over functions.

sql/analysis.sql has the rules of the paper, sql/triage.sql, sql/missing.sql and sql/cold_split.sql the rest. This
module runs them and makes a summary of their rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import duckdb

from portbench.study.document import (
    ClassificationDigests,
    ColdSplit,
    DriftEntry,
    DriftValue,
    FailureCause,
    FlakyTest,
    FunctionEntry,
    OverruledTest,
    StudySummary,
    TargetEntry,
    WrongValues,
)
from portbench.study.drift import Drift, drifts
from portbench.study.failures import put_fingerprints
from portbench.study.model import COMPLETE, FUNCTION_KEY, RunFile, Target, TargetKey
from portbench.study.parquet import VIEWS, connect, create_views, set_variable
from portbench.util.sql import load_sql

STATUSES = ("all_pass", "some_fail", "all_fail", "not_testable")
VERDICTS = ("passed", "failed", "flaky", "skipped", "error")

Row = dict[str, Any]
Key = tuple[str, ...]
Seen = dict[Key, dict[str, Any]]


def runs_of(summary: StudySummary) -> list[RunFile]:
    """The run files of a study, by its summary."""
    return [RunFile.from_entry(entry) for entry in summary["run_files"]]


def analyse(connection: duckdb.DuckDBPyConnection, strict_placement: bool = False) -> None:
    """Creates the tables and views of the analysis from runs, results and samples.

    With ``strict_placement`` a test that passed, but not wholly on the device, counts as failed.
    """
    analyse_failures(connection, strict_placement)
    for name in ("analysis", "missing", "triage", "cold_split"):
        connection.execute(load_sql("study", name))


def analyse_failures(connection: duckdb.DuckDBPyConnection, strict_placement: bool = False) -> None:
    """Creates the views of ``analyse`` that need no verdicts: the recorded results, and the failures by cause."""
    set_variable(connection, "strict_placement", strict_placement)
    put_fingerprints(connection, "results", "fingerprint IS NULL")
    connection.execute(load_sql("study", "recorded"))


def target_entries(tables: Path, only: TargetKey | None = None, threads: int = 0) -> list[TargetEntry]:
    """The entries of a summary for all targets of ``tables``, or for one of them."""
    with connect(threads=threads) as connection:
        create_views(connection, tables, only)
        analyse(connection)
        return _targets(connection)


def summarise(
    connection: duckdb.DuckDBPyConnection,
    runs: Iterable[RunFile],
    tables: str,
    strict_placement: bool = False,
    classification: ClassificationDigests | None = None,
    targets: Iterable[TargetEntry] | None = None,
) -> StudySummary:
    """The summary of the study that ``connection`` shows, after ``analyse`` with the same ``strict_placement``.

    It depends on the run files ``runs``, not on their order, and on ``classification``: the digests of what the
    categories were derived from, None if the runners recorded them. ``tables`` is the name of the tables' folder. If
    ``targets`` are given, ``analyse_failures`` is enough.
    """
    return {
        "schema": "portbench/study",
        "schema_version": 5,
        "tables": tables,
        "rows": _rows(connection),
        "strict_placement": strict_placement,
        "classification": classification,
        "run_files": [run.as_entry() for run in sorted(runs, key=lambda run: run.order)],
        "drift": [_drift(drift) for drift in drifts(connection)],
        "targets": sorted(_targets(connection) if targets is None else targets, key=_order),
        "failures": _failures(connection),
        "overruled": [_overruled(row) for row in fetch_dicts(connection, "FROM overruled_tests ORDER BY ALL")],
    }


def fetch_dicts(connection: duckdb.DuckDBPyConnection, query: str) -> list[Row]:
    """The rows of a query as dictionaries."""
    relation = connection.sql(query)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def _rows(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """The number of rows of the tables to which each run file adds its own."""
    counts = {}
    for table in ("runs", "results", "samples"):
        ((counts[table],),) = connection.sql(f"SELECT count(*) FROM {VIEWS[table]}").fetchall()
    return counts


def _failures(connection: duckdb.DuckDBPyConnection) -> list[FailureCause]:
    rows = fetch_dicts(connection, "FROM causes ORDER BY tests DESC, results DESC, framework, cause, predicted")
    return cast("list[FailureCause]", rows)


def _drift(drift: Drift) -> DriftEntry:
    values: list[DriftValue] = [{"value": value, "run_files": list(digests)} for value, digests in drift.values.items()]
    return {"target": drift.target or None, "machine": drift.machine or None, "fact": drift.fact, "values": values}


def _overruled(row: Row) -> OverruledTest:
    target = {name: row[name] for name in ("framework", "version", "device")}
    rest = {name: row[name] for name in row if name not in (*target, "successor_of")}
    return cast("OverruledTest", {"target": target, **rest, "successor_of": row["successor_of"] or None})


def _targets(connection: duckdb.DuckDBPyConnection) -> list[TargetEntry]:
    functions: dict[TargetKey, list[FunctionEntry]] = {}
    for row, function in zip(*_functions(connection), strict=True):
        functions.setdefault(TargetKey.of_row(row), []).append(function)
    checks = {TargetKey.of_row(row): row for row in fetch_dicts(connection, "FROM sync_checks")}
    missing = {TargetKey.of_row(row): row for row in fetch_dicts(connection, "FROM missing_functions")}
    return [_target(key, rows, checks.get(key), missing.get(key)) for key, rows in functions.items()]


def _order(entry: TargetEntry) -> tuple[Any, ...]:
    return Target(**entry["target"]).order, entry["machine"], entry["sync"] != COMPLETE, entry["sync"]


def _functions(connection: duckdb.DuckDBPyConnection) -> tuple[list[Row], list[FunctionEntry]]:
    """The rows of the view functions, and the summary of each."""
    categories = _seen(connection, "categories")
    placements = _seen(connection, "placements")
    values = _seen(connection, "value_verdicts")
    controls = _seen(connection, "controls")
    strict = _seen(connection, "strict_modes")
    reasons = _seen(connection, "skip_reasons")
    missing = _seen(connection, "missing_tests")
    operations = _seen(connection, "operations_on_host")
    failed_checks = _seen(connection, "failed_sync_checks")
    splits = _cold_splits(connection)
    wrong: dict[Key, list[WrongValues]] = _tests(connection, "wrong_values")
    flaky: dict[Key, list[FlakyTest]] = _tests(connection, "flaky_tests")
    rows = fetch_dicts(connection, f"FROM functions ORDER BY {', '.join(FUNCTION_KEY)}")
    return rows, [
        {
            "name": row["function"],
            "successor_of": row["successor_of"] or None,
            "status": row["status"],
            "tests_by_verdict": {verdict: row[verdict] for verdict in VERDICTS},
            "tests_by_category": categories.get(key, {}),
            "tests_by_placement": placements.get(key, {}),
            "tests_by_value_verdict": values.get(key, {}),
            "tests_by_cpu_control": controls.get(key, {}),
            "tests_by_full_precision": strict.get(key, {}),
            "flaky_tests": flaky.get(key, []),
            "wrong_values": wrong.get(key, []),
            "host_operations": [{"name": name, "tests": tests} for name, tests in operations.get(key, {}).items()],
            "tests_with_failed_sync_check": failed_checks.get(key, {}).get("tests", 0),
            "missing_tests": missing.get(key, {}).get("tests"),
            "skipped": [{"reason": why, "tests": tests} for why, tests in reasons.get(key, {}).items()],
            "cold_mean_ns": row["cold_mean_ns"],
            "cold_split": splits.get(key),
            "steady_median_ns": row["steady_median_ns"],
        }
        for row, key in ((row, _key(row)) for row in rows)
    ]


def _target(key: TargetKey, functions: list[FunctionEntry], checks: Row | None, missing: Row | None) -> TargetEntry:
    own = [function["status"] for function in functions if function["successor_of"] is None]
    counts = {status: own.count(status) for status in STATUSES}
    rated = sum(counts.values()) - counts["not_testable"]
    percent = {status: 100 * counts[status] / rated for status in STATUSES[:-1]} if rated else None
    worst = checks["worst"] if checks else None
    return {
        "target": {"framework": key.framework, "version": key.version, "device": key.device},
        "machine": key.machine,
        "sync": key.sync,
        "sync_checks": {
            "passed": checks["passed"] if checks else 0,
            "failed": checks["failed"] if checks else 0,
            "reason": worst["reason"] if worst else None,
            "seen_fraction": checks["seen_fraction"] if checks else None,
        },
        "missing": {"functions": missing["functions"], "tests": missing["tests"]} if missing else None,
        "functions_by_status": counts,
        "percent_of_rated_functions": percent,
        "functions": functions,
    }


def _tests(connection: duckdb.DuckDBPyConnection, view: str) -> dict[Key, list[Any]]:
    """The rows of a view with one row for each test, by function."""
    found: dict[Key, list[Row]] = {}
    for row in fetch_dicts(connection, f"FROM {view} ORDER BY {', '.join(FUNCTION_KEY)}, test"):
        found.setdefault(_key(row), []).append({name: row[name] for name in row if name not in FUNCTION_KEY})
    return found


def _seen(connection: duckdb.DuckDBPyConnection, view: str, value: str = "tests") -> Seen:
    """The rows of a view with the columns seen and ``value``, as seen → value, by function."""
    found: Seen = {}
    query = f"SELECT {', '.join(FUNCTION_KEY)}, seen, {value} FROM {view} ORDER BY ALL"
    for *key, seen, amount in connection.sql(query).fetchall():
        found.setdefault(tuple(key), {})[seen] = amount
    return found


def _cold_splits(connection: duckdb.DuckDBPyConnection) -> dict[Key, ColdSplit]:
    parts = _seen(connection, "cold_part_sums", "ns")
    return {
        _key(row): {
            "calls": row["calls"],
            "overlapping_calls": row["overlapping_calls"],
            "total_ns": row["total_ns"],
            "rest_ns": row["rest_ns"],
            "parts_ns": parts[_key(row)],
        }
        for row in fetch_dicts(connection, "FROM cold_splits")
    }


def _key(row: Row) -> Key:
    return tuple(row[column] for column in FUNCTION_KEY)

"""Reads the failures in a study's tables, and stores what is derived of each in temporary tables.

A failure is a result that neither passed nor was skipped. Its key is ``run_id``, ``function``, ``test``, ``run``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import duckdb

from portbench.study.fingerprints import Failure, cause, fingerprint_of_cause
from portbench.study.parquet import literal

Row = dict[str, Any]

KEY = ("run_id", "function", "test", "run")

_FACTS = (
    *KEY,
    *("framework", "version", "device", "machine", "outcome", "phase", "category", "error_type", "error_message"),
    *("error_causes", "exit_signal", "exit_code", "oom_killed", "value_verdict", "output_text"),
)
_KEY_TYPES = {"run_id": "VARCHAR", "function": "VARCHAR", "test": "VARCHAR", "run": "BIGINT"}


def failures_of(connection: duckdb.DuckDBPyConnection, view: str, where: str = "true") -> list[Row]:
    """The failures in a view of results, with their fingerprints and causes, in no order."""
    query = f"SELECT {', '.join(_FACTS)} FROM {view} WHERE outcome NOT IN ('passed', 'skipped', 'error') AND {where}"
    rows = [dict(zip(_FACTS, row, strict=True)) for row in connection.sql(query).fetchall()]
    for row in rows:
        row["fingerprint"], row["cause"] = _named(_failure(row))
    return rows


@lru_cache(maxsize=4096)
def _named(failure: Failure) -> tuple[str, str]:
    # Runs, dtypes and versions often fail in the same way.
    found = cause(failure)
    return fingerprint_of_cause(failure.framework, found), found


def put_fingerprints(connection: duckdb.DuckDBPyConnection, view: str, where: str = "true") -> None:
    """Creates the table ``fingerprints``: key, fingerprint and cause of the failures in a view of results."""
    rows = failures_of(connection, view, where)
    put(connection, "fingerprints", {"fingerprint": "VARCHAR", "cause": "VARCHAR"}, rows)


def put(connection: duckdb.DuckDBPyConnection, table: str, columns: Mapping[str, Any], rows: Iterable[Row]) -> None:
    """Creates a temporary table of the key of failures and further ``columns``: name → type for DuckDB's from_json."""
    shape = {**_KEY_TYPES, **columns}
    data = json.dumps([{name: row[name] for name in shape} for row in rows])
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT entry.* "
        f"FROM (SELECT unnest(from_json({literal(data)}, {literal(json.dumps([shape]))})) AS entry)"
    )


def _failure(row: Row) -> Failure:
    return Failure(
        framework=row["framework"],
        function=row["function"],
        outcome=row["outcome"],
        phase=row["phase"],
        error_type=row["error_type"],
        error_message=row["error_message"],
        exit_signal=row["exit_signal"],
        exit_code=row["exit_code"],
        oom_killed=row["oom_killed"],
        output=row["output_text"],
    )

"""The parts of the page that take longest, details and comparisons. Another process packs those of a large study."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from portbench.analysis.configurations import Configuration, sides
from portbench.compare.comparison import pairs_of_study
from portbench.page.comparisons import pack_comparisons
from portbench.page.details import pack_details
from portbench.page.packing import pack
from portbench.study.categories import read_rules
from portbench.study.open import Analysed
from portbench.study.parquet import connect, create_views
from portbench.study.summary import Row, analyse, fetch_dicts
from portbench.util.parallel import processes
from portbench.util.repository import find_checkout
from portbench.util.sql import load_sql

_MOST_SAMPLES = 200
_ALL_SAMPLES = 4_000_000

# So many tests take longer to pack than another process to start and to analyse the study again.
_MANY_TESTS = 20_000


@dataclass(frozen=True)
class Parts:
    """The packed parts. ``details``: blocks of consecutive rows, which begin at the rows ``firsts``."""

    details: tuple[str, ...]
    firsts: list[int]
    comparisons: str


@contextmanager
def packing(study: Analysed) -> Iterator[Callable[[], Parts] | None]:
    """Packs the parts of a study with many tests in another process while the caller goes on; nothing for others.

    Yields a function that waits for them, or None. It raises StorageFailed where the system ended the process.
    """
    if count_tests(study.connection) < _MANY_TESTS:
        yield None
        return
    with processes(_parts_of, [(study.tables, study.summary["strict_placement"])], 1) as packed:
        yield lambda: packed()[0]


def _parts_of(tables: Path, strict_placement: bool) -> Parts:
    with connect() as connection:
        create_views(connection, tables)
        analyse(connection, strict_placement)
        prepare(connection, sides(connection))
        return pack_parts(connection)


def pack_parts(connection: duckdb.DuckDBPyConnection) -> Parts:
    """The parts of a study of which ``prepare`` was called."""
    runs = ordered_runs(connection)
    rules = read_rules(find_checkout().runners, [run["framework"] for run in runs])
    details, firsts = pack_details(connection, {run["run_id"]: number for number, run in enumerate(runs)}, rules)
    found = pack_comparisons(connection, sides(connection), pairs_of_study(connection), row_numbers(connection))
    return Parts(details, firsts, pack(found))


def prepare(connection: duckdb.DuckDBPyConnection, targets: Sequence[Configuration]) -> int:
    """Creates the tables and views of page.sql; returns how many samples of a test and protocol the page has at
    most."""
    most = min(_MOST_SAMPLES, _ALL_SAMPLES // (2 * max(count_tests(connection), 1)))
    connection.execute("SET VARIABLE most_samples = ?", [most])
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE page_targets "
        "(target INTEGER, framework VARCHAR, version VARCHAR, device VARCHAR, machine VARCHAR, sync VARCHAR)"
    )
    if targets:
        rows = [[number, *side.key] for number, side in enumerate(targets)]
        connection.executemany("INSERT INTO page_targets VALUES (?, ?, ?, ?, ?, ?)", rows)
    connection.execute(load_sql("page", "page"))
    return most


def count_tests(connection: duckdb.DuckDBPyConnection) -> int:
    """How many tests there are, on all targets."""
    return int(connection.sql("SELECT count(*) FROM verdicts").fetchall()[0][0])


def ordered_runs(connection: duckdb.DuckDBPyConnection) -> list[Row]:
    """The run files in the order of their numbers in the page."""
    runs = [row | {"environment": json.loads(row["environment"])} for row in fetch_dicts(connection, "FROM runs")]
    return sorted(runs, key=lambda run: (Configuration.of(run), run["started_at"] or "", run["run_id"]))


def row_numbers(connection: duckdb.DuckDBPyConnection) -> dict[tuple[str, str, str], int]:
    """The number of each row by framework, function and what it is successor of."""
    rows = connection.execute("SELECT framework, function, successor_of, row FROM page_rows").fetchall()
    return {(framework, function, successor): row for framework, function, successor, row in rows}

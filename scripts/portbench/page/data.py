"""The data of the page, packed: an index of all cells, the times of tests, and the details in blocks.

Each part is JSON, compressed with gzip and written as base64, which no text in it can break out of. The page
unpacks the index at once, times and details on demand. Columns instead of rows, and numbers for what repeats,
keep 6,000 functions on 20 targets within a few megabytes. Text is as it was recorded: the page shows it as text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from portbench.analysis.causes import Cause
from portbench.analysis.configurations import Configuration, device_model, sides
from portbench.analysis.rate_model import Rates
from portbench.compare.comparison import pairs_of_study
from portbench.devices import PREDICTED_MARK
from portbench.explain.texts import environment
from portbench.page.comparisons import VERDICTS, pack_comparisons
from portbench.page.details import pack_details
from portbench.page.overview import MOST_SENTENCES, Overview
from portbench.page.packing import bits, pack, rounded
from portbench.page.repeats import place, repeat_commands
from portbench.study.categories import CATEGORIES, read_rules
from portbench.study.document import StudySummary
from portbench.study.parquet import literal, release_memory
from portbench.study.summary import STATUSES, Row, fetch_dicts
from portbench.util.repository import find_checkout
from portbench.util.sql import load_sql

MARKS = ("host", "mixed", "wrong", "flaky", "contaminated", "unproven")
"""The marks of a cell besides its status, in the order of their bits."""

CATEGORIES_SHOWN = (*CATEGORIES, "removed")
"""The categories of failures in the order of their bits."""
_ROW = ("framework", "function", "successor_of", "decile", "uses", "top20", "listed_as")
_MOST_SAMPLES = 200
_ALL_SAMPLES = 4_000_000
_TARGET = ("framework", "version", "device", "machine", "sync")


@dataclass(frozen=True)
class PageData:
    """The packed parts. ``blocks``: the details of consecutive rows; the index says where each block begins."""

    index: str
    times: str
    comparisons: str
    blocks: tuple[str, ...]


def page_data(
    connection: duckdb.DuckDBPyConnection, summary: StudySummary, intolerable: float, overview: Overview
) -> PageData:
    """Packs a study for the page.

    ``connection`` has the views of a study, and ``analyse`` was called on it; ``summary`` is the study's. From a ratio
    of latencies of ``intolerable`` on the second of two targets is intolerably slow.
    """
    checkout = find_checkout()
    runs = [row | {"environment": json.loads(row["environment"])} for row in fetch_dicts(connection, "FROM runs")]
    runs.sort(key=lambda run: (Configuration.of(run), run["started_at"] or "", run["run_id"]))
    targets = sides(connection)
    models = device_model(connection)
    prepare(connection, targets)
    most_samples = _most_samples(connection)
    rules = read_rules(checkout.runners, [run["framework"] for run in runs])
    numbered = {run["run_id"]: number for number, run in enumerate(runs)}
    packed, firsts = pack_details(connection, numbered, most_samples, rules)
    rows = fetch_dicts(connection, "FROM page_rows ORDER BY row")
    numbers = {(row["framework"], row["function"], row["successor_of"]): row["row"] for row in rows}
    pairs = pairs_of_study(connection)
    comparisons = pack_comparisons(connection, targets, pairs, numbers)
    repeats, repeat_of = repeat_commands(runs, checkout)
    index = {
        "strict_placement": summary["strict_placement"],
        "classified": bool(summary["classification"]),
        "intolerable": intolerable,
        "most_samples": most_samples,
        "statuses": STATUSES,
        "categories": CATEGORIES_SHOWN,
        "marks": MARKS,
        "targets": [
            _target_entry(side, models.get(side), [run for run in runs if Configuration.of(run) == side])
            for side in targets
        ],
        "sentences": overview.sentences[:MOST_SENTENCES],
        "links": overview.links,
        "counts": [_counts(overview.counts.get(side)) for side in targets],
        "by_use": [_by_use(overview.rates.get(side)) for side in targets],
        "modules": _modules([overview.rates.get(side) for side in targets]),
        "causes": [
            [_cause(cause, side.framework, numbers) for cause in overview.causes.get(side, ())] for side in targets
        ],
        "pairs": [[targets.index(side) for side in pair] for pair in pairs],
        "verdicts": VERDICTS,
        "rows": {name: [row[name] for row in rows] for name in _ROW},
        "cells": _cells(connection, len(targets)),
        "blocks": firsts,
        "runs": [_run_entry(run, repeat) for run, repeat in zip(runs, repeat_of, strict=True)],
        "repeats": repeats,
    }
    return PageData(pack(index), pack(_times(connection, len(targets))), pack(comparisons), packed)


def prepare(connection: duckdb.DuckDBPyConnection, targets: Sequence[Configuration]) -> None:
    """Creates the tables and views of page.sql."""
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE page_targets "
        "(target INTEGER, framework VARCHAR, version VARCHAR, device VARCHAR, machine VARCHAR, sync VARCHAR)"
    )
    if targets:
        rows = (f"({number}, {', '.join(map(literal, side.key))})" for number, side in enumerate(targets))
        connection.execute(f"INSERT INTO page_targets VALUES {', '.join(rows)}")
    connection.execute(load_sql("analysis", "test_facts"))
    connection.execute(load_sql("page", "page"))
    release_memory(connection)


def _most_samples(connection: duckdb.DuckDBPyConnection) -> int:
    """How many samples of a test and protocol the page has at most."""
    ((tests,),) = connection.sql("SELECT count(*) FROM verdicts").fetchall()
    return min(_MOST_SAMPLES, _ALL_SAMPLES // (2 * max(int(tests), 1)))


def _target_entry(side: Configuration, model: str | None, runs: Sequence[Row]) -> Row:
    return dict(zip(_TARGET, side.key, strict=True)) | {
        "name": str(side.target) + (PREDICTED_MARK if side.is_predicted else ""),
        "evidence": "predicted" if side.is_predicted else "measured",
        "model": model,
        "environment": list(environment(place(side, runs))),
        "packages": runs[0]["environment"]["packages"],
    }


def _counts(counts: Mapping[str, int] | None) -> list[int] | None:
    return [counts[status] for status in STATUSES] if counts else None


def _by_use(rates: Rates | None) -> list[float] | None:
    """Percent of use of what passes, and all uses."""
    return [rates.by_use.percent, rates.by_use.uses] if rates and rates.by_use else None


def _modules(rates: Sequence[Rates | None]) -> Row:
    """The names of all modules, and for each target those of its functions in each whose tests all pass, and that have
    a status."""
    names = sorted({name for one in rates if one for name in one.by_module})
    found = [
        [(module.counts["all_pass"], module.rated) if module else None for module in map(one.by_module.get, names)]
        if one
        else []
        for one in rates
    ]
    return {"names": names, "passed": found}


def _cause(cause: Cause, framework: str, numbers: Mapping[tuple[str, str, str], int]) -> Row:
    rows = [numbers[framework, name, ""] for name in cause.functions if (framework, name, "") in numbers]
    function, test = cause.example
    return {
        "words": cause.words,
        "categories": cause.categories,
        "tests": cause.tests,
        "rows": rows,
        "uses": cause.uses,
        "example": [function, test],
    }


def _run_entry(run: Row, repeat: int) -> Row:
    names = ("run_id", *_TARGET, "manifest", "protocol", "runs", "timeout_s", "started_at", "ended_at")
    return {name: run[name] for name in names} | {"repeat": repeat}


def _cells(connection: duckdb.DuckDBPyConnection, targets: int) -> list[Row]:
    """The columns of each target: rows, numbers of statuses, bits of categories and marks, counts of tests, ns."""
    columns: list[dict[str, list[Any]]] = [
        {
            name: []
            for name in ("row", "status", "categories", "marks", "passed", "ran", "tests", "cold_ns", "steady_ns")
        }
        for _ in range(targets)
    ]
    query = (
        "SELECT target, row, status, categories, marks, passed, ran, tests, cold_mean_ns, steady_median_ns "
        "FROM page_cells ORDER BY target, row"
    )
    for target, row, status, categories, marks, passed, ran, tests, cold_ns, steady_ns in _streamed(connection, query):
        values = (
            *(row, STATUSES.index(status), bits(categories, CATEGORIES_SHOWN), bits(marks, MARKS), passed, ran, tests),
            *(rounded(cold_ns), rounded(steady_ns)),
        )
        for column, value in zip(columns[target].values(), values, strict=True):
            column.append(value)
    return columns


def _times(connection: duckdb.DuckDBPyConnection, targets: int) -> list[dict[str, list[Any]]]:
    """For each target the columns row, test (a number within the row), mean of the first calls, steady median."""
    names = ("row", "test", "cold_ns", "steady_ns")
    columns: list[dict[str, list[Any]]] = [{name: [] for name in names} for _ in range(targets)]
    query = f"SELECT target, {', '.join(names)} FROM page_times ORDER BY target, row, test"
    for target, row, test, cold_ns, steady_ns in _streamed(connection, query):
        values = (row, test, rounded(cold_ns, 9), rounded(steady_ns))
        for column, value in zip(columns[target].values(), values, strict=True):
            column.append(value)
    return columns


def _streamed(connection: duckdb.DuckDBPyConnection, query: str) -> Iterator[tuple[Any, ...]]:
    relation = connection.execute(query)
    while rows := relation.fetchmany(20_000):
        yield from rows

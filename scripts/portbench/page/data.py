"""What the page knows, packed for it: an index of all cells, the times of tests, and the details in blocks.

Each part is JSON, compressed with gzip and written as base64, which no text in it can break out of; the page unpacks
the index at once, times and details when they are asked for. Columns instead of rows, and numbers for what repeats,
keep 6,000 functions on 20 targets within a few megabytes. Text is told as it was recorded: the page shows it as text.
"""

from __future__ import annotations

import base64
import gzip
import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

import duckdb

from portbench.analysis.configurations import Configuration, device_model, pairs_of_devices, sides
from portbench.devices import BASELINE_ORDER, PREDICTED_MARK
from portbench.explain.evidence import TargetEvidence, TestEvidence
from portbench.explain.reproducer import reproducer
from portbench.explain.texts import environment, evidence, trimmed
from portbench.study.categories import CATEGORIES, Error, Rules, read_rules
from portbench.study.summary import STATUSES, Row, fetch_dicts
from portbench.util.repository import Checkout, find_checkout
from portbench.util.sql import load_sql

MARKS = ("host", "mixed", "wrong", "flaky", "contaminated", "unproven")
"""What is to be said of a cell beside its status, in the order of their bits."""

_CATEGORIES = (*CATEGORIES, "unavailable")
_ROW = ("framework", "function", "successor_of", "decile", "uses", "top20", "listed_as")
_BLOCK_RESULTS = 2000
_MOST_SAMPLES = 200
_ALL_SAMPLES = 4_000_000
_LONGEST = {"traceback": 6000, "printed": 3000}
_LONGEST_TEXT = 3000
_TARGET = ("framework", "version", "device", "machine", "sync")


@dataclass(frozen=True)
class PageData:
    """The packed parts. ``blocks``: the details of consecutive rows; the index says where each block begins."""

    index: str
    times: str
    blocks: tuple[str, ...]


def page_data(connection: duckdb.DuckDBPyConnection, summary: Row, intolerable: float) -> PageData:
    """Packs a study for the page.

    ``connection`` has the views of a study, and ``analyse`` was called on it; ``summary`` is the study's;
    ``intolerable`` is the ratio of latencies from which on the second of two targets is too slow to be of use.
    """
    checkout = find_checkout()
    runs = [row | {"environment": json.loads(row["environment"])} for row in fetch_dicts(connection, "FROM runs")]
    for run in runs:
        run["sync"] = run["sync"] or "complete"
    runs.sort(key=lambda run: (_side(run), run["started_at"], run["run_id"]))
    targets = sides(connection)
    models = device_model(connection)
    most_samples = _prepare(connection, targets)
    rules = read_rules(checkout.runners, [run["framework"] for run in runs])
    packed, firsts = _blocks(connection, {run["run_id"]: number for number, run in enumerate(runs)}, rules)
    rows = fetch_dicts(connection, "FROM page_rows ORDER BY row")
    repeats, repeat_of = _repeats(runs, checkout)
    index = {
        "strict_placement": summary["strict_placement"],
        "classified": bool(summary.get("classification")),
        "intolerable": intolerable,
        "most_samples": most_samples,
        "statuses": STATUSES,
        "categories": _CATEGORIES,
        "marks": MARKS,
        "targets": [
            _target_entry(side, models.get(side), [run for run in runs if _side(run) == side]) for side in targets
        ],
        "pairs": [[targets.index(first), targets.index(second)] for first, second in _pairs(targets)],
        "rows": {name: [row[name] for row in rows] for name in _ROW},
        "cells": _cells(connection, len(targets)),
        "blocks": firsts,
        "runs": [_run_entry(run, repeat) for run, repeat in zip(runs, repeat_of, strict=True)],
        "repeats": repeats,
    }
    return PageData(_packed(index), _packed(_times(connection, len(targets))), packed)


def _prepare(connection: duckdb.DuckDBPyConnection, targets: Sequence[Configuration]) -> int:
    """Makes the tables and views of page.sql; says how many samples of a test and protocol are carried at most."""
    (tests,) = connection.sql("SELECT count(*) FROM verdicts").fetchall()[0]
    most = min(_MOST_SAMPLES, _ALL_SAMPLES // (2 * max(int(tests), 1)))
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


def _side(run: Row) -> Configuration:
    return Configuration(*(run[name] for name in _TARGET))


def _target_entry(side: Configuration, model: str | None, runs: Sequence[Row]) -> Row:
    return dict(zip(_TARGET, side.key, strict=True)) | {
        "name": str(side.target) + (PREDICTED_MARK if side.is_predicted else ""),
        "evidence": "predicted" if side.is_predicted else "measured",
        "model": model,
        "environment": list(environment(_place(side, runs))),
        "packages": runs[0]["environment"]["packages"],
    }


def _pairs(targets: Sequence[Configuration]) -> list[tuple[Configuration, Configuration]]:
    """Two devices of a version, those first that the study compares: gpu and tpu."""
    return sorted(
        pairs_of_devices(targets), key=lambda pair: [BASELINE_ORDER.index(side.device) for side in reversed(pair)]
    )


def _place(side: Configuration, runs: Iterable[Row]) -> TargetEvidence:
    """Where a side's tests ran, of no function."""
    by_id = {run["run_id"]: run for run in runs}
    return TargetEvidence(side.target, side.machine, side.sync, "", "", "", (), by_id)


def _run_entry(run: Row, repeat: int) -> Row:
    names = ("run_id", *_TARGET, "manifest", "protocol", "runs", "timeout_s", "started_at", "ended_at")
    return {name: run[name] for name in names} | {"repeat": repeat}


def _repeats(runs: Sequence[Row], checkout: Checkout) -> tuple[list[Row], list[int]]:
    """The commands that repeat a test, without function and test; and which of them is that of each run file."""
    found: dict[tuple[Any, ...], Row] = {}
    numbers = []
    facts = ("framework", "version", "device", "sync", "manifest", "manifest_sha256", "protocol", "timeout_s")
    for run in runs:
        key = (*(run[name] for name in facts), run["environment"]["image_digest"], run["environment"]["container"])
        if key not in found:
            found[key] = _repeat(run, checkout)
        numbers.append(list(found).index(key))
    return list(found.values()), numbers


def _repeat(run: Row, checkout: Checkout) -> Row:
    place = _place(_side(run), [run])
    result = {"run_id": run["run_id"], "outcome": "passed"}
    passed, failed = (
        reproducer(place, TestEvidence("", verdict, (result,), None), checkout) for verdict in ("passed", "failed")
    )
    return {
        "before": shlex.join(passed.argv_before(passed.manifest_or_blank)),
        "after_passed": shlex.join(passed.argv_after),
        "after_failed": shlex.join(failed.argv_after),
        "notes": passed.notes,
    }


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
            *(row, STATUSES.index(status), _bits(categories, _CATEGORIES), _bits(marks, MARKS), passed, ran, tests),
            *(_rounded(cold_ns), _rounded(steady_ns)),
        )
        for column, value in zip(columns[target].values(), values, strict=True):
            column.append(value)
    return columns


def _times(connection: duckdb.DuckDBPyConnection, targets: int) -> list[dict[str, list[Any]]]:
    """For each target the columns row, test (a number within the row), sum and number of first calls, steady median."""
    names = ("row", "test", "cold_sum_ns", "cold_samples", "steady_ns")
    columns: list[dict[str, list[Any]]] = [{name: [] for name in names} for _ in range(targets)]
    query = f"SELECT target, {', '.join(names)} FROM page_times ORDER BY target, row, test"
    for target, row, test, cold_sum_ns, samples, steady_ns in _streamed(connection, query):
        values = (row, test, _rounded(cold_sum_ns, 9), samples, _rounded(steady_ns))
        for column, value in zip(columns[target].values(), values, strict=True):
            column.append(value)
    return columns


def _blocks(
    connection: duckdb.DuckDBPyConnection, runs: Mapping[str, int], rules: Rules
) -> tuple[tuple[str, ...], list[int]]:
    """The details in packed blocks, and the first row of each."""
    packed: list[str] = []
    firsts: list[int] = []
    block = _Block(runs, rules)
    for row, results in groupby(_details(connection), itemgetter("row")):
        if not block.results:
            firsts.append(row)
        block.add(row, list(results))
        if block.results >= _BLOCK_RESULTS:
            packed.append(_packed(block.content))
            block = _Block(runs, rules)
    if block.results:
        packed.append(_packed(block.content))
    return tuple(packed), firsts


class _Block:
    """Details of some rows: what is said of a result stands once, and is named by its number."""

    def __init__(self, runs: Mapping[str, int], rules: Rules) -> None:
        self.results = 0
        self._runs = runs
        self._rules = rules
        self._said: dict[tuple[tuple[str, str], ...], int] = {}
        self._cells: dict[int, dict[int, list[Row]]] = {}

    @property
    def content(self) -> Row:
        return {"said": list(self._said), "cells": self._cells}

    def add(self, row: int, results: Sequence[Row]) -> None:
        cells = self._cells.setdefault(row, {})
        for (target, _), of_test in groupby(results, itemgetter("target", "test")):
            cells.setdefault(target, []).append(self._test(list(of_test)))
        self.results += len(results)

    def _test(self, results: Sequence[Row]) -> Row:
        first = results[0]
        return {
            "id": first["test"],
            "verdict": first["verdict"],
            "category": next((row["category"] for row in results if row["category"]), None),
            "results": [[self._runs[row["run_id"]], row["run"], row["outcome"], self._number(row)] for row in results],
            "cold_samples": first["cold_samples"] or 0,
            "cold_ns": [_rounded(value) for value in first["cold_ns"] or ()],
            "steady_samples": first["steady_samples"] or 0,
            "steady_ns": [_rounded(value) for value in first["steady_ns"] or ()],
            "stable": first["stable"],
        }

    def _number(self, row: Row) -> int:
        said = tuple((name, _shortened(name, text)) for name, text in _said(row, self._rules))
        return self._said.setdefault(said, len(self._said))


def _said(row: Row, rules: Rules) -> Iterator[tuple[str, str]]:
    """What is known of one result: pairs of a word and a text."""
    yield from evidence(row)
    if row["misplaced"]:
        yield "strict placement", "passed, but not wholly on the device: counted as failed"
    if row["outcome"] in ("passed", "skipped") or row["category"] == "unavailable":
        return
    yield from _why(row, rules)
    yield "traceback", trimmed(row["error_traceback"] or "").strip()
    yield "printed", (row["output_text"] or "").strip()


def _why(row: Row, rules: Rules) -> Iterator[tuple[str, str]]:
    """The rule of today that the category follows from, or does not."""
    causes = tuple((cause["type"], cause["message"]) for cause in row["error_causes"] or ())
    error = Error(row["error_type"], row["error_message"] or "", causes) if row["error_type"] else None
    found = rules.decide(row["framework"], row["outcome"], error, bool(row["oom_killed"]), row["numbers"])
    if not row["overruled"] and found.category != row["category"]:
        yield "rule", f"that of the runner; today's say {found.category}: see portbench classify"
    if found.because:
        yield "rule", found.because


def _shortened(name: str, text: str) -> str:
    """The end of what grows towards its end, else the beginning."""
    limit = _LONGEST.get(name, _LONGEST_TEXT)
    if len(text) <= limit:
        return text
    return f"…{text[-limit:]}" if name in _LONGEST else f"{text[:limit]}…"


def _details(connection: duckdb.DuckDBPyConnection) -> Iterator[Row]:
    relation = connection.execute("FROM page_details ORDER BY row, target, test, run, run_id")
    names = [column[0] for column in relation.description or ()]
    while rows := relation.fetchmany(5000):
        yield from (dict(zip(names, row, strict=True)) for row in rows)


def _streamed(connection: duckdb.DuckDBPyConnection, query: str) -> Iterator[tuple[Any, ...]]:
    relation = connection.execute(query)
    while rows := relation.fetchmany(20_000):
        yield from rows


def _bits(seen: Iterable[str], names: Sequence[str]) -> int:
    return sum(1 << names.index(name) for name in seen)


def _rounded(value: float | None, digits: int = 6) -> float | None:
    """Six significant digits are more than any clock has; shorter numbers make a smaller page."""
    if value is None:
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() else short


def _packed(content: Any) -> str:
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # A surrogate that lost its half has no place in UTF-8.
    return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), 6, mtime=0)).decode("ascii")

"""The details of the page: of each function on each target its tests, with evidence, times and rules, in packed
blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

import duckdb

from portbench.explain.texts import evidence, trimmed
from portbench.page.packing import pack, rounded
from portbench.study.categories import Error, Rules
from portbench.study.summary import Row

_BLOCK_RESULTS = 2000
_LONGEST = {"traceback": 6000, "printed": 3000}
_LONGEST_TEXT = 3000


def pack_details(
    connection: duckdb.DuckDBPyConnection, runs: Mapping[str, int], rules: Rules
) -> tuple[tuple[str, ...], list[int]]:
    """The details in packed blocks, and the first row of each. ``runs``: the number of each run file by its id."""
    packed: list[str] = []
    firsts: list[int] = []
    block = _Block(runs, rules)
    for row, results in groupby(_details(connection), itemgetter("row")):
        if not block.results:
            firsts.append(row)
        block.add(row, list(results))
        if block.results >= _BLOCK_RESULTS:
            packed.append(pack(block.content))
            block = _Block(runs, rules)
    if block.results:
        packed.append(pack(block.content))
    return tuple(packed), firsts


class _Block:
    """The details of some rows. Texts of a result are stored once, and named by their number."""

    def __init__(self, runs: Mapping[str, int], rules: Rules) -> None:
        self.results = 0
        self._runs = runs
        self._rules = rules
        self._texts: dict[tuple[tuple[str, str], ...], int] = {}
        self._cells: dict[int, dict[int, list[Row]]] = {}

    @property
    def content(self) -> Row:
        return {"said": list(self._texts), "cells": self._cells}

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
            "results": [
                [self._runs[row["run_id"]], row["run"], row["outcome"] or "unknown", self._number(row)]
                for row in results
            ],
            "cold_samples": first["cold_samples"] or 0,
            "cold_ns": [rounded(value) for value in first["cold_ns"] or ()],
            "steady_samples": first["steady_samples"] or 0,
            "steady_ns": [rounded(value) for value in first["steady_ns"] or ()],
            "stable": first["stable"],
        }

    def _number(self, row: Row) -> int:
        texts = tuple((name, _shortened(name, text)) for name, text in _texts(row, self._rules))
        return self._texts.setdefault(texts, len(self._texts))


def _texts(row: Row, rules: Rules) -> Iterator[tuple[str, str]]:
    """The texts of one result: pairs of a word and a text."""
    yield from evidence(row)
    if row["misplaced"]:
        yield "strict placement", "passed, but not wholly on the device: counted as failed"
    if row["outcome"] in ("passed", "skipped", "error", None) or row["category"] == "removed":
        return
    yield from _why(row, rules)
    yield "traceback", trimmed(row["error_traceback"] or "").strip()
    yield "printed", (row["output_text"] or "").strip()


def _why(row: Row, rules: Rules) -> Iterator[tuple[str, str]]:
    """The rule of today that gives the category, or another one."""
    causes = tuple((cause["type"], cause["message"]) for cause in row["error_causes"] or ())
    error = Error(row["error_type"], row["error_message"] or "", causes) if row["error_type"] else None
    found = rules.decide(row["framework"], row["outcome"], error, bool(row["oom_killed"]), row["value_verdict"])
    if not row["overruled"] and found.category != row["category"]:
        yield "rule", f"that of the runner; today's rules say {found.category}: see portbench classify"
    if found.because:
        yield "rule", found.because


def _shortened(name: str, text: str) -> str:
    """The end of a traceback or of printed text, the beginning of any other text."""
    limit = _LONGEST.get(name, _LONGEST_TEXT)
    if len(text) <= limit:
        return text
    return f"…{text[-limit:]}" if name in _LONGEST else f"{text[:limit]}…"


def _details(connection: duckdb.DuckDBPyConnection) -> Iterator[Row]:
    relation = connection.execute("FROM page_details ORDER BY row, target, test, run, run_id")
    names = [column[0] for column in relation.description or ()]
    while rows := relation.fetchmany(5000):
        yield from (dict(zip(names, row, strict=True)) for row in rows)

"""The details of the page: of each function on each target its tests, with evidence, times and rules, in packed
blocks.

They are written as JSON here, test by test: objects of all results would take many times the memory of the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import groupby
from json.encoder import encode_basestring
from operator import itemgetter
from typing import Any

import duckdb

from portbench.explain.texts import evidence, trimmed
from portbench.page.packing import pack_text
from portbench.study.categories import Error, Rules
from portbench.study.parquet import literal, release_memory, set_variable
from portbench.study.summary import Row
from portbench.util.sql import load_sql

_BLOCK_RESULTS = 2000
_PART_RESULTS = 30_000
_LONGEST = {"traceback": 6000, "printed": 3000}
_LONGEST_TEXT = 3000
_NO_SAMPLES = '"cold_samples":0,"cold_ns":[],"steady_samples":0,"steady_ns":[],"stable":null'
_FETCHED = 5000

# The columns of page_details up to those that only texts are made of.
_ROW, _TARGET, _TEST, _RUN, _FILE, _VERDICT, _SAMPLES, _FACTS, _OUTCOME, _CATEGORY = range(10)
_place = itemgetter(_ROW)
_cell = itemgetter(_TARGET)
_test = itemgetter(_TEST)


def pack_details(
    connection: duckdb.DuckDBPyConnection, runs: Mapping[str, int], most_samples: int, rules: Rules
) -> tuple[tuple[str, ...], list[int]]:
    """The details in packed blocks, and the first row of each. ``runs``: the number of each run file by its id;
    ``most_samples``: how many samples of a test and protocol the page has at most. ``connection`` has the tables of
    sql/page.sql."""
    _number_runs(connection, runs)
    set_variable(connection, "most_samples", most_samples)
    firsts: list[int] = []
    # One thread compresses blocks while the next ones are made.
    with ThreadPoolExecutor(1) as packer:
        packed: list[Future[str]] = []
        for first, text in _blocks(connection, rules):
            firsts.append(first)
            packed.append(packer.submit(pack_text, text))
        connection.execute("DROP TABLE IF EXISTS page_tests")
        return tuple(each.result() for each in packed), firsts


def _blocks(connection: duckdb.DuckDBPyConnection, rules: Rules) -> Iterator[tuple[int, str]]:
    """The first row and the text of each block."""
    block: _Block | None = None
    for part in _parts(connection):
        names = [column[0] for column in part.description or ()][_FACTS:]
        for row, results in groupby(_streamed(part), _place):
            block = block or _Block(names, rules, row)
            block.add(row, results)
            if block.results >= _BLOCK_RESULTS:
                yield block.first, block.text
                block = None
    if block:
        yield block.first, block.text


def _number_runs(connection: duckdb.DuckDBPyConnection, runs: Mapping[str, int]) -> None:
    connection.execute("CREATE OR REPLACE TEMP TABLE page_runs (run_id VARCHAR, file INTEGER)")
    if runs:
        rows = (f"({literal(run_id)}, {number})" for run_id, number in runs.items())
        connection.execute(f"INSERT INTO page_runs VALUES {', '.join(rows)}")


def _parts(connection: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """The rows of page_details, part by part: to sort the texts of all results at once takes much memory."""
    counts = "SELECT (SELECT count(*) FROM page_rows), (SELECT count(*) FROM recorded)"
    rows, results = connection.execute(counts).fetchall()[0]
    step = max(1, rows * _PART_RESULTS // max(1, results))
    for first in range(0, rows, step):
        set_variable(connection, "first_row", first)
        set_variable(connection, "last_row", first + step - 1)
        connection.execute(load_sql("page", "details"))
        yield connection.execute("FROM page_details")
        release_memory(connection)


def _streamed(relation: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    while rows := relation.fetchmany(_FETCHED):
        yield from rows


class _Block:
    """The details of some rows. Texts of a result are stored once, and named by their number. ``names``: of the columns
    of page_details that texts are made of; ``first``: the first row."""

    def __init__(self, names: Sequence[str], rules: Rules, first: int) -> None:
        self.first = first
        self.results = 0
        self._names = names
        self._rules = rules
        self._numbers: dict[tuple[tuple[str, str], ...], int] = {}
        self._known: dict[tuple[Any, ...], int] = {}
        self._rows: list[str] = []

    @property
    def text(self) -> str:
        """The block as JSON."""
        said = ",".join(
            f"[{','.join(f'[{encode_basestring(word)},{encode_basestring(text)}]' for word, text in texts)}]"
            for texts in self._numbers
        )
        return f'{{"said":[{said}],"cells":{{{",".join(self._rows)}}}}}'

    def add(self, row: int, results: Iterator[tuple[Any, ...]]) -> None:
        """Adds the results of a row, sorted by target and test."""
        cells = [
            f'"{target}":[{",".join(self._of_test(list(of_test)) for _, of_test in groupby(of_target, _test))}]'
            for target, of_target in groupby(results, _cell)
        ]
        self._rows.append(f'"{row}":{{{",".join(cells)}}}')

    def _of_test(self, results: Sequence[tuple[Any, ...]]) -> str:
        first = results[0]
        category = next((row[_CATEGORY] for row in results if row[_CATEGORY]), None)
        each = ",".join(
            f'[{row[_FILE]},{row[_RUN]},"{row[_OUTCOME] or "unknown"}",{self._number(row[_FACTS:])}]' for row in results
        )
        self.results += len(results)
        return (
            f'{{"id":{encode_basestring(first[_TEST])},"verdict":"{first[_VERDICT]}",'
            f'"category":{encode_basestring(category) if category else "null"},"results":[{each}],'
            f"{first[_SAMPLES] or _NO_SAMPLES}}}"
        )

    def _number(self, facts: tuple[Any, ...]) -> int:
        try:
            known = self._known.get(facts)
        except TypeError:
            # Facts of some failures are objects, which are in no set.
            return self._new_number(facts)
        if known is None:
            known = self._known[facts] = self._new_number(facts)
        return known

    def _new_number(self, facts: tuple[Any, ...]) -> int:
        row = dict(zip(self._names, facts, strict=True))
        for name in ("placement_evidence", "host_operations"):
            row[name] = [row[name]] if row[name] else ()
        texts = tuple((word, _shortened(word, text)) for word, text in _texts(row, self._rules))
        return self._numbers.setdefault(texts, len(self._numbers))


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

"""Reads what a site shows from a study: its targets at once, its functions one after the other."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import groupby

import duckdb

from portbench.analysis.configurations import Configuration, device_model, sides
from portbench.analysis.predictions import PredictedFunction, read_predictions
from portbench.analysis.rates import rates
from portbench.analysis.results import is_collected
from portbench.analysis.timeline import Line, compute_timeline
from portbench.explain.texts import environment
from portbench.page.data import prepare
from portbench.page.repeats import place, repeat_commands
from portbench.site.model import Cause, Cell, Part, SiteFunction, SiteTarget
from portbench.study.summary import Row, fetch_dicts
from portbench.util.repository import find_checkout
from portbench.util.sql import load_sql

_ROWS = 20_000

Predictions = Mapping[tuple[str, str, str, str, str], Mapping[tuple[str, str], PredictedFunction]]


@dataclass(frozen=True)
class Repeats:
    """The commands that repeat a test, by the id of a run file."""

    of_run: Mapping[str, Row]

    def command(self, function: str, test: str, run_id: str, *, is_failing: bool) -> tuple[str, tuple[str, ...]]:
        """The command that repeats a test, or '' ; and notes on it."""
        found = self.of_run[run_id]
        if not found["before"]:
            return "", tuple(found["notes"])
        after = found["after_failed" if is_failing else "after_passed"]
        words = [found["before"], shlex.join(["--function", function, "--test", test]), after]
        return " ".join(filter(None, words)), tuple(found["notes"])


@dataclass(frozen=True)
class Reader:
    """A study that is open to be shown. ``targets`` are sorted as everywhere: those with the complete wait first.
    ``dates``: the timelines by date, by the number of the target."""

    connection: duckdb.DuckDBPyConnection
    targets: tuple[SiteTarget, ...]
    repeats: Repeats
    predictions: Predictions
    dates: Mapping[int, Line]

    def functions(self) -> Iterator[SiteFunction]:
        """Every function, sorted by framework and name. No other query may run meanwhile."""
        causes: dict[int, list[Row]] = {}
        query = "FROM site_causes ORDER BY row, predicted, tests DESC, len(targets) DESC, category, cause, fingerprint"
        for row in fetch_dicts(self.connection, query):
            causes.setdefault(row["row"], []).append(row)
        cells = _streamed(self.connection, "FROM site_cells ORDER BY framework, function, row, target")
        for (framework, name), found in groupby(cells, lambda row: (row["framework"], row["function"])):
            rows = list(found)
            numbers = dict.fromkeys(row["row"] for row in rows)
            yield SiteFunction(
                framework,
                name,
                *(rows[0]["uses"], rows[0]["decile"], rows[0]["top20"], rows[0]["listed_as"]),
                tuple(self._cell(row) for row in rows if row["target"] is not None),
                tuple(self._cause(name, row) for number in numbers for row in causes.get(number, ())),
            )

    def _cell(self, row: Row) -> Cell:
        target = self.targets[row["target"]]
        figures = self.predictions.get(target.side.key, {})
        return Cell(
            target,
            row["successor_of"],
            row["status"],
            *(row["passed"], row["ran"], row["tests"]),
            tuple(row["categories"]),
            tuple(row["marks"]),
            *(row["cold_mean_ns"], row["steady_median_ns"]),
            placements=row["placements"] or {},
            ran_at=row["ran_at"] or "",
            prediction=figures.get((row["function"], row["successor_of"])),
        )

    def _cause(self, function: str, row: Row) -> Cause:
        example = row["example"]
        command, notes = self.repeats.command(function, example["test"], example["run_id"], is_failing=True)
        targets = tuple(self.targets[number] for number in row["targets"])
        words = (row["fingerprint"], row["category"], row["cause"], row["message"])
        part = Part(targets[0].is_collected, row["predicted"])
        return Cause(*words, part, targets, row["tests"], command, notes)


def open_reader(connection: duckdb.DuckDBPyConnection, first: int = 0) -> Reader:
    """Prepares a study to be shown. ``connection`` has its views, and ``analyse`` was called on it. Its targets are
    numbered from ``first`` on."""
    checkout = find_checkout()
    every = sides(connection)
    prepare(connection, every)
    connection.execute(load_sql("site", "site"))
    runs = [row | {"environment": json.loads(row["environment"])} for row in fetch_dicts(connection, "FROM runs")]
    runs.sort(key=lambda run: (run["started_at"] or "", run["run_id"]))
    found = rates(connection)
    models = device_model(connection)
    commands, numbers = repeat_commands(runs, checkout)
    by_run = {run["run_id"]: commands[number] for run, number in zip(runs, numbers, strict=True)}
    predicted = {target.side.key: target.functions for target in read_predictions(connection)}
    collected = is_collected(connection)
    targets = []
    for number, side in enumerate(every):
        own = [run for run in runs if Configuration.of(run) == side]
        facts = tuple((word, text) for word, text in environment(place(side, own)) if text)
        about = (side, models.get(side), found[side], tuple(own), facts)
        targets.append(SiteTarget(first + number, *about, is_collected=collected))
    numbers_of = {target.side: target.number for target in targets}
    dates = {numbers_of[line.side]: line for line in compute_timeline(connection, found).by_date}
    return Reader(connection, tuple(targets), Repeats(by_run), predicted, dates)


def all_functions(readers: Sequence[Reader]) -> Iterator[SiteFunction]:
    """Every function of several studies, sorted, with the cells of all of them."""
    every = merge(*(reader.functions() for reader in readers), key=lambda one: (one.framework, one.name))
    for _, found in groupby(every, lambda one: (one.framework, one.name)):
        first, *others = found
        for other in others:
            first = first.joined(other)
        yield first


def _streamed(connection: duckdb.DuckDBPyConnection, query: str) -> Iterator[Row]:
    relation = connection.execute(query)
    names: Sequence[str] = [column[0] for column in relation.description or ()]
    while rows := relation.fetchmany(_ROWS):
        yield from (dict(zip(names, row, strict=True)) for row in rows)

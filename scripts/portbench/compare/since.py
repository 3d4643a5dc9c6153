"""What changed in a study since a date or a version: the comparison of its last results before with those since.

A study holds every run of a target. Here each test counts with the last day on which it ran, on both sides, so a test
that broke last night is a new failure, and not a flaky test of all nights.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import duckdb

from portbench.analysis.configurations import Configuration, sides
from portbench.compare.comparison import Comparison, PairComparison, compare_pair
from portbench.compare.functions import FunctionEvent, function_events, function_statuses
from portbench.compare.selection import Unpaired, pair_up
from portbench.compare.times import Limits, TestLatency
from portbench.errors import BadInput, NothingRan
from portbench.study.store import Study, connect, create_views
from portbench.study.summary import analyse
from portbench.study.tables_check import reading
from portbench.util.sql import load_sql
from portbench.util.text import did_you_mean, escape_control

_FIRST, _LAST = "", "~"
"""Before and after every instant."""

_DATE = re.compile(r"\d{4}-\d{1,2}(-\d.*)?|\d{8}")
_HOW = "Give a date (2026-11-20), an instant (2026-11-20T06:00, in UTC unless it says otherwise) or a version."


@dataclass(frozen=True)
class TargetChanges:
    """What changed on one target. ``days``: the newest results of each side, '' where no run file has a date;
    ``functions``: how many of them both sides tested."""

    pair: PairComparison
    days: tuple[str, str]
    functions: int
    events: tuple[FunctionEvent, ...]

    @property
    def latencies(self) -> tuple[tuple[str, TestLatency], ...]:
        """The tests that are slower or faster, with the protocol of their times."""
        return tuple(
            (times.protocol, test)
            for times in (self.pair.steady, self.pair.cold)
            for verdict in ("slower", "faster")
            for test in times.found(verdict)
        )


@dataclass(frozen=True)
class Since:
    """What changed since ``since``, as the user gave it. ``unpaired``: targets with results only before or only since,
    and no version to compare them with."""

    since: str
    targets: tuple[TargetChanges, ...]
    unpaired: tuple[Unpaired, ...]
    limits: Limits

    @property
    def is_unchanged(self) -> bool:
        """Whether no function and no time changed on any target."""
        return not any(target.events or target.latencies for target in self.targets)

    @property
    def comparison(self) -> Comparison:
        """The same as a comparison."""
        return Comparison(self.limits, tuple(target.pair for target in self.targets), (), self.unpaired)


def changes_since(study: Study, since: str, strict_placement: bool = False, limits: Limits | None = None) -> Since:
    """What changed in a study since a date or an instant, or since a version.

    Since a date: each target that ran since is compared with itself before. A new version is compared with the next
    older one on the same device and machine. Since a version: the newest version on each device and machine is compared
    with it. Raises BadInput for what is neither a date nor a version of the study, for a date without results before
    it, and for the newest version; NothingRan where nothing ran since.
    """
    limits = limits or Limits()
    since = since.strip()
    moment = _moment(since)
    if moment:
        with (
            _results(study, _FIRST, moment, strict_placement) as before,
            _results(study, moment, _LAST, strict_placement) as after,
        ):
            firsts, seconds = sides(before), sides(after)
            _refuse_nothing(study, since, firsts, seconds)
            return _since(since, (before, after), *_pairs_by_date(firsts, seconds), limits)
    with _results(study, _FIRST, _LAST, strict_placement) as newest:
        return _since(since, (newest, newest), *_pairs_by_version(since, sides(newest)), limits)


def _since(
    since: str,
    connections: tuple[duckdb.DuckDBPyConnection, duckdb.DuckDBPyConnection],
    pairs: Sequence[tuple[Configuration, Configuration]],
    unpaired: Sequence[Unpaired],
    limits: Limits,
) -> Since:
    targets = tuple(_target(connections, pair, limits) for pair in sorted(pairs))
    return Since(since, targets, tuple(unpaired), limits)


def _target(
    connections: tuple[duckdb.DuckDBPyConnection, duckdb.DuckDBPyConnection],
    pair: tuple[Configuration, Configuration],
    limits: Limits,
) -> TargetChanges:
    found = compare_pair(*connections, *pair, limits)
    both = list(zip(connections, pair, strict=True))
    before, after = (function_statuses(connection, side) for connection, side in both)
    first_day, second_day = (_newest_day(connection, side) for connection, side in both)
    events = tuple(function_events(found.outcomes, before, after))
    return TargetChanges(found, (first_day, second_day), len(before.keys() & after.keys()), events)


def _moment(text: str) -> str:
    """The beginning of an instant in UTC as run files write it: 2026-11-20 or 2026-11-20T06:00:00; '' for no date."""
    if not _DATE.fullmatch(text):
        return ""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise BadInput(f"--since {escape_control(text)} is no date: {error}", _HOW) from None
    if len(text) == len("2026-11-20"):
        return moment.strftime("%Y-%m-%d")
    return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _pairs_by_date(
    firsts: Sequence[Configuration], seconds: Sequence[Configuration]
) -> tuple[list[tuple[Configuration, Configuration]], list[Unpaired]]:
    pairs, alone = pair_up(firsts, seconds)
    for one in [each for each in alone if not each.is_first]:
        older = [
            side for side in firsts if _line(side) == _line(one.side) and side.target.order < one.side.target.order
        ]
        if older:
            pairs.append((max(older, key=lambda side: side.target.order), one.side))
    paired = [{pair[place] for pair in pairs} for place in (0, 1)]
    reasons = {True: "has no results since", False: "has no results before"}
    return pairs, [
        Unpaired(each.side, each.is_first, reasons[each.is_first])
        for each in alone
        if each.side not in paired[not each.is_first]
    ]


def _pairs_by_version(
    since: str, every: Sequence[Configuration]
) -> tuple[list[tuple[Configuration, Configuration]], list[Unpaired]]:
    names = {name: side.version for side in every for name in (side.version, f"{side.framework}-{side.version}")}
    if since not in names:
        versions = ", ".join(dict.fromkeys(f"{side.framework} {side.version}" for side in every))
        raise BadInput(
            f"--since {escape_control(since)} is neither a date nor a version of this study"
            f"{did_you_mean(since, names)}",
            f"{_HOW} It has {escape_control(versions)}.",
        )
    pairs, alone = [], []
    for side in every:
        if since not in (side.version, f"{side.framework}-{side.version}"):
            continue
        newer = [one for one in every if _line(one) == _line(side) and one.target.order > side.target.order]
        if newer:
            pairs.append((side, max(newer, key=lambda one: one.target.order)))
        else:
            alone.append(Unpaired(side, True, "no newer version ran"))
    if not pairs:
        raise BadInput(
            f"no version that is newer than {escape_control(since)} ran on the same device and machine",
            "Give an older version, or a date.",
        )
    return pairs, alone


def _line(side: Configuration) -> tuple[str, str, str, str]:
    return side.framework, side.device, side.machine, side.sync


def _refuse_nothing(
    study: Study, since: str, firsts: Sequence[Configuration], seconds: Sequence[Configuration]
) -> None:
    dates = sorted(run["started_at"] for run in study.summary["run_files"] if run["started_at"])
    if not firsts:
        raise BadInput(
            f"nothing ran before {escape_control(since)}, so nothing can have changed since"
            + (f": the first run file of this study is of {dates[0][:10]}" if dates else ""),
            "Give a later date, or a version.",
        )
    if not seconds:
        newest = f": the newest run file of this study is of {dates[-1][:10]}" if dates else ": no run file has a date"
        raise NothingRan(f"nothing ran since {escape_control(since)}{newest}", "Give an earlier date, or a version.")


def _newest_day(connection: duckdb.DuckDBPyConnection, side: Configuration) -> str:
    query = (
        "SELECT max(left(started_at, 10)) FROM runs WHERE (framework, version, device, machine, sync) = (?, ?, ?, ?, ?)"
    )
    (row,) = connection.execute(query, side.key).fetchall()
    return row[0] or ""


@contextmanager
def _results(study: Study, start: str, end: str, strict_placement: bool) -> Iterator[duckdb.DuckDBPyConnection]:
    """The last results of each test from ``start`` to before ``end``, with the views of the analysis."""
    with reading(study.tables), connect() as connection:
        create_views(connection, study.tables)
        connection.execute("SET VARIABLE from_instant = ?", [start])
        connection.execute("SET VARIABLE to_instant = ?", [end])
        connection.execute(load_sql("compare", "last_results"))
        analyse(connection, strict_placement)
        yield connection

"""How many functions pass over time: on each day on which a target ran, and in each version on one device and machine.

By date, each test counts with its last result until then, so that a night on which a part ran is comparable with the
others. By version, the counts are those of the rates. Measured and predicted lines are never one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import duckdb

from portbench.analysis.configurations import Configuration
from portbench.analysis.rate_model import Rates
from portbench.study.parquet import release_memory
from portbench.study.summary import STATUSES
from portbench.util.sql import load_sql


@dataclass(frozen=True)
class Point:
    """The functions by status on a day (``2026-11-20``) or in a version; of some of them a test ran."""

    place: str
    counts: Mapping[str, int]

    @property
    def rated(self) -> int:
        """Functions of which a test ran."""
        return sum(self.counts.values()) - self.counts["not_testable"]

    @property
    def percent(self) -> float:
        """Percent of the rated functions whose tests all pass."""
        return 100 * self.counts["all_pass"] / self.rated


@dataclass(frozen=True)
class Line:
    """At least two points of one target (by date), or of the versions on one device and machine (by version: ``side``
    is the newest), the oldest first."""

    side: Configuration
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Group:
    """Lines of one framework, all measured or all predicted, with their labels."""

    title: str
    lines: tuple[tuple[str, Line], ...]


@dataclass(frozen=True)
class Timeline:
    """The lines of a study; both are empty for a study of one day and one version of each framework."""

    by_date: tuple[Line, ...] = ()
    by_version: tuple[Line, ...] = ()


def compute_timeline(connection: duckdb.DuckDBPyConnection, rates: Mapping[Configuration, Rates]) -> Timeline:
    """The timeline of the study that ``connection`` shows; ``rates`` are its rates, which were computed on it."""
    return Timeline(tuple(_by_date(connection)), tuple(_by_version(rates)))


def grouped(lines: Sequence[Line], most: int, *, has_version: bool) -> list[Group]:
    """Lines to be shown together, at most ``most``: those of one framework, what is predicted apart. A label is the
    device, with the machine where several have it; ``has_version``: it begins with the version."""
    groups: dict[str, list[tuple[str, Line]]] = {}
    for line in lines:
        side = line.side
        machines = {
            one.side.machine for one in lines if (one.side.framework, one.side.device) == (side.framework, side.device)
        }
        label = f"{side.version} {side.device}" if has_version else side.device
        label += f" on {side.machine}" if len(machines) > 1 else ""
        label += f", {side.synchronization}" if side.synchronization else ""
        groups.setdefault(f"{side.framework}{', predicted' if side.is_predicted else ''}", []).append((label, line))
    return [
        Group(title, tuple(group[start : start + most]))
        for title, group in groups.items()
        for start in range(0, len(group), most)
    ]


def _by_date(connection: duckdb.DuckDBPyConnection) -> Sequence[Line]:
    connection.execute(load_sql("analysis", "test_facts"))
    found: dict[Configuration, dict[str, dict[str, int]]] = {}
    for *key, day, status, functions in connection.sql(load_sql("analysis", "timeline")).fetchall():
        found.setdefault(Configuration(*key), {}).setdefault(day, dict.fromkeys(STATUSES, 0))[status] = functions
    # This query takes the most memory of all.
    release_memory(connection)
    lines = [_line(side, [Point(day, counts) for day, counts in days.items()]) for side, days in sorted(found.items())]
    return [line for line in lines if len(line.points) > 1]


def _by_version(rates: Mapping[Configuration, Rates]) -> Sequence[Line]:
    def place(side: Configuration) -> tuple[str, str, str, str]:
        return side.framework, side.device, side.machine, side.sync

    lines = []
    # Configurations sort by version within these.
    for _, sides in groupby(sorted(rates, key=lambda side: (place(side), side.target.order)), key=place):
        versions = list(sides)
        lines.append(_line(versions[-1], [Point(one.version, rates[one].by_function.counts) for one in versions]))
    return [line for line in lines if len(line.points) > 1]


def _line(side: Configuration, points: Sequence[Point]) -> Line:
    return Line(side, tuple(point for point in points if point.rated))

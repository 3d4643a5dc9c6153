"""How long functions take on two configurations, and the ratio, by the robust method: medians after the warm-up, a
geometric mean, an interval. ``portbench.analysis.paper_method`` has the paper's; figures are always labelled.

Both are over the tests that passed in every run and were timed on both; ``exclusions`` names the others. Needs the
views of ``portbench.study.summary.analyse``.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import duckdb

from portbench.analysis.configurations import Configuration
from portbench.analysis.exclusions import Excluded
from portbench.analysis.intervals import Interval, bootstrap_ratios
from portbench.analysis.pairing import pair, pair_exclusions
from portbench.analysis.strata import Stratum, strata
from portbench.analysis.terms import ROBUST

NO_TIME = "took no time by the clock"
"""Why a test is excluded whose time is 0."""


class FunctionLatency(NamedTuple):
    """A function's latency on two configurations, in nanoseconds. ``ratio`` is second over first: above 1 the second is
    slower.

    ``low`` and ``high`` are the ratio's 95 % interval: null by the paper's method, and where only one test was timed.
    ``tests`` counts the tests that were timed on both. ``listed_as`` is the paper's name of the function.
    """

    function: str
    listed_as: str
    first_ns: float
    second_ns: float
    ratio: float
    low: float | None
    high: float | None
    tests: int


@dataclass(frozen=True)
class Latencies:
    """All functions that were timed on two configurations, by name. ``method`` is PAPER_METHOD or ROBUST."""

    first: Configuration
    second: Configuration
    method: str
    functions: tuple[FunctionLatency, ...]
    exclusions: tuple[Excluded, ...]


def robust(
    connection: duckdb.DuckDBPyConnection,
    first: Configuration,
    second: Configuration,
    known: Mapping[tuple[str, str], Stratum] | None = None,
) -> Latencies:
    """A test's latency is the median time of a call after the warm-up, over all blocks and runs. A function's latency
    is the geometric mean over its tests, its ratio the geometric mean of the tests' ratios, with a bootstrap interval
    (see ``portbench.analysis.intervals.bootstrap_ratio``). ``known``: the strata of the study, where they were read
    already."""
    pair(connection, first, second)
    names = strata(connection) if known is None else known
    times: dict[str, list[tuple[float, float]]] = {}
    for function, first_ns, second_ns in connection.sql(
        "SELECT function, first_ns, second_ns FROM steady_pairs ORDER BY function, test"
    ).fetchall():
        # Each pair has the same functions: one text for all of them.
        times.setdefault(sys.intern(function), []).append((first_ns, second_ns))
    timed = {function: [both for both in pairs if all(both)] for function, pairs in times.items()}
    instant = [
        Excluded(function, NO_TIME, len(times[function]) - len(pairs))
        for function, pairs in timed.items()
        if len(pairs) < len(times[function])
    ]
    ratios = {function: [second / first for first, second in pairs] for function, pairs in timed.items() if pairs}
    functions = [
        _robust(function, listed_as(names, first, function), timed[function], ratios[function], interval)
        for function, interval in zip(ratios, bootstrap_ratios(list(ratios.values())), strict=True)
    ]
    return latencies(connection, first, second, ROBUST, functions, instant, "not_timed_steady")


def _robust(
    function: str,
    name: str,
    times: Sequence[tuple[float, float]],
    ratios: Sequence[float],
    interval: Interval | None,
) -> FunctionLatency:
    return FunctionLatency(
        function=function,
        listed_as=name,
        first_ns=_geometric_mean([first_ns for first_ns, _ in times]),
        second_ns=_geometric_mean([second_ns for _, second_ns in times]),
        ratio=_geometric_mean(ratios),
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        tests=len(times),
    )


def _geometric_mean(values: Sequence[float]) -> float:
    """That of the module statistics, whose checks take longer than the mean of a few values."""
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def latencies(
    connection: duckdb.DuckDBPyConnection,
    first: Configuration,
    second: Configuration,
    method: str,
    functions: Sequence[FunctionLatency],
    instant: Sequence[Excluded],
    not_timed: str,
) -> Latencies:
    """The latencies of two configurations with what is excluded: tests that took no time, and those of the view
    ``not_timed`` of sql/pair_views.sql."""
    others = pair_exclusions(connection, not_timed, first, second)
    return Latencies(first, second, method, tuple(functions), tuple(sorted((*instant, *others))))


def listed_as(names: Mapping[tuple[str, str], Stratum], side: Configuration, function: str) -> str:
    """The paper's name of a function; its own where the sample does not have it."""
    stratum = names.get((side.framework, function))
    return stratum.listed_as if stratum else function

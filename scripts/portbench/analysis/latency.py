"""How long functions take on two configurations, and the ratio, by two methods that are always labelled.

*As published*: the mean of all timed first calls. *Robust*: medians after the warm-up, a geometric mean, an interval.
Both are over the tests that passed in every run and were timed on both; ``exclusions`` names the others. Needs the
views of ``portbench.study.summary.analyse``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

import duckdb

from portbench.analysis.configurations import Configuration
from portbench.analysis.exclusions import Excluded
from portbench.analysis.intervals import bootstrap_ratio
from portbench.analysis.pairing import pair, pair_exclusions
from portbench.analysis.strata import Stratum, strata
from portbench.analysis.terms import AS_PUBLISHED, ROBUST
from portbench.study.summary import fetch_dicts

_NO_TIME = "took no time by the clock"


@dataclass(frozen=True)
class FunctionLatency:
    """A function's latency on two configurations, in nanoseconds. ``ratio`` is second over first: above 1 the second is
    slower.

    ``low`` and ``high`` are the ratio's 95 % interval: null as published, and where only one test was timed.
    ``tests`` counts the tests that were timed on both. ``listed_as`` is the paper's name of the function. As published
    there are also the means in which each test counts alike, however many calls it times: null in the robust analysis.
    """

    function: str
    listed_as: str
    first_ns: float
    second_ns: float
    ratio: float
    low: float | None
    high: float | None
    tests: int
    first_by_test_ns: float | None = None
    second_by_test_ns: float | None = None


@dataclass(frozen=True)
class Latencies:
    """All functions that were timed on two configurations, by name. ``method`` is AS_PUBLISHED or ROBUST."""

    first: Configuration
    second: Configuration
    method: str
    functions: tuple[FunctionLatency, ...]
    exclusions: tuple[Excluded, ...]


def as_published(connection: duckdb.DuckDBPyConnection, first: Configuration, second: Configuration) -> Latencies:
    """The paper's latencies: a function's mean of all timed first calls (call and wait) of all runs, over the tests
    that were timed on both; the ratio is that of the means."""
    pair(connection, first, second, "cold")
    names = strata(connection)
    functions = []
    instant = []
    for row in fetch_dicts(connection, "FROM cold_pairs ORDER BY function"):
        if row["first_ns"] and row["second_ns"]:
            listed_as = _listed_as(names, first, row["function"])
            ratio = row["second_ns"] / row["first_ns"]
            functions.append(FunctionLatency(listed_as=listed_as, ratio=ratio, low=None, high=None, **row))
        else:
            instant.append(Excluded(row["function"], _NO_TIME, row["tests"]))
    return _latencies(connection, first, second, AS_PUBLISHED, functions, instant)


def robust(connection: duckdb.DuckDBPyConnection, first: Configuration, second: Configuration) -> Latencies:
    """A test's latency is the median time of a call after the warm-up, over all blocks and runs. A function's latency
    is the geometric mean over its tests, its ratio the geometric mean of the tests' ratios, with a bootstrap interval
    (see ``portbench.analysis.intervals.bootstrap_ratio``)."""
    pair(connection, first, second, "steady")
    names = strata(connection)
    times: dict[str, list[tuple[float, float]]] = {}
    for function, first_ns, second_ns in connection.sql(
        "SELECT function, first_ns, second_ns FROM steady_pairs ORDER BY function, test"
    ).fetchall():
        times.setdefault(function, []).append((first_ns, second_ns))
    functions = []
    instant = []
    for function, pairs in times.items():
        timed = [both for both in pairs if all(both)]
        if len(timed) < len(pairs):
            instant.append(Excluded(function, _NO_TIME, len(pairs) - len(timed)))
        if timed:
            functions.append(_robust(function, _listed_as(names, first, function), timed))
    return _latencies(connection, first, second, ROBUST, functions, instant)


def _robust(function: str, listed_as: str, times: Sequence[tuple[float, float]]) -> FunctionLatency:
    ratios = [second_ns / first_ns for first_ns, second_ns in times]
    interval = bootstrap_ratio(ratios)
    return FunctionLatency(
        function=function,
        listed_as=listed_as,
        first_ns=geometric_mean([first_ns for first_ns, _ in times]),
        second_ns=geometric_mean([second_ns for _, second_ns in times]),
        ratio=geometric_mean(ratios),
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        tests=len(times),
    )


def _latencies(
    connection: duckdb.DuckDBPyConnection,
    first: Configuration,
    second: Configuration,
    method: str,
    functions: Sequence[FunctionLatency],
    instant: Sequence[Excluded],
) -> Latencies:
    others = pair_exclusions(connection, "not_timed", first, second)
    return Latencies(first, second, method, tuple(functions), tuple(sorted((*instant, *others))))


def _listed_as(names: Mapping[tuple[str, str], Stratum], side: Configuration, function: str) -> str:
    stratum = names.get((side.framework, function))
    return stratum.listed_as if stratum else function

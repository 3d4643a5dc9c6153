"""How long functions take on two sides, and the ratio between them, in two ways that are always labelled.

*As published*: the mean of all timed first calls. *Robust*: medians after the warm-up, a geometric mean, an interval.
Both only over tests that passed in every run and were timed on both sides; the rest is named in ``left_out``. Needs the
views of ``portbench.analysis.analyse``.
"""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from portbench.left_out import LeftOut
from portbench.sides import Side

AS_PUBLISHED, ROBUST = "as published", "robust"


@dataclass(frozen=True)
class FunctionLatency:
    """A function's latency on two sides, in nanoseconds. ``ratio`` is second over first: above 1 the second is slower.

    ``low`` and ``high`` are the ratio's 95 % interval: null as published, and where one test alone was timed.
    ``tests`` were timed on both sides. ``listed_as`` is the name that published figures go by.
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
    """All functions that were timed on both sides, by name. ``method`` is the label: "as published" or "robust"."""

    first: Side
    second: Side
    method: str
    functions: tuple[FunctionLatency, ...]
    left_out: tuple[LeftOut, ...]


def as_published(connection: duckdb.DuckDBPyConnection, first: Side, second: Side) -> Latencies:
    """The study's latencies: of a function the mean of all timed first calls (call and wait) of all runs, over the
    tests that were timed on both sides; the ratio is that of the means."""
    raise NotImplementedError


def robust(connection: duckdb.DuckDBPyConnection, first: Side, second: Side) -> Latencies:
    """Of each test the median time of a call after the warm-up, over all blocks and runs. A function's latency is the
    geometric mean over its tests, its ratio the geometric mean of the tests' ratios, with a bootstrap interval (see
    ``portbench.intervals.bootstrap_ratio``)."""
    raise NotImplementedError

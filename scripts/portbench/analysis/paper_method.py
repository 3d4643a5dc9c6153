"""How long functions take on two configurations, by the paper's method.

A function's latency is the mean over its tests of each test's mean over all of its first calls (call and wait) and
runs. A test counts if it passed, and was timed in every run, on both configurations. The paper's text speaks of a mean
over all timed operations; its raw data give its printed figures only by this rule. Needs the views of
``portbench.study.summary.analyse``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

import duckdb

from portbench.analysis.configurations import Configuration
from portbench.analysis.exclusions import Excluded
from portbench.analysis.latency import NO_TIME, FunctionLatency, Latencies, latencies, listed_as
from portbench.analysis.pairing import pair
from portbench.analysis.strata import Stratum, strata
from portbench.analysis.terms import PAPER_METHOD


def paper_method(
    connection: duckdb.DuckDBPyConnection,
    first: Configuration,
    second: Configuration,
    known: Mapping[tuple[str, str], Stratum] | None = None,
) -> Latencies:
    """The latencies of two configurations; a ratio is that of the means, and has no interval. ``known``: the strata of
    the study, where they were read already."""
    pair(connection, first, second)
    names = strata(connection) if known is None else known
    functions = []
    instant = []
    query = "SELECT function, first_ns, second_ns, tests FROM cold_pairs ORDER BY function"
    for text, first_ns, second_ns, tests in connection.sql(query).fetchall():
        # Each pair has the same functions: one text for all of them.
        function = sys.intern(text)
        if first_ns and second_ns:
            name, ratio = listed_as(names, first, function), second_ns / first_ns
            functions.append(FunctionLatency(function, name, first_ns, second_ns, ratio, None, None, tests))
        else:
            instant.append(Excluded(function, NO_TIME, tests))
    return latencies(connection, first, second, PAPER_METHOD, functions, instant, "not_timed_cold")

"""How long functions take on two configurations, by the paper's method.

A function's latency is the mean over its tests of each test's mean over all of its first calls (call and wait) and
runs. A test counts if it passed, and was timed in every run, on both configurations. The paper's text speaks of a mean
over all timed operations; its raw data give its printed figures only by this rule. Needs the views of
``portbench.study.summary.analyse``.
"""

from __future__ import annotations

from collections.abc import Mapping

import duckdb

from portbench.analysis.configurations import Configuration
from portbench.analysis.exclusions import Excluded
from portbench.analysis.latency import NO_TIME, FunctionLatency, Latencies, latencies, listed_as
from portbench.analysis.pairing import pair
from portbench.analysis.strata import Stratum, strata
from portbench.analysis.terms import PAPER_METHOD
from portbench.study.summary import fetch_dicts


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
    for row in fetch_dicts(connection, "FROM cold_pairs ORDER BY function"):
        if row["first_ns"] and row["second_ns"]:
            name = listed_as(names, first, row["function"])
            ratio = row["second_ns"] / row["first_ns"]
            functions.append(FunctionLatency(listed_as=name, ratio=ratio, low=None, high=None, **row))
        else:
            instant.append(Excluded(row["function"], NO_TIME, row["tests"]))
    return latencies(connection, first, second, PAPER_METHOD, functions, instant, "not_timed_cold")

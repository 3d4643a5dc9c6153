"""Finds configurations whose timing is unverified: their times probably end before the device's work.

Only where timed regions end as the paper's did, since a run with the complete wait records no time that its
synchronization check did not verify. Needs the views of ``portbench.study.summary.analyse``.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

import duckdb

from portbench.analysis.configurations import Configuration
from portbench.analysis.latency import FunctionLatency, Latencies
from portbench.util.sql import load_sql

IMPLAUSIBLE = 10.0
"""Two models of one device differ by less than so many times in the median function."""
_LEAST_FUNCTIONS = 5
_FAILED = "its synchronization check failed: the times do not grow with the work"

_QUERY = """
    SELECT DISTINCT framework, version, device, machine, sync
    FROM test_facts
    WHERE unproven AND cold_ns IS NOT NULL AND sync <> 'complete'
"""


def unverified_timing(connection: duckdb.DuckDBPyConnection, models: Iterable[Latencies]) -> dict[Configuration, str]:
    """Why the timing of a configuration is unverified, for each one that is so.

    ``models``: the latencies of first calls of two models of one device. Where the median function takes more than
    IMPLAUSIBLE times as long on the one, the times of the other are implausibly small.
    """
    connection.execute(load_sql("analysis", "test_facts"))
    found = {Configuration(*key): _FAILED for key in connection.sql(_QUERY).fetchall()}
    return _implausible(models) | found


def _implausible(models: Iterable[Latencies]) -> dict[Configuration, str]:
    found: dict[Configuration, str] = {}
    for measured in models:
        if measured.first.sync == "complete" or len(measured.functions) < _LEAST_FUNCTIONS:
            continue
        middle = median(function.ratio for function in measured.functions)
        if not 1 / IMPLAUSIBLE <= middle <= IMPLAUSIBLE:
            small, large = (measured.first, measured.second) if middle > 1 else (measured.second, measured.first)
            times = middle if middle > 1 else 1 / middle
            example = max(measured.functions, key=lambda function: max(function.ratio, 1 / function.ratio))
            found[small] = (
                f"implausibly small times: the median function takes {times:.1f} times as long on {large}, another "
                f"model of the same device ({_example(example, is_first=small == measured.first)})"
            )
    return found


def _example(function: FunctionLatency, is_first: bool) -> str:
    here, there = (function.first_ns, function.second_ns) if is_first else (function.second_ns, function.first_ns)
    return f"{function.listed_as}: {here / 1e6:.3f} ms here, {there / 1e6:,.3f} ms there"

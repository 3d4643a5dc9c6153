"""The comparisons of the page: the verdicts of ``portbench compare`` for the most comparable pairs of targets."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from portbench.analysis.configurations import Configuration
from portbench.compare.comparison import PairComparison, compare_sides
from portbench.compare.times import Times
from portbench.page.packing import rounded
from portbench.study.summary import Row

VERDICTS = ("slower", "faster", "unclear", "similar")
"""What is said of a test's time, in the order of the packed counts."""

_MOST_PAIRS = 6
_MOST_TESTS = 20_000


def pack_comparisons(
    connection: duckdb.DuckDBPyConnection,
    targets: Sequence[Configuration],
    pairs: Sequence[tuple[Configuration, Configuration]],
    rows: Mapping[tuple[str, str, str], int],
) -> list[Row]:
    """The first of ``pairs`` as ``portbench compare`` compares them. ``rows``: the number of a row by framework,
    function and what it is successor of. Pairs with many tests are left out: each takes seconds."""
    tests = dict.fromkeys(targets, 0)
    query = "SELECT framework, version, device, machine, sync, count(*) FROM verdicts GROUP BY ALL"
    tests |= {Configuration(*key): found for *key, found in connection.sql(query).fetchall()}
    chosen = [pair for pair in pairs if sum(tests[side] for side in pair) <= _MOST_TESTS][:_MOST_PAIRS]
    return [_pair(compare_sides(connection, *pair), targets, rows) for pair in chosen]


def _pair(
    found: PairComparison, targets: Sequence[Configuration], rows: Mapping[tuple[str, str, str], int]
) -> dict[str, Any]:
    outcomes = found.outcomes
    changes = {
        "new failures": outcomes.new_failures,
        "new wrong values": outcomes.new_wrong,
        "new passes": outcomes.new_passes,
        "not run now": outcomes.not_run,
        "flaky": outcomes.flaky,
    }
    by_row: dict[int, dict[str, Any]] = {}

    def entry(function: str, successor_of: str) -> dict[str, Any]:
        return by_row.setdefault(rows[found.first.framework, function, successor_of], {})

    for name, tests in changes.items():
        for change in tests:
            counts = entry(change.key.function, change.key.successor_of).setdefault("changes", {})
            counts[name] = counts.get(name, 0) + 1
    for times in (found.cold, found.steady):
        verdicts: dict[tuple[str, str], Counter[str]] = {}
        for test in times.tests:
            verdicts.setdefault((test.key.function, test.key.successor_of), Counter())[test.verdict] += 1
        for key, seen in verdicts.items():
            entry(*key)[times.protocol] = [seen[name] for name in VERDICTS]
    sides = [f"{side.target}@{side.machine}" for side in (found.first, found.second)]
    return {
        "first": targets.index(found.first),
        "second": targets.index(found.second),
        "compared": outcomes.compared,
        "changes": {name: len(tests) for name, tests in changes.items() if tests},
        "times": {times.protocol: _times(times) for times in (found.cold, found.steady)},
        "rows": by_row,
        "command": shlex.join(["portbench", "compare", *sides, "--study"]),
    }


def _times(times: Times) -> Row:
    interval = times.interval
    return {
        "tests": len(times.tests),
        "ratio": rounded(times.ratio),
        "interval": [rounded(interval.low), rounded(interval.high)] if interval else None,
        "verdicts": [len(times.found(name)) for name in VERDICTS],
        "has_noise": times.has_run_variance,
    }

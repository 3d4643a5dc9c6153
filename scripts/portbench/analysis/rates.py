"""How many functions and tests fail on a configuration, and on two over the tests that both could have run.

*Paper's method*: functions by status, in percent of those that have one, over all, the top 20 and each decile of use.
*Robust*: tests that fail, with Wilson's interval, and the same weighted by how often functions are used in the corpus.
A test fails if it did not pass in every run in which it ran. As in the paper, a function that was timed, and of which
no outcome is known, counts as a success where those of others are known. Successors do not count. Needs the views of
``portbench.study.summary.analyse``; strata come from the view listed_functions, and are unknown where it has no row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import duckdb
import numpy as np

from portbench.analysis.configurations import Configuration
from portbench.analysis.exclusions import Excluded
from portbench.analysis.intervals import bootstrap_weighted_rate
from portbench.analysis.pairing import pair, pair_exclusions
from portbench.analysis.rate_model import (
    ALL,
    DECILES,
    FunctionRates,
    PairRates,
    Rates,
    TestRates,
    UsedRate,
    Uses,
    WeightedRate,
)
from portbench.analysis.strata import Stratum, strata
from portbench.published.paper import OTHERS, TOP20
from portbench.study.summary import STATUSES, fetch_dicts
from portbench.util.sql import load_sql
from portbench.util.text import shortened

_LONGEST_REASON = 200
_KEY_COLUMNS = 5
_REASONS = {"error": "an error of the manifest", "skipped": "skipped", "outside": "not in the paper's sample"}


class _Function(NamedTuple):
    """The tests of a function that ``ran`` and that are ``failing``, its ``status`` and module; ``unknown``: the tests
    of unknown outcome, ``unknown_timed``: those of them that were timed."""

    function: str
    ran: int
    failing: int
    status: str
    unknown: int = 0
    unknown_timed: int = 0
    module: str = ""


def rates(connection: duckdb.DuckDBPyConnection, uses: Uses | None = None) -> dict[Configuration, Rates]:
    """The rates of every configuration over all of its tests, sorted. ``uses``: those of the functions, if known."""
    known = strata(connection)
    connection.execute(load_sql("analysis", "test_facts"))
    functions: dict[Configuration, list[_Function]] = {}
    rows = connection.sql(load_sql("analysis", "rates")).fetchall()
    for key, of_side in groupby(rows, itemgetter(slice(_KEY_COLUMNS))):
        functions[Configuration(*key)] = [_Function(*row[_KEY_COLUMNS:]) for row in of_side]
    skipped: dict[Configuration, list[Excluded]] = {}
    for row in fetch_dicts(connection, load_sql("analysis", "skipped_tests")):
        why = _REASONS[row["verdict"]]
        reason = f"{why} ({shortened(row['reason'], _LONGEST_REASON)})" if row["reason"] else why
        skipped.setdefault(Configuration.of(row), []).append(Excluded(row["function"], reason, row["tests"]))
    return {
        side: replace(
            _rates(side, functions[side], known, skipped.get(side, ())),
            by_module=_by_module(functions[side]),
            by_use=_by_use(side.framework, functions[side], uses) if uses is not None else None,
        )
        for side in sorted(functions)
    }


def pair_rates(
    connection: duckdb.DuckDBPyConnection,
    first: Configuration,
    second: Configuration,
    known: Mapping[tuple[str, str], Stratum] | None = None,
) -> PairRates:
    """The rates of two configurations over the tests that both could have run: that ran on both, passed or not.

    Excluded, with the reason: tests that one of them does not have, skipped, or whose function its version lacks.
    ``known``: the strata of the study, where they were read already.
    """
    known = strata(connection) if known is None else known
    pair(connection, first, second)
    counts = "passed + failed + flaky AS ran, failed + flaky AS failing"
    query = f"SELECT place, function, {counts}, status FROM shared_functions ORDER BY function"
    rows = connection.sql(query).fetchall()
    of_first, of_second = (
        _rates(side, [_Function(*row) for place_of_row, *row in rows if place_of_row == place], known, ())
        for place, side in ((1, first), (2, second))
    )
    return PairRates(of_first, of_second, pair_exclusions(connection, "not_shared", first, second))


def _rates(
    side: Configuration,
    functions: Sequence[_Function],
    known: Mapping[tuple[str, str], Stratum],
    exclusions: Iterable[Excluded],
) -> Rates:
    strata = [known.get((side.framework, function.function)) for function in functions]
    statuses = _statuses(functions)
    groups: dict[str, list[str]] = {ALL: statuses}
    for status, stratum in zip(statuses, strata, strict=True):
        if stratum and stratum.top20 is not None:
            groups.setdefault(TOP20 if stratum.top20 else OTHERS, []).append(status)
        if stratum and stratum.decile is not None:
            groups.setdefault(DECILES[stratum.decile - 1], []).append(status)
    order = (ALL, TOP20, OTHERS, *DECILES)
    return Rates(
        side=side,
        by_stratum={name: _function_rates(groups[name]) for name in order if name in groups},
        robust=TestRates(
            failed=sum(function.failing for function in functions),
            tests=sum(function.ran for function in functions),
            weighted=_weighted(functions, strata),
        ),
        strata_known=sum(stratum is not None and stratum.top20 is not None for stratum in strata),
        exclusions=tuple(exclusions),
        unknown=sum(function.unknown for function in functions),
    )


def _by_module(functions: Sequence[_Function]) -> dict[str, FunctionRates]:
    modules: dict[str, list[str]] = {}
    for function, status in zip(functions, _statuses(functions), strict=True):
        modules.setdefault(function.module, []).append(status)
    return {module: _function_rates(modules[module]) for module in sorted(modules)}


def _by_use(framework: str, functions: Sequence[_Function], uses: Uses) -> UsedRate | None:
    used = [(one, uses.get((framework, one.function), 0)) for one in functions if one.ran]
    total = sum(number for _, number in used)
    if not total:
        return None
    passed = sum(number for one, number in used if one.status == "all_pass")
    return UsedRate(passed, total, sum(number > 0 for _, number in used))


def _statuses(functions: Sequence[_Function]) -> list[str]:
    """The status of each function. One that was timed, and of which no outcome is known, passes where those of others
    are known."""
    outcomes_known = any(one.ran for one in functions)
    return ["all_pass" if outcomes_known and not one.ran and one.unknown_timed else one.status for one in functions]


def _function_rates(statuses: Sequence[str]) -> FunctionRates:
    return FunctionRates({status: statuses.count(status) for status in STATUSES})


def _weighted(functions: Iterable[_Function], strata: Iterable[Stratum | None]) -> WeightedRate | None:
    used = [
        (one.failing / one.ran, stratum.uses)
        for one, stratum in zip(functions, strata, strict=True)
        if one.ran and stratum and stratum.uses
    ]
    if not used:
        return None
    shares, uses = zip(*used, strict=True)
    return WeightedRate(
        rate=float(np.average(shares, weights=uses)),
        interval=bootstrap_weighted_rate(shares, uses),
        functions=len(used),
        uses=sum(uses),
    )

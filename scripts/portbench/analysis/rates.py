"""How many functions and tests fail on a side, and on two sides over the tests that both could have run.

*As published*: functions by status, in percent of those that have one, over all, the top 20 and each decile of use.
*Robust*: tests that fail, with Wilson's interval, and the same weighted by how often functions are used in the corpus.
A test fails where it did not pass in every run in which it ran. Successors do not count. Needs the views of
``portbench.analysis.analyse``; strata come from the view listed_functions, and are not known where it has no row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import duckdb
import numpy as np

from portbench.analysis.configurations import Configuration
from portbench.analysis.exclusions import Excluded
from portbench.analysis.intervals import Interval, bootstrap_weighted_rate, wilson
from portbench.analysis.pairing import left_out_of_pair, pair
from portbench.analysis.strata import Stratum, strata
from portbench.study.summary import STATUSES, Row, fetch_dicts
from portbench.util.sql import load_sql
from portbench.util.text import shortened

ALL, TOP20, OTHERS = "all", "top20", "others"
DECILES = tuple(f"decile {number}" for number in range(1, 11))
"""Strata: all functions; the 20 of greatest use of a framework; all that are known not to be of these, which the study
drew by decile (its Table 4 calls them "all functions"); each decile of use, 1 to 10, of both."""

_LONGEST_REASON = 200


@dataclass(frozen=True)
class FunctionRates:
    """As published: how many functions have which status (pass, partial, complete; none: nothing ran)."""

    counts: Mapping[str, int]
    method: str = field(default="as published", init=False)

    @property
    def rated(self) -> int:
        """Functions that have a status: what percentages are of."""
        return sum(self.counts.values()) - self.counts["none"]

    @property
    def percent(self) -> dict[str, float] | None:
        """Percent of the rated functions, by status without none; null where there is no rated function."""
        if not self.rated:
            return None
        return {status: 100 * self.counts[status] / self.rated for status in STATUSES if status != "none"}

    @property
    def failing(self) -> int:
        """Functions that fail partially or completely."""
        return self.counts["partial"] + self.counts["complete"]

    @property
    def failing_percent(self) -> float | None:
        """The same in percent of the rated functions; null where there is no rated function."""
        return 100 * self.failing / self.rated if self.rated else None

    @property
    def failing_interval(self) -> Interval:
        """Wilson's interval of failing over rated, as fractions."""
        return wilson(self.failing, self.rated)


@dataclass(frozen=True)
class WeightedRate:
    """The mean over functions of the share of their tests that fail, weighted by each function's uses in the corpus.

    ``rate`` and ``interval`` (null for fewer than two functions) are fractions; ``functions`` counts those that ran and
    whose uses are known and not 0, ``uses`` adds them up.
    """

    rate: float
    interval: Interval | None
    functions: int
    uses: int


@dataclass(frozen=True)
class TestRates:
    """Robust: tests that fail, of those that ran. ``weighted`` is null without known uses."""

    failed: int
    tests: int
    weighted: WeightedRate | None
    method: str = field(default="robust", init=False)

    @property
    def rate(self) -> float | None:
        """The share that fails, as a fraction; null where nothing ran."""
        return self.failed / self.tests if self.tests else None

    @property
    def interval(self) -> Interval:
        """Wilson's, as fractions."""
        return wilson(self.failed, self.tests)


@dataclass(frozen=True)
class Rates:
    """The rates of one side. ``by_stratum`` has ALL, TOP20, OTHERS and DECILES as keys, ALL always, others where there
    is such a function; ``strata_known`` counts the functions of which the study knows whether they are of the top 20.
    ``left_out``: tests that did not run."""

    side: Configuration
    by_stratum: Mapping[str, FunctionRates]
    robust: TestRates
    strata_known: int
    left_out: tuple[Excluded, ...]

    @property
    def as_published(self) -> FunctionRates:
        """Over all functions."""
        return self.by_stratum[ALL]


@dataclass(frozen=True)
class PairRates:
    """Both sides' rates over the tests that both could have run; the rest is in ``left_out``."""

    first: Rates
    second: Rates
    left_out: tuple[Excluded, ...]


def rates(connection: duckdb.DuckDBPyConnection) -> dict[Configuration, Rates]:
    """The rates of every side over all of its tests, the sides sorted."""
    known = strata(connection)
    connection.execute(load_sql("analysis", "test_facts"))
    functions: dict[Configuration, list[Row]] = {}
    for row in fetch_dicts(connection, load_sql("analysis", "rates")):
        functions.setdefault(_side(row), []).append(row)
    skipped: dict[Configuration, list[Excluded]] = {}
    for row in fetch_dicts(connection, load_sql("analysis", "skipped_tests")):
        reason = f"skipped ({shortened(row['reason'], _LONGEST_REASON)})" if row["reason"] else "skipped"
        skipped.setdefault(_side(row), []).append(Excluded(row["function"], reason, row["tests"]))
    return {side: _rates(side, functions[side], known, skipped.get(side, ())) for side in sorted(functions)}


def pair_rates(connection: duckdb.DuckDBPyConnection, first: Configuration, second: Configuration) -> PairRates:
    """The rates of two sides over the tests that both could have run: that ran on both, passed or not.

    Left out, with the reason: tests that one side does not have, skipped, or whose function its version lacks.
    """
    known = strata(connection)
    pair(connection, first, second)
    shared = fetch_dicts(connection, "FROM shared_functions ORDER BY function")
    of_first, of_second = (
        _rates(side, [row for row in shared if row["place"] == place], known, ())
        for place, side in ((1, first), (2, second))
    )
    return PairRates(of_first, of_second, left_out_of_pair(connection, "not_shared", first, second))


def _side(row: Row) -> Configuration:
    return Configuration(row["framework"], row["version"], row["device"], row["machine"], row["sync"])


def _rates(
    side: Configuration, rows: Sequence[Row], known: Mapping[tuple[str, str], Stratum], left_out: Iterable[Excluded]
) -> Rates:
    placed = [(row, known.get((side.framework, row["function"]))) for row in rows]
    groups: dict[str, list[Row]] = {ALL: list(rows)}
    for row, stratum in placed:
        for name in _strata_of(stratum):
            groups.setdefault(name, []).append(row)
    order = (ALL, TOP20, OTHERS, *DECILES)
    return Rates(
        side=side,
        by_stratum={name: _function_rates(groups[name]) for name in order if name in groups},
        robust=TestRates(
            failed=sum(row["failed"] + row["flaky"] for row in rows),
            tests=sum(_ran(row) for row in rows),
            weighted=_weighted(placed),
        ),
        strata_known=sum(stratum is not None and stratum.top20 is not None for _, stratum in placed),
        left_out=tuple(left_out),
    )


def _strata_of(stratum: Stratum | None) -> list[str]:
    if stratum is None:
        return []
    by_use = [] if stratum.top20 is None else [TOP20 if stratum.top20 else OTHERS]
    return by_use + ([] if stratum.decile is None else [DECILES[stratum.decile - 1]])


def _function_rates(rows: Iterable[Row]) -> FunctionRates:
    found = [row["status"] for row in rows]
    return FunctionRates({status: found.count(status) for status in STATUSES})


def _ran(row: Row) -> int:
    return int(row["passed"] + row["failed"] + row["flaky"])


def _weighted(placed: Iterable[tuple[Row, Stratum | None]]) -> WeightedRate | None:
    used = [(row, stratum.uses) for row, stratum in placed if _ran(row) and stratum and stratum.uses]
    if not used:
        return None
    shares = [(row["failed"] + row["flaky"]) / _ran(row) for row, _ in used]
    uses = [weight for _, weight in used]
    return WeightedRate(
        rate=float(np.average(shares, weights=uses)),
        interval=bootstrap_weighted_rate(shares, uses),
        functions=len(used),
        uses=sum(uses),
    )

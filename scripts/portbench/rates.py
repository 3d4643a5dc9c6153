"""How many functions and tests fail on a side, and on two sides over the tests that both could have run.

*As published*: functions by status, in percent of those that have one, over all, the top 20 and each decile of use.
*Robust*: tests that fail, with Wilson's interval, and the same weighted by how often functions are used in the corpus.
A test fails where it did not pass in every run in which it ran. Successors do not count. Needs the views of
``portbench.analysis.analyse``; strata come from the view listed_functions, and are not known where it has no row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import duckdb

from portbench.intervals import Interval
from portbench.left_out import LeftOut
from portbench.sides import Side

ALL, TOP20, OTHERS, UNKNOWN = "all", "top20", "others", "unknown"
DECILES = tuple(f"decile {number}" for number in range(1, 11))
"""Strata: all functions; the 20 of greatest use of a framework; all that are known not to be of these, which the study
drew by decile (its Table 4 calls them "all functions"); each decile of use, 1 to 10, of both."""


@dataclass(frozen=True)
class FunctionRates:
    """As published: how many functions have which status (pass, partial, complete; none: nothing ran)."""

    counts: Mapping[str, int]
    method: str = field(default="as published", init=False)

    @property
    def rated(self) -> int:
        """Functions that have a status: what percentages are of."""
        raise NotImplementedError

    @property
    def percent(self) -> dict[str, float] | None:
        """Percent of the rated functions, by status without none; null where there is no rated function."""
        raise NotImplementedError

    @property
    def failing(self) -> int:
        """Functions that fail partially or completely."""
        raise NotImplementedError

    @property
    def failing_percent(self) -> float | None:
        """The same in percent of the rated functions."""
        raise NotImplementedError

    @property
    def failing_interval(self) -> Interval:
        """Wilson's interval of failing over rated, as fractions."""
        raise NotImplementedError


@dataclass(frozen=True)
class WeightedRate:
    """The mean over functions of the share of their tests that fail, weighted by each function's uses in the corpus.

    ``rate`` and ``interval`` (null for fewer than two functions) are fractions; ``functions`` counts those whose uses
    are known, ``uses`` adds them up.
    """

    rate: float
    interval: Interval | None
    functions: int
    uses: int


@dataclass(frozen=True)
class TestRates:
    """Robust: tests that fail, of those that ran. ``interval`` is Wilson's; ``weighted`` is null without known uses."""

    failed: int
    tests: int
    weighted: WeightedRate | None
    method: str = field(default="robust", init=False)

    @property
    def rate(self) -> float | None:
        """The share that fails, as a fraction; null where nothing ran."""
        raise NotImplementedError

    @property
    def interval(self) -> Interval:
        """Wilson's, as fractions."""
        raise NotImplementedError


@dataclass(frozen=True)
class Rates:
    """The rates of one side. ``by_stratum`` has ALL, TOP20, OTHERS and DECILES as keys, those of which there is a
    function; ``strata_known`` counts functions whose stratum the study knows. ``left_out``: tests that did not run."""

    side: Side
    by_stratum: Mapping[str, FunctionRates]
    robust: TestRates
    strata_known: int
    left_out: tuple[LeftOut, ...]

    @property
    def as_published(self) -> FunctionRates:
        """Over all functions."""
        raise NotImplementedError


@dataclass(frozen=True)
class PairRates:
    """Both sides' rates over the tests that both could have run; the rest is in ``left_out``."""

    first: Rates
    second: Rates
    left_out: tuple[LeftOut, ...]


def rates(connection: duckdb.DuckDBPyConnection) -> dict[Side, Rates]:
    """The rates of every side over all of its tests."""
    raise NotImplementedError


def pair_rates(connection: duckdb.DuckDBPyConnection, first: Side, second: Side) -> PairRates:
    """The rates of two sides over the tests that both could have run: that ran on both, passed or not.

    Left out, with the reason: tests that one side does not have, skipped, or whose function its version lacks.
    """
    raise NotImplementedError

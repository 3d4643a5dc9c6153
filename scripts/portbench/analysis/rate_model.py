"""The rates of configurations: how many functions and tests fail, by the paper's method and the robust one.

``portbench.analysis.rates`` computes them and says what counts as a failure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from portbench.analysis.configurations import Configuration
from portbench.analysis.exclusions import Excluded
from portbench.analysis.intervals import Interval, wilson
from portbench.analysis.terms import PAPER_METHOD, ROBUST
from portbench.study.summary import STATUSES

ALL = "all"
DECILES = tuple(f"decile {number}" for number in range(1, 11))
"""Strata besides the paper's TOP20 and OTHERS: all functions; each decile of use, 1 to 10."""

Uses = Mapping[tuple[str, str], int]
"""How often functions are used in a corpus, by framework and function. A function that is not in it is not used."""


@dataclass(frozen=True)
class FunctionRates:
    """Paper's method: how many functions have which status (pass, partial, complete; none: nothing ran)."""

    counts: Mapping[str, int]
    method: str = field(default=PAPER_METHOD, init=False)

    @property
    def rated(self) -> int:
        """Functions that have a status: what percentages are of."""
        return sum(self.counts.values()) - self.counts["not_testable"]

    @property
    def percent(self) -> dict[str, float] | None:
        """Percent of the rated functions, by status without none; null where there is no rated function."""
        if not self.rated:
            return None
        return {status: 100 * self.counts[status] / self.rated for status in STATUSES if status != "not_testable"}

    @property
    def failing(self) -> int:
        """Functions of which some or all tests fail."""
        return self.counts["some_fail"] + self.counts["all_fail"]

    @property
    def failing_percent(self) -> float | None:
        """Failing functions in percent of the rated functions; null where there is no rated function."""
        return 100 * self.failing / self.rated if self.rated else None

    @property
    def failing_interval(self) -> Interval:
        """Wilson's interval of failing over rated functions, as fractions."""
        return wilson(self.failing, self.rated)


@dataclass(frozen=True)
class WeightedRate:
    """The mean over functions of the share of their tests that fail, weighted by each function's uses in the corpus.

    ``rate`` and ``interval`` (null for fewer than two functions) are fractions. ``functions`` counts the functions that
    ran and have known uses above 0; ``uses`` is the sum of their uses.
    """

    rate: float
    interval: Interval | None
    functions: int
    uses: int


@dataclass(frozen=True)
class TestRates:
    """Robust: tests that fail, of those that ran. ``weighted`` is null where no uses are known."""

    failed: int
    tests: int
    weighted: WeightedRate | None
    method: str = field(default=ROBUST, init=False)

    @property
    def rate(self) -> float | None:
        """The share that fails, as a fraction; null where nothing ran."""
        return self.failed / self.tests if self.tests else None

    @property
    def interval(self) -> Interval:
        """Wilson's, as fractions."""
        return wilson(self.failed, self.tests)


@dataclass(frozen=True)
class UsedRate:
    """The uses in a corpus of functions of which a test ran, and of those whose tests all pass. ``functions``: how many
    of them the corpus uses."""

    passed: int
    uses: int
    functions: int

    @property
    def percent(self) -> float:
        """Uses of functions whose tests all pass, in percent."""
        return 100 * self.passed / self.uses


@dataclass(frozen=True)
class Rates:
    """The rates of one configuration. Keys of ``by_stratum`` are ALL, always, and those of TOP20, OTHERS and DECILES
    that have a function; ``strata_known`` counts the functions of which it is known whether they are of the top 20.
    ``unknown`` counts the tests whose outcome is not known: they are in no rate. ``exclusions``: tests that did not
    run. ``by_module``: the functions of each module, sorted. ``by_use``: None without counts of a corpus, or where it
    uses none of the functions."""

    side: Configuration
    by_stratum: Mapping[str, FunctionRates]
    robust: TestRates
    strata_known: int
    exclusions: tuple[Excluded, ...]
    unknown: int = 0
    by_module: Mapping[str, FunctionRates] = field(default_factory=dict)
    by_use: UsedRate | None = None

    @property
    def is_timings_only(self) -> bool:
        """Whether no outcome is known: nothing can be said about failures."""
        return bool(self.unknown) and not self.by_function.rated

    @property
    def by_function(self) -> FunctionRates:
        """Over all functions."""
        return self.by_stratum[ALL]


@dataclass(frozen=True)
class PairRates:
    """The rates of two configurations over the tests that both could have run; ``exclusions``: all other tests."""

    first: Rates
    second: Rates
    exclusions: tuple[Excluded, ...]

"""What figures show of a study: rates, failures, latencies and pairs, with short names for the configurations.

Rates and latencies come from ``Results``; only the times of single tests and functions are read from the study.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
from numpy.typing import NDArray

from portbench.analysis import results as analysis
from portbench.analysis.configurations import SYNCHRONIZATION, Configuration
from portbench.analysis.exclusions import in_short
from portbench.analysis.latency import Latencies
from portbench.analysis.rate_model import DECILES, FunctionRates
from portbench.analysis.results import Results
from portbench.published import paper
from portbench.published.paper import TOP20
from portbench.util.sql import load_sql
from portbench.util.text import shortened

Floats = NDArray[np.float64]

PLACEMENT = "placement"
"""The category of a test that passed, but not wholly on the device, where that counts as failed."""

MOST_IN_PANEL = 4
"""How many configurations share a panel."""


@dataclass(frozen=True)
class Names:
    """The measured configurations of a study and their names in figures: ``labels`` are whole names, ``places`` only
    the device, next to the framework and version. The timing of ``unverified`` is not to be trusted."""

    sides: Sequence[Configuration]
    labels: Mapping[Configuration, str]
    places: Mapping[Configuration, str]
    unverified: Collection[Configuration] = ()


@dataclass(frozen=True)
class Rated:
    """The functions' rates of one configuration by stratum (see ``portbench.analysis.rates``), and the paper's figures
    in percent: by status, and failing by stratum; None where the paper has none."""

    label: str
    device: str
    by_stratum: Mapping[str, FunctionRates]
    published_status: Mapping[str, float] | None = None
    published_failing: Mapping[str, float] | None = None


@dataclass(frozen=True)
class Panel:
    """Configurations of one framework and version; their labels do not repeat these."""

    label: str
    sides: Sequence[Rated]


@dataclass(frozen=True, eq=False)
class Pair:
    """The latencies of two configurations by ``method``, and their names in figures: ``shared`` is what both have in
    common (``jax 0.4.8``), ``first`` and ``second`` the rest. ``synchronization`` comes last in labels, as it differs
    least.

    The others are arrays with a value for each function that was timed on both, at least one: latencies in nanoseconds,
    the ratio, and its interval (NaN where it has none). Arrays, as other processes get them. ``exclusions`` names the
    tests that are left out, by reason; it is empty if there are none.
    """

    method: str
    shared: str
    first: str
    second: str
    synchronization: str
    first_ns: Floats
    second_ns: Floats
    ratios: Floats
    low: Floats
    high: Floats
    exclusions: str

    @property
    def label(self) -> str:
        """Which configuration is compared with which."""
        return f"{self.shared}: {self.second} against {self.first}{self.synchronization}"

    @property
    def functions(self) -> int:
        """The number of functions that were timed on both."""
        return len(self.ratios)

    @property
    def count(self) -> str:
        """The same as a note."""
        return f"n = {self.functions}"


@dataclass(frozen=True)
class Latency:
    """The latencies of a configuration's functions in nanoseconds, by the paper's method; at least one function."""

    label: str
    device: str
    functions_ns: Sequence[float]


@dataclass(frozen=True)
class Spread:
    """The spread of the times of ``tests`` tests in nanoseconds: least, 5 %, quartiles and median, 95 %, greatest."""

    tests: int
    quantiles_ns: tuple[float, float, float, float, float, float, float]


def names_of(results: Results) -> Names:
    """The names of the configurations: ``tpu (TPU v3-8)`` as a place, ``jax 0.4.8 tpu (TPU v3-8)`` as a label.

    The machine follows where another configuration of the same framework and version would have the same name.
    """
    short = {side: _place(side, results.models.get(side)) for side in results.sides}
    same = Counter((release(side), place) for side, place in short.items())
    places = {
        side: place if same[release(side), place] == 1 else f"{place} on {shortened(side.machine, 40)}"
        for side, place in short.items()
    }
    labels = {
        side: f"{side.framework} {side.version} {place}{_synchronization(side)}"
        + (", timing unverified" if side in results.unverified else "")
        for side, place in places.items()
    }
    return Names(results.sides, labels, places, set(results.unverified))


def release(side: Configuration) -> str:
    """Framework and version, and the synchronization where it is not the complete wait: ``jax 0.4.8``."""
    return f"{side.framework} {side.version}{_synchronization(side)}"


def timed_pairs(pairs: Iterable[analysis.Pair], names: Names) -> dict[str, list[Pair]]:
    """The pairs of which functions were timed on both, by method."""
    found: dict[str, list[Pair]] = {}
    for pair in pairs:
        for latencies in pair.latencies:
            if latencies.functions:
                shared = f"{pair.first.framework} {pair.first.version}"
                if pair.first in names.unverified or pair.second in names.unverified:
                    shared += ", timing unverified"
                places = (names.places[pair.first], names.places[pair.second])
                found.setdefault(latencies.method, []).append(_pair(latencies, shared, *places))
    return found


def function_latencies(connection: duckdb.DuckDBPyConnection, names: Names) -> list[Latency]:
    """The latency of every function by the paper's method, of each configuration that has one."""
    query = (
        "SELECT framework, version, device, machine, sync, list(cold_mean_ns::DOUBLE ORDER BY function) FROM functions "
        "WHERE cold_mean_ns > 0 AND successor_of = '' GROUP BY ALL"
    )
    found = {Configuration(*key): values for *key, values in connection.sql(query).fetchall()}
    return [Latency(names.labels[side], side.device, found[side]) for side in names.sides if side in found]


def spreads(connection: duckdb.DuckDBPyConnection, names: Names) -> list[tuple[str, dict[str, Spread]]]:
    """The spread of the tests' times by protocol, of each configuration that has times, with its label."""
    found: dict[Configuration, dict[str, Spread]] = {}
    connection.execute(load_sql("analysis", "test_facts"))
    rows = connection.sql(load_sql("figures", "figure_times")).fetchall()
    for *key, protocol, tests, quantiles in sorted(rows):
        found.setdefault(Configuration(*key), {})[protocol] = Spread(tests, tuple(quantiles))
    return [(names.labels[side], found[side]) for side in names.sides if side in found]


def rated_sides(results: Results, names: Names) -> dict[Configuration, Rated]:
    """The rates of each configuration of which some function has a status, with the paper's."""
    rates = results.rates
    return {
        side: _rated(results, side, names) for side in results.sides if side in rates and rates[side].by_function.rated
    }


def decile_panels(sides: Mapping[Configuration, Rated], names: Names) -> list[Panel]:
    """The configurations of which deciles are known, those of one framework and version together."""
    groups: dict[str, list[Rated]] = {}
    for side, rated in sides.items():
        if any(rated.by_stratum[decile].rated for decile in DECILES if decile in rated.by_stratum):
            own = Rated(names.places[side], rated.device, rated.by_stratum)
            groups.setdefault(release(side), []).append(own)
    return [
        Panel(label, group[start : start + MOST_IN_PANEL])
        for label, group in groups.items()
        for start in range(0, len(group), MOST_IN_PANEL)
    ]


def with_top20(sides: Iterable[Rated]) -> list[Rated]:
    """The configurations with a status of some function that is known to be one of the 20 of greatest use."""
    return [rated for rated in sides if TOP20 in rated.by_stratum and rated.by_stratum[TOP20].rated]


def failures(connection: duckdb.DuckDBPyConnection, names: Names) -> list[tuple[str, dict[str, int]]]:
    """How many tests fail by each category, of each configuration on which some do, with its label. A name that does
    not exist is no failure."""
    found: dict[Configuration, dict[str, int]] = {}
    for *key, category, tests in connection.sql(load_sql("figures", "failing_tests")).fetchall():
        found.setdefault(Configuration(*key), {})[category] = tests
    return [(names.labels[side], found[side]) for side in names.sides if side in found]


def _pair(latencies: Latencies, shared: str, first: str, second: str) -> Pair:
    functions = latencies.functions
    intervals = np.array([(function.low, function.high) for function in functions], dtype=float)
    return Pair(
        method=latencies.method,
        shared=shared,
        first=first,
        second=second,
        synchronization=_synchronization(latencies.first),
        first_ns=np.array([function.first_ns for function in functions]),
        second_ns=np.array([function.second_ns for function in functions]),
        ratios=np.array([function.ratio for function in functions]),
        low=intervals[:, 0],
        high=intervals[:, 1],
        exclusions=in_short(latencies.exclusions),
    )


def _synchronization(side: Configuration) -> str:
    return f", sync {SYNCHRONIZATION.get(side.sync, side.sync)}" if side.synchronization else ""


def _place(side: Configuration, model: str | None) -> str:
    # The model of a processor says nothing here.
    if not model or side.device not in ("gpu", "tpu"):
        return side.device
    return f"{side.device} ({shortened(model.removeprefix('NVIDIA '), 24)})"


def _rated(results: Results, side: Configuration, names: Names) -> Rated:
    by_stratum, column = results.rates[side].by_stratum, results.published(side)
    if column is None:
        return Rated(names.labels[side], side.device, by_stratum)
    status = paper.table3(side.framework, column.model)
    failing = None
    if column.is_primary:
        status = paper.table1(side.framework, column.device)
        failing = paper.table4(side.framework, column.device)
    return Rated(names.labels[side], side.device, by_stratum, status, failing)

"""What a study found, computed once for tables, figures, headlines and report: rates of each configuration, rates and
latencies of each pair, and predictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import duckdb

from portbench.analysis import latency
from portbench.analysis.accuracy import PredictionMatch, match_predictions
from portbench.analysis.accuracy_published import PublishedComparison, compare_published
from portbench.analysis.causes import Cause, causes
from portbench.analysis.configurations import (
    Configuration,
    device_model,
    measured_sides,
    pairs_of_devices,
    pairs_of_models,
)
from portbench.analysis.intervals import Interval
from portbench.analysis.latency import Latencies
from portbench.analysis.paper_method import paper_method
from portbench.analysis.predictions import PredictedTarget, read_predictions
from portbench.analysis.published import published_column
from portbench.analysis.rate_model import PairRates, Rates, Uses, WeightedRate
from portbench.analysis.rates import pair_rates, rates
from portbench.analysis.strata import Stratum, strata
from portbench.analysis.timeline import Timeline, compute_timeline
from portbench.analysis.timing import unverified_timing
from portbench.published.paper import PublishedColumn
from portbench.study.model import COLLECTED
from portbench.study.parquet import literal


@dataclass(frozen=True)
class Predictions:
    """All that a study predicts: the ``targets``, their ``matches`` with measured configurations, and
    ``comparisons`` with columns of the paper."""

    targets: tuple[PredictedTarget, ...] = ()
    matches: tuple[PredictionMatch, ...] = ()
    comparisons: tuple[PublishedComparison, ...] = ()


@dataclass(frozen=True)
class Pair:
    """Two configurations that are compared: ``rates`` over the tests that ran on both, ``latencies`` by
    the paper's method and robust."""

    first: Configuration
    second: Configuration
    rates: PairRates
    latencies: tuple[Latencies, Latencies]


@dataclass(frozen=True)
class Results:
    """What was measured, and ``predictions`` apart from it.

    ``sides`` are the measured configurations, sorted; ``models`` names each one's device. ``by_device``: two devices of
    a framework and version, the baseline first; ``by_model``: two models of a device, the older one first. ``rates``
    are of predicted configurations too. ``unverified``: why the times of a configuration are not to be trusted.
    ``is_collected``: the tests were collected from packages. ``timeline``: what passes by date and by version.
    ``causes``: why tests did not pass, on each configuration, measured or predicted."""

    sides: tuple[Configuration, ...]
    models: Mapping[Configuration, str | None]
    rates: Mapping[Configuration, Rates]
    by_device: tuple[Pair, ...]
    by_model: tuple[Pair, ...]
    unverified: Mapping[Configuration, str] = field(default_factory=dict)
    predictions: Predictions = field(default_factory=Predictions)
    is_collected: bool = False
    timeline: Timeline = field(default_factory=Timeline)
    causes: Mapping[Configuration, tuple[Cause, ...]] = field(default_factory=dict)

    def unverified_sides(self, pair: Pair) -> tuple[Configuration, ...]:
        """The configurations of a pair whose timing is unverified."""
        return tuple(side for side in (pair.first, pair.second) if side in self.unverified)

    def published(self, side: Configuration) -> PublishedColumn | None:
        """The column of the paper that a configuration repeats. Collected tests repeat none."""
        return None if self.is_collected else published_column(side, self.models.get(side))

    def primary(self, side: Configuration) -> PublishedColumn | None:
        """The same where that column is of the devices of all of the paper's tables but the third."""
        published = self.published(side)
        return published if published and published.is_primary else None


def compute_results(connection: duckdb.DuckDBPyConnection, uses: Uses | None = None) -> Results:
    """The results of the study that ``connection`` shows; ``portbench.study.summary.analyse`` was called on it.
    ``uses``: how often its functions are used in a corpus, if that was counted."""
    found = tuple(measured_sides(connection))
    known = strata(connection)
    by_model = tuple(_pair(connection, *pair, known) for pair in pairs_of_models(connection))
    found_rates = rates(connection, uses)
    return Results(
        sides=found,
        models=device_model(connection),
        rates=found_rates,
        by_device=tuple(_pair(connection, *pair, known) for pair in pairs_of_devices(found)),
        by_model=by_model,
        unverified=unverified_timing(connection, (pair.latencies[0] for pair in by_model)),
        predictions=compute_predictions(connection),
        is_collected=is_collected(connection),
        timeline=compute_timeline(connection, found_rates),
        causes=causes(connection, uses),
    )


def compute_predictions(connection: duckdb.DuckDBPyConnection) -> Predictions:
    """The predictions of the study that ``connection`` shows; ``portbench.study.summary.analyse`` was called on it."""
    targets = read_predictions(connection)
    if not targets:
        return Predictions()
    published = () if is_collected(connection) else compare_published(connection, targets)
    return Predictions(targets, match_predictions(connection), published)


def is_collected(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether a study is of collected tests. They are not the paper's, and their references are often weaker."""
    found = connection.sql(f"FROM runs WHERE starts_with(manifest, {literal(COLLECTED)}) LIMIT 1").fetchone()
    return found is not None


def weighted_interval(weighted: WeightedRate) -> Interval | None:
    """The interval of a weighted rate; None where it is a point: a bootstrap of equal shares, as where nothing fails,
    says nothing."""
    interval = weighted.interval
    return interval if interval and interval.low < interval.high else None


def _pair(
    connection: duckdb.DuckDBPyConnection,
    first: Configuration,
    second: Configuration,
    known: Mapping[tuple[str, str], Stratum],
) -> Pair:
    both = (paper_method(connection, first, second, known), latency.robust(connection, first, second, known))
    return Pair(first, second, pair_rates(connection, first, second, known), both)

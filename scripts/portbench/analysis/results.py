"""What a study's tables and headlines tell, computed once: rates of each side, rates and latencies of each pair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import duckdb

from portbench.analysis import latency
from portbench.analysis.configurations import (
    Configuration,
    device_model,
    measured_sides,
    pairs_of_devices,
    pairs_of_models,
)
from portbench.analysis.intervals import Interval
from portbench.analysis.latency import Latencies
from portbench.analysis.predictions import Predictions, predictions_of
from portbench.analysis.rates import PairRates, Rates, WeightedRate, pair_rates, rates
from portbench.published.paper import PublishedSide, published_side


@dataclass(frozen=True)
class Pair:
    """Two sides beside each other: ``rates`` over the tests that ran on both, ``latencies`` as published and robust."""

    first: Configuration
    second: Configuration
    rates: PairRates
    latencies: tuple[Latencies, Latencies]


@dataclass(frozen=True)
class Results:
    """Of what was measured. ``by_device``: two devices of a framework and version, the baseline first; ``by_model``:
    two models of a device, the older one first. ``models`` names each side's device. ``rates`` are of predicted sides
    too, of which ``predictions`` says the rest: they are in nothing else."""

    sides: tuple[Configuration, ...]
    models: Mapping[Configuration, str | None]
    rates: Mapping[Configuration, Rates]
    by_device: tuple[Pair, ...]
    by_model: tuple[Pair, ...]
    predictions: Predictions = field(default_factory=Predictions)

    def published(self, side: Configuration) -> PublishedSide | None:
        """The column of the published study that a side repeats."""
        return published_side(side, self.models.get(side))

    def primary(self, side: Configuration) -> PublishedSide | None:
        """The same where that column is of the devices that all of the study's tables but the third are of."""
        published = self.published(side)
        return published if published and published.is_primary else None


def answers_of(connection: duckdb.DuckDBPyConnection) -> Results:
    """What the study says that ``connection`` shows; ``portbench.analysis.analyse`` must have been called on it."""
    found = tuple(measured_sides(connection))
    return Results(
        sides=found,
        models=device_model(connection),
        rates=rates(connection),
        by_device=tuple(_pair(connection, *pair) for pair in pairs_of_devices(found)),
        by_model=tuple(_pair(connection, *pair) for pair in pairs_of_models(connection)),
        predictions=predictions_of(connection),
    )


def spread_of(weighted: WeightedRate) -> Interval | None:
    """The interval of a weighted rate; None where it is a point: a bootstrap of shares that are all alike, as where
    nothing fails, says nothing."""
    interval = weighted.interval
    return interval if interval and interval.low < interval.high else None


def _pair(connection: duckdb.DuckDBPyConnection, first: Configuration, second: Configuration) -> Pair:
    both = (latency.as_published(connection, first, second), latency.robust(connection, first, second))
    return Pair(first, second, pair_rates(connection, first, second), both)

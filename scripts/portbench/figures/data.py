"""What figures show, out of a study: the latencies, rates and failures of its sides and pairs, with their names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from portbench.analysis.configurations import (
    Configuration,
    device_model,
    measured_sides,
    pairs_of_devices,
    pairs_of_models,
)
from portbench.analysis.latency import Latencies, as_published, robust
from portbench.analysis.rates import DECILES, FunctionRates, rates
from portbench.published.paper import TOP20
from portbench.figures.failures import MOST_IN_PANEL, PLACEMENT, Panel, Rated
from portbench.figures.labels import labels, places, release
from portbench.figures.ratios import Pair
from portbench.figures.times import Latency, Spread
from portbench.published import paper
from portbench.util.sql import load_sql


@dataclass(frozen=True)
class Names:
    """The sides of a study in order, and what they are called in figures: alone (``labels``) and beside their
    framework and version (``places``)."""

    sides: Sequence[Configuration]
    models: Mapping[Configuration, str | None]
    labels: Mapping[Configuration, str]
    places: Mapping[Configuration, str]


def names_of(connection: duckdb.DuckDBPyConnection) -> Names:
    """The sides of a study with their names."""
    every, models = measured_sides(connection), device_model(connection)
    return Names(every, models, labels(every, models), places(every, models))


def device_pairs(connection: duckdb.DuckDBPyConnection, names: Names) -> dict[str, list[Pair]]:
    """The pairs of devices of which functions were timed on both, by method."""
    return _pairs(connection, names, pairs_of_devices(names.sides))


def model_pairs(connection: duckdb.DuckDBPyConnection, names: Names) -> dict[str, list[Pair]]:
    """The pairs of an older and a newer model of one device of which functions were timed on both, by method."""
    return _pairs(connection, names, pairs_of_models(connection))


def function_latencies(connection: duckdb.DuckDBPyConnection, names: Names) -> list[Latency]:
    """The latency of every function as published, of each side that has one."""
    query = (
        "SELECT framework, version, device, machine, sync, list(cold_mean_ns::DOUBLE ORDER BY function) FROM functions "
        "WHERE cold_mean_ns > 0 AND successor_of = '' GROUP BY ALL"
    )
    found = {Configuration(*key): values for *key, values in connection.sql(query).fetchall()}
    return [Latency(names.labels[side], side.device, found[side]) for side in names.sides if side in found]


def spreads(connection: duckdb.DuckDBPyConnection, names: Names) -> list[tuple[str, dict[str, Spread]]]:
    """The spread of the tests' times by protocol, of each side that has times, with its label."""
    found: dict[Configuration, dict[str, Spread]] = {}
    connection.execute(load_sql("analysis", "test_facts"))
    rows = connection.sql(load_sql("figures", "figure_times")).fetchall()
    for *key, protocol, tests, quantiles in sorted(rows):
        found.setdefault(Configuration(*key), {})[protocol] = Spread(tests, tuple(quantiles))
    return [(names.labels[side], found[side]) for side in names.sides if side in found]


def rated_sides(connection: duckdb.DuckDBPyConnection, names: Names) -> dict[Configuration, Rated]:
    """The rates of each side of which some function has a status, beside the study's."""
    found = rates(connection)
    return {
        side: _rated(side, found[side].by_stratum, names)
        for side in names.sides
        if side in found and found[side].as_published.rated
    }


def decile_panels(sides: Mapping[Configuration, Rated], names: Names) -> list[Panel]:
    """The sides of which deciles are known, those of one framework and version together."""
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
    """The sides of which a function is known to be one of the 20 of greatest use, and has a status."""
    return [rated for rated in sides if TOP20 in rated.by_stratum and rated.by_stratum[TOP20].rated]


def failures(summary: Mapping[str, Any], names: Names) -> list[tuple[str, dict[str, int]]]:
    """How many tests fail by each category, of each side on which some do, with its label."""
    found = {
        Configuration(**entry["target"], machine=entry["machine"], sync=entry["sync"]): _failing_tests(entry, summary)
        for entry in summary["targets"]
    }
    return [(names.labels[side], found[side]) for side in names.sides if found.get(side)]


def _pairs(
    connection: duckdb.DuckDBPyConnection, names: Names, pairs: Sequence[tuple[Configuration, Configuration]]
) -> dict[str, list[Pair]]:
    methods: tuple[Callable[[duckdb.DuckDBPyConnection, Configuration, Configuration], Latencies], ...] = (
        as_published,
        robust,
    )
    found: dict[str, list[Pair]] = {}
    for measure in methods:
        for first, second in pairs:
            latencies = measure(connection, first, second)
            if latencies.functions:
                pair = Pair(latencies, release(first), names.places[first], names.places[second])
                found.setdefault(latencies.method, []).append(pair)
    return found


def _rated(side: Configuration, by_stratum: Mapping[str, FunctionRates], names: Names) -> Rated:
    column = paper.published_side(side, names.models.get(side))
    if column is None:
        return Rated(names.labels[side], side.device, by_stratum)
    status = paper.table3(side.framework, column.model)
    failing = None
    if column.is_primary:
        status = paper.table1(side.framework, column.device)
        failing = paper.table4(side.framework, column.device)
    return Rated(names.labels[side], side.device, by_stratum, status, failing)


def _failing_tests(entry: Mapping[str, Any], summary: Mapping[str, Any]) -> dict[str, int]:
    """By category, over the functions of a target's entry; that a name is not there is no failure."""
    counts: dict[str, int] = {}
    for function in entry["functions"]:
        if function["successor_of"] is not None:
            continue
        for category, tests in function["tests_by_category"].items():
            if category != "unavailable":
                counts[category] = counts.get(category, 0) + tests
        if summary["strict_placement"]:
            elsewhere = sum(function["tests_by_placement"].get(place, 0) for place in ("host", "mixed"))
            counts[PLACEMENT] = counts.get(PLACEMENT, 0) + elsewhere
    return {category: tests for category, tests in counts.items() if tests}

"""Compares two targets of a study, or two studies: what a version, a device or a machine changed.

This module decides what is compared with what. ``printers``, ``junit`` and ``as_json`` show the comparison, and
``conditions`` judges it. All text comes out of run files and is not trusted: printers escape it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations

import duckdb

from portbench.analysis.configurations import Configuration, sides
from portbench.compare.devices import DeviceDifference, difference
from portbench.compare.environment import Drift, drift
from portbench.compare.facts import read_side
from portbench.compare.outcomes import Outcomes, outcomes
from portbench.compare.selection import Unpaired, comparable_pairs, find_side, named, on_other_devices, pair_up, where
from portbench.compare.times import Limits, Times, times
from portbench.errors import BadInput
from portbench.study.open import study_of
from portbench.study.store import connect, create_views
from portbench.study.summary import analyse
from portbench.study.tables_check import reading
from portbench.util.text import escape_control


@dataclass(frozen=True)
class PairComparison:
    """Two sides. ``first_runs`` and ``second_runs``: the number of runs on each, every one in new processes."""

    first: Configuration
    second: Configuration
    first_runs: int
    second_runs: int
    drift: tuple[Drift, ...]
    outcomes: Outcomes
    steady: Times
    cold: Times


@dataclass(frozen=True)
class DevicesComparison:
    """The same change on two devices: the pairs of sides, and what happened on only one of them."""

    here: tuple[Configuration, Configuration]
    there: tuple[Configuration, Configuration]
    difference: DeviceDifference


@dataclass(frozen=True)
class Comparison:
    """Everything that was compared. ``unpaired``: targets that only one of two studies has."""

    limits: Limits
    pairs: tuple[PairComparison, ...]
    devices: tuple[DevicesComparison, ...]
    unpaired: tuple[Unpaired, ...]

    @property
    def is_empty(self) -> bool:
        """Whether no pair has a test that always passed or always failed on each of its sides."""
        return not any(pair.outcomes.compared for pair in self.pairs)


def compare(first: str, second: str, study: str = "", sync: str = "", limits: Limits | None = None) -> Comparison:
    """Compares two targets of ``study``, or, without one, two studies or one target of each (``STUDY:TARGET``).

    ``sync`` chooses a synchronization where a target has both; '' is complete, or else the only one. Raises BadInput
    for a path without a study, for a target that a study does not have, and where there is nothing to compare.
    """
    limits = limits or Limits()
    one, other = named(first, study), named(second, study)
    if bool(one.target) != bool(other.target):
        raise BadInput(
            "one argument names a target and the other does not", "Give two studies, or a target of each: STUDY:TARGET."
        )
    with _opened(one.path) as before, _opened(other.path) if other.path != one.path else _same(before) as after:
        firsts, seconds = sides(before), sides(after)
        unpaired: list[Unpaired] = []
        if one.target:
            chosen = [
                (
                    find_side(one.target, firsts, where(one.path), sync),
                    find_side(other.target, seconds, where(other.path), sync),
                )
            ]
            others = on_other_devices(*chosen[0], firsts, seconds)
        else:
            chosen, unpaired = pair_up(
                *([side for side in found if sync in ("", side.sync)] for found in (firsts, seconds))
            )
            others = []
        _refuse_nothing(one.path == other.path, chosen, firsts, seconds)
        compared = [compare_pair(before, after, *pair, limits) for pair in (*chosen, *others)]
    return Comparison(limits, tuple(compared[: len(chosen)]), tuple(_on_devices(compared, limits)), tuple(unpaired))


def compare_sides(
    connection: duckdb.DuckDBPyConnection, first: Configuration, second: Configuration, limits: Limits | None = None
) -> PairComparison:
    """Compares two sides of one study, as ``compare`` does. ``connection`` has the views of the analysis."""
    return compare_pair(connection, connection, first, second, limits or Limits())


def compare_pair(
    before: duckdb.DuckDBPyConnection,
    after: duckdb.DuckDBPyConnection,
    first: Configuration,
    second: Configuration,
    limits: Limits,
) -> PairComparison:
    """Compares a side of one study with a side of another, as ``compare`` does. Both connections have the views of the
    analysis."""
    one, other = read_side(before, first), read_side(after, second)
    return PairComparison(
        first=first,
        second=second,
        first_runs=one.runs,
        second_runs=other.runs,
        drift=drift(one, other),
        outcomes=outcomes(one, other),
        steady=times(one, other, "steady", limits),
        cold=times(one, other, "cold", limits),
    )


def pairs_of_study(connection: duckdb.DuckDBPyConnection) -> list[tuple[Configuration, Configuration]]:
    """The pairs of sides of a study that can be compared, the most comparable first; those of which a side has no
    outcome come last. ``connection`` has the views of the analysis."""
    query = "SELECT framework, version, device, machine, sync, list(DISTINCT manifest) FROM runs GROUP BY ALL"
    manifests = {Configuration(*key): frozenset(names) for *key, names in connection.sql(query).fetchall()}
    query = (
        "SELECT DISTINCT framework, version, device, machine, sync FROM verdicts WHERE verdict IN ('passed', 'failed')"
    )
    known = {Configuration(*key) for key in connection.sql(query).fetchall()}
    pairs = comparable_pairs(sides(connection), manifests)
    return sorted(pairs, key=lambda pair: not known.issuperset(pair))


@contextmanager
def _opened(path: str) -> Iterator[duckdb.DuckDBPyConnection]:
    with study_of([path]) as study, reading(study.tables), connect() as connection:
        create_views(connection, study.tables)
        analyse(connection)
        yield connection


@contextmanager
def _same(connection: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    yield connection


def _refuse_nothing(
    is_one_study: bool,
    chosen: list[tuple[Configuration, Configuration]],
    firsts: Iterable[Configuration],
    seconds: Iterable[Configuration],
) -> None:
    if not chosen:
        have = [", ".join(dict.fromkeys(str(side.target) for side in found)) for found in (firsts, seconds)]
        raise BadInput(
            f"the two studies have no target in common: the first has {have[0]}, the second {have[1]}",
            "Name one target of each: STUDY:TARGET.",
        )
    for first, second in chosen:
        if first.is_predicted != second.is_predicted:
            raise BadInput(
                f"of {escape_control(str(first))} and {escape_control(str(second))} one was predicted and the other "
                "measured: such a difference is no change",
                "'portbench report' compares predictions with measurements: matches, misses and false alarms.",
            )
    if is_one_study and any(first == second for first, second in chosen):
        raise BadInput("both arguments name the same results", "Give two targets, or two studies.")


def _on_devices(pairs: Iterable[PairComparison], limits: Limits) -> Iterator[DevicesComparison]:
    """Compares every two pairs that have the same two versions, on two different devices."""
    for here, there in combinations(pairs, 2):
        versions = [
            (pair.first.framework, pair.first.version, pair.second.version, pair.first.sync) for pair in (here, there)
        ]
        devices = [{pair.first.device, pair.second.device} for pair in (here, there)]
        if versions[0] == versions[1] and devices[0] != devices[1] and all(len(each) == 1 for each in devices):
            found = difference(
                (here.first.device, here.outcomes, here.steady),
                (there.first.device, there.outcomes, there.steady),
                limits,
            )
            yield DevicesComparison((here.first, here.second), (there.first, there.second), found)

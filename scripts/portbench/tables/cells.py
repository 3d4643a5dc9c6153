"""Columns and cells that several tables share: those of a configuration, and those of published figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from portbench.analysis.configurations import SYNCHRONIZATION, Configuration
from portbench.analysis.results import Pair, Results
from portbench.tables.model import Cell, Column, Group, Table, without_empty_columns

TARGET_COLUMNS = (Column("target", "target", is_code=True), Column("machine", "machine", is_code=True))

SIDE_COLUMNS = (
    *TARGET_COLUMNS,
    Column("model", "device model", is_optional=True),
    Column("synchronization", "synchronization", is_optional=True),
)

DIFFERENCE_OF_COUNTS = "paper: its figures, as printed; difference: ours, by its method, less the printed."
DIFFERENCE_OF_PERCENTS = f"{DIFFERENCE_OF_COUNTS[:-1]}, in points of percent."


def side_cells(results: Results, side: Configuration) -> tuple[Cell, ...]:
    """The cells of SIDE_COLUMNS; no synchronization where all configurations waited for all of their work."""
    is_mixed = any(other.sync != "complete" for other in results.sides)
    synchronization = SYNCHRONIZATION.get(side.sync, side.sync) if is_mixed else None
    return str(side.target), side.machine, results.models.get(side), synchronization


def rated_sides(results: Results) -> list[Configuration]:
    """The configurations without those of which only times are known."""
    return [side for side in results.sides if not results.rates[side].is_timings_only]


def rated_pairs(results: Results, pairs: Iterable[Pair]) -> list[Pair]:
    """The pairs of configurations of both of which outcomes are known."""
    rated = set(rated_sides(results))
    return [pair for pair in pairs if pair.first in rated and pair.second in rated]


def timings_only(results: Results) -> tuple[str, ...]:
    """A note that names the configurations of which only times are known; none where there is none."""
    sides = [str(side) for side in results.sides if results.rates[side].is_timings_only]
    return (f"Timings only, so nothing is known of failures: {'; '.join(sides)}.",) if sides else ()


def published_cells(ours: float | None, published: Mapping[str, float] | None, key: str) -> tuple[Cell, Cell]:
    """A published figure, and ours less the published; each None where unknown."""
    figure = published.get(key) if published else None
    return figure, None if figure is None or ours is None else ours - figure


def single_group(
    name: str,
    title: str,
    method: str,
    columns: Iterable[Column],
    rows: Iterable[tuple[Cell, ...]],
    notes: tuple[str, ...],
    on_published: str = "",
) -> Table:
    """A table of one group, without empty columns; a table without groups where there is no row."""
    found = tuple(rows)
    groups = (Group(found),) if found else ()
    return without_empty_columns(Table(name, title, method, tuple(columns), groups, (), notes, on_published))

"""The paper's tables of rates: 1 and 8 (functions by status) and 3 (older and newer hardware).

Published figures are next to ours where the paper had that target, on that model of device. These tables keep the
paper's words for statuses, labelled as such.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from portbench.analysis.configurations import Configuration
from portbench.analysis.rate_model import Rates
from portbench.analysis.results import Pair, Results, weighted_interval
from portbench.analysis.terms import PAPER_METHOD, PAPER_STATUSES, PAPER_STATUSES_NOTE, ROBUST
from portbench.published import paper
from portbench.tables.cells import (
    DIFFERENCE_OF_COUNTS,
    DIFFERENCE_OF_PERCENTS,
    SIDE_COLUMNS,
    published_cells,
    rated_pairs,
    rated_sides,
    side_cells,
    single_group,
    timings_only,
)
from portbench.tables.model import (
    Cell,
    Column,
    Group,
    Table,
    exclusion_notes,
    fixed,
    interval_of,
    published_columns,
    signed,
    whole,
    without_empty_columns,
)

_PERCENT, _POINTS = fixed(1), signed(1)
_OVER = Column("over", "over")
_OWN = "all tests that ran there"

_HOW = {
    PAPER_METHOD: (
        "Percent of the functions of which some test ran. A test counts as passed if it passed in every run. "
        f"Successors do not count. {PAPER_STATUSES_NOTE}"
    ),
    ROBUST: (
        "Percent of the tests that ran; a test fails if it did not pass in every run. Intervals are Wilson's, 95 %. "
        "weighted: the mean over functions of the share of their tests that fail, weighted by their uses in the "
        "corpus, with a bootstrap interval over functions."
    ),
}

Published = Callable[[Configuration], Mapping[str, float] | None]


def table_1(results: Results) -> Iterator[Table]:
    """Functions by status of each configuration, and of two devices over the tests that ran on both."""

    def figures(side: Configuration) -> Mapping[str, int] | None:
        found = results.primary(side)
        return paper.table1(found.framework, found.device) if found else None

    title = "Table 1: functions that succeed, fail partially and fail completely"
    pairs = rated_pairs(results, results.by_device)
    yield _statuses(results, "table-1", title, _own(results, results.sides), pairs, figures)
    title = "Table 1: tests that fail"
    yield _failing_tests(results, "table-1", title, _own(results, results.sides), pairs)


def table_3(results: Results) -> Iterator[Table]:
    """Functions by status of configurations that differ in the model of the device: older and newer hardware."""

    def figures(side: Configuration) -> Mapping[str, int] | None:
        found = results.published(side)
        return paper.table3(found.framework, found.model) if found else None

    compared = {side: None for pair in results.by_model for side in (pair.first, pair.second)}
    own = _own(results, compared)
    title = "Table 3: functions that succeed, fail partially and fail completely on older and newer hardware"
    pairs = rated_pairs(results, results.by_model)
    yield _statuses(results, "table-3", title, own, pairs, figures)
    yield _failing_tests(results, "table-3", "Table 3: tests that fail on older and newer hardware", own, pairs)


def table_8(results: Results) -> Iterator[Table]:
    """How many functions of each configuration have which status."""
    counted = [Column(name, name, whole) for name in ("partial", "complete", "success", "total")]
    published = (column for own in counted for column in published_columns(own, whole, signed(0)))
    columns = (*SIDE_COLUMNS, *counted, Column("not_testable", "not testable", whole), *published)
    rows = []
    for side in rated_sides(results):
        counts = results.rates[side].by_function
        ours = {**counts.counts, "total": counts.rated}
        found = results.primary(side)
        printed = paper.table8(found.framework, found.device) if found else None
        row: list[Cell] = [
            *side_cells(results, side),
            *(ours[key] for key in ("some_fail", "all_fail", "all_pass", "total", "not_testable")),
        ]
        for key in ("some_fail", "all_fail", "all_pass", "total"):
            row += published_cells(ours[key] if counts.rated else None, printed, key)
        rows.append(tuple(row))
    notes = (
        PAPER_STATUSES_NOTE,
        "total: the functions that have a status; not testable: the others, of which no test ran.",
        *timings_only(results),
    )
    title = "Table 8: number of functions that fail partially, fail completely and succeed"
    yield single_group("table-8", title, PAPER_METHOD, columns, rows, notes, DIFFERENCE_OF_COUNTS)


def _statuses(
    results: Results, name: str, title: str, own: Iterable[Rates], pairs: Iterable[Pair], figures: Published
) -> Table:
    """Percent of functions by status: of each configuration, with the published figures, and of each pair."""
    percents = [Column(f"{name}_percent", f"{name} %", _PERCENT) for name in PAPER_STATUSES.values()]
    published = (column for percent in percents for column in published_columns(percent, whole, _POINTS))
    columns = (*SIDE_COLUMNS, *percents, Column("functions", "functions", whole), *published)

    def row(rates: Rates, printed: Mapping[str, float] | None) -> tuple[Cell, ...]:
        percent: Mapping[str, float] = rates.by_function.percent or {}
        ours = [percent.get(status) for status in PAPER_STATUSES]
        pairs_of_cells = (published_cells(percent.get(status), printed, status) for status in PAPER_STATUSES)
        return (
            *side_cells(results, rates.side),
            *ours,
            rates.by_function.rated,
            *(cell for cells in pairs_of_cells for cell in cells),
        )

    rated = list(own)
    groups = _groups(rated, pairs, lambda rates: row(rates, figures(rates.side)), lambda rates: row(rates, None))
    notes = (
        _HOW[PAPER_METHOD],
        *timings_only(results),
        *_agreement((rates.by_function.percent, figures(rates.side)) for rates in rated),
    )
    return _grouped(name, title, PAPER_METHOD, columns, groups, notes, DIFFERENCE_OF_PERCENTS)


def _failing_tests(results: Results, name: str, title: str, own: Iterable[Rates], pairs: Iterable[Pair]) -> Table:
    """Percent of tests that fail, with intervals and weighted by use: of each configuration, and of each pair."""
    failing = Column("failing_percent", "failing %", _PERCENT)
    weighted = Column("weighted_percent", "weighted %", _PERCENT, is_optional=True)
    columns = (
        *SIDE_COLUMNS,
        Column("tests", "tests", whole),
        Column("failing", "failing", whole),
        failing,
        *interval_of(failing),
        weighted,
        *interval_of(weighted, is_optional=True),
        Column("weighted_functions", "of functions", whole, is_optional=True),
    )

    def row(rates: Rates) -> tuple[Cell, ...]:
        return (*side_cells(results, rates.side), *_tests(rates))

    return _grouped(name, title, ROBUST, columns, _groups(own, pairs, row, row), (_HOW[ROBUST], *timings_only(results)))


def _tests(rates: Rates) -> tuple[Cell, ...]:
    robust, weighted = rates.robust, rates.robust.weighted
    if robust.rate is None:
        return (robust.tests, robust.failed, *([None] * 7))
    interval = weighted and weighted_interval(weighted)
    return (
        robust.tests,
        robust.failed,
        100 * robust.rate,
        100 * robust.interval.low,
        100 * robust.interval.high,
        100 * weighted.rate if weighted else None,
        100 * interval.low if interval else None,
        100 * interval.high if interval else None,
        weighted.functions if weighted else None,
    )


def _own(results: Results, sides: Iterable[Configuration]) -> list[Rates]:
    return [rates for side in sides if not (rates := results.rates[side]).is_timings_only]


def _groups(
    own: Iterable[Rates],
    pairs: Iterable[Pair],
    row: Callable[[Rates], tuple[Cell, ...]],
    shared: Callable[[Rates], tuple[Cell, ...]],
) -> tuple[Group, ...]:
    """A group of all configurations over their own tests by ``row``, then one for each pair by ``shared``."""
    rated = list(own)
    if not rated:
        return ()
    missing = (f"{rates.side}: {note}" for rates in rated for note in exclusion_notes(rates.exclusions))
    groups = [Group(tuple(row(rates) for rates in rated), (_OWN,), tuple(missing))]
    for pair in pairs:
        both = (shared(pair.rates.first), shared(pair.rates.second))
        over = f"the tests that ran on both {pair.first} and {pair.second}"
        groups.append(Group(both, (over,), exclusion_notes(pair.rates.exclusions)))
    return tuple(groups)


def _agreement(
    both: Iterable[tuple[Mapping[str, float] | None, Mapping[str, float] | None]],
) -> Iterator[str]:
    """How many of the published percentages ours repeat."""
    repeated = [
        paper.paper_rounding(ours[status]) == figure
        for ours, shown in both
        if ours and shown
        for status, figure in shown.items()
    ]
    if repeated:
        yield f"{sum(repeated)} of {len(repeated)} published percentages are ours, rounded as the paper rounds."


def _grouped(
    name: str,
    title: str,
    method: str,
    columns: Iterable[Column],
    groups: tuple[Group, ...],
    notes: tuple[str, ...],
    on_published: str = "",
) -> Table:
    """A table of the groups of ``_groups``."""
    return without_empty_columns(Table(name, title, method, tuple(columns), groups, (_OVER,), notes, on_published))

"""The study's tables of rates: 1 and 8 (functions by status), 3 (newer hardware), 4 (the top 20 against all).

Published figures stand beside ours where the study had that target, on that model of device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from portbench.analysis.configurations import Configuration
from portbench.analysis.terms import AS_PUBLISHED, ROBUST
from portbench.analysis.rates import ALL, DECILES, FunctionRates, Rates
from portbench.published.paper import OTHERS, TOP20
from portbench.analysis.results import Pair, Results, weighted_interval
from portbench.published import paper
from portbench.tables.model import (
    Cell,
    Column,
    Group,
    Table,
    fixed,
    interval_of,
    exclusion_notes,
    published_columns,
    signed,
    without_empty_columns,
    whole,
)

_PERCENT, _POINTS = fixed(1), signed(1)

STATUS_NAMES = {"pass": "success", "partial": "partial", "complete": "complete"}
"""The study's names of the statuses, in its order."""

_SIDE = (
    Column("target", "target", is_code=True),
    Column("machine", "machine", is_code=True),
    Column("model", "device model", is_optional=True),
    Column("synchronisation", "synchronisation", is_optional=True),
)
_OVER = Column("over", "over")
_OWN = "all tests that ran there"

_HOW = {
    AS_PUBLISHED: (
        "Percent of the functions of which some test ran. success: every test that ran passed in every run; complete: "
        "none did; partial: the rest. Successors do not count."
    ),
    ROBUST: (
        "Percent of the tests that ran; a test fails if it did not pass in every run. Intervals are Wilson's, 95 %. "
        "weighted: the mean over functions of the share of their tests that fail, weighted by their uses in the "
        "corpus, with a bootstrap interval over functions."
    ),
}
_DIFFERENCE_OF_COUNTS = "published: the study's figures, as printed; difference: ours less the published."
_DIFFERENCE = f"{_DIFFERENCE_OF_COUNTS[:-1]}, in points of percent."

Published = Callable[[Configuration], Mapping[str, float] | None]


def table_1(results: Results) -> Iterator[Table]:
    """Success, partial and complete failure of each side, and of two devices over the tests that ran on both."""

    def figures(side: Configuration) -> Mapping[str, int] | None:
        found = results.primary(side)
        return paper.table1(found.framework, found.device) if found else None

    title = "Table 1: functions that succeed, fail partially and fail completely"
    yield _statuses(results, "table-1", title, _own(results, results.sides), results.by_device, figures)
    title = "Table 1: tests that fail"
    yield _failing_tests(results, "table-1", title, _own(results, results.sides), results.by_device)


def table_3(results: Results) -> Iterator[Table]:
    """The same for sides that differ in the model of the device: older and newer hardware."""

    def figures(side: Configuration) -> Mapping[str, int] | None:
        found = results.published(side)
        return paper.table3(found.framework, found.model) if found else None

    compared = {side: None for pair in results.by_model for side in (pair.first, pair.second)}
    own = _own(results, compared)
    title = "Table 3: functions that succeed, fail partially and fail completely on older and newer hardware"
    yield _statuses(results, "table-3", title, own, results.by_model, figures)
    yield _failing_tests(
        results, "table-3", "Table 3: tests that fail on older and newer hardware", own, results.by_model
    )


def table_4(results: Results) -> Iterator[Table]:
    """Failure rates of the functions of greatest use against the others, and in the robust way by each decile too."""
    strata = {TOP20: "top 20", OTHERS: "others", ALL: "all"}
    how = (
        "Percent of the functions of which some test ran that fail, partially or completely. top 20: the functions of "
        "greatest use in the corpus; others: those that were drawn by decile, which the study's Table 4 calls all."
    )
    unknown = tuple(
        f"{side}: its run files do not say which functions are of the top 20."
        for side in results.sides
        if not results.rates[side].strata_known
    )
    title = "Table 4: functions that fail, the top 20 against the others"
    failing = Column("failing_percent", "failing %", _PERCENT)
    columns = (
        *_SIDE,
        Column("stratum", "stratum"),
        Column("functions", "functions", whole),
        Column("failing", "failing", whole),
        failing,
    )
    beside = published_columns(failing, whole, _POINTS)
    rows = [
        (*_side(results, side), strata[stratum], *_failing(rates), *_beside(rates.failing_percent, shown, stratum))
        for side, stratum, rates, shown in _by_stratum(results, strata)
    ]
    yield _whole("table-4", title, AS_PUBLISHED, (*columns, *beside), rows, (how, *unknown), _DIFFERENCE)
    strata |= {decile: decile for decile in DECILES}
    rows = [
        (*_side(results, side), strata[stratum], *_failing(rates), *_percents(rates))
        for side, stratum, rates, _ in _by_stratum(results, strata)
    ]
    more = "Intervals are Wilson's, 95 %. decile 1: the functions of least use, 10: of greatest."
    yield _whole("table-4", title, ROBUST, (*columns, *interval_of(failing)), rows, (how, more, *unknown))


def table_8(results: Results) -> Iterator[Table]:
    """How many functions of each side have which status."""
    counted = [Column(name, name, whole) for name in ("partial", "complete", "success", "total")]
    beside = (column for own in counted for column in published_columns(own, whole, signed(0)))
    columns = (*_SIDE, *counted, Column("none", "none", whole), *beside)
    rows = []
    for side in results.sides:
        counts = results.rates[side].as_published
        ours = {**counts.counts, "total": counts.rated}
        found = results.primary(side)
        shown = paper.table8(found.framework, found.device) if found else None
        row: list[Cell] = [
            *_side(results, side),
            *(ours[key] for key in ("partial", "complete", "pass", "total", "none")),
        ]
        for key in ("partial", "complete", "pass", "total"):
            row += _beside(ours[key] if counts.rated else None, shown, key)
        rows.append(tuple(row))
    notes = ("total: the functions that have a status; none: the others, of which no test ran.",)
    title = "Table 8: number of functions that fail partially, fail completely and succeed"
    yield _whole("table-8", title, AS_PUBLISHED, columns, rows, notes, _DIFFERENCE_OF_COUNTS)


def _statuses(
    results: Results, name: str, title: str, own: Iterable[Rates], pairs: Iterable[Pair], figures: Published
) -> Table:
    """Percent of functions by status: of each side, with the published figures, and of each pair."""
    percents = [Column(f"{name}_percent", f"{name} %", _PERCENT) for name in STATUS_NAMES.values()]
    beside = (column for percent in percents for column in published_columns(percent, whole, _POINTS))
    columns = (*_SIDE, *percents, Column("functions", "functions", whole), *beside)

    def row(rates: Rates, shown: Mapping[str, float] | None) -> tuple[Cell, ...]:
        percent: Mapping[str, float] = rates.as_published.percent or {}
        ours = [percent.get(status) for status in STATUS_NAMES]
        beside = (_beside(percent.get(status), shown, status) for status in STATUS_NAMES)
        return (*_side(results, rates.side), *ours, rates.as_published.rated, *(cell for two in beside for cell in two))

    rated = list(own)
    groups = _groups(rated, pairs, lambda rates: row(rates, figures(rates.side)), lambda rates: row(rates, None))
    notes = (_HOW[AS_PUBLISHED], *_agreement((rates.as_published.percent, figures(rates.side)) for rates in rated))
    return _grouped(name, title, AS_PUBLISHED, columns, groups, notes, _DIFFERENCE)


def _failing_tests(results: Results, name: str, title: str, own: Iterable[Rates], pairs: Iterable[Pair]) -> Table:
    """Percent of tests that fail, with intervals and weighted by use: of each side, and of each pair."""
    failing = Column("failing_percent", "failing %", _PERCENT)
    weighted = Column("weighted_percent", "weighted %", _PERCENT, is_optional=True)
    columns = (
        *_SIDE,
        Column("tests", "tests", whole),
        Column("failing", "failing", whole),
        failing,
        *interval_of(failing),
        weighted,
        *interval_of(weighted, is_optional=True),
        Column("weighted_functions", "of functions", whole, is_optional=True),
    )

    def row(rates: Rates) -> tuple[Cell, ...]:
        return (*_side(results, rates.side), *_tests(rates))

    return _grouped(name, title, ROBUST, columns, _groups(own, pairs, row, row), (_HOW[ROBUST],))


def _tests(rates: Rates) -> tuple[Cell, ...]:
    robust, weighted = rates.robust, rates.robust.weighted
    if robust.rate is None:
        return (robust.tests, robust.failed, *([None] * 7))
    spread = weighted and weighted_interval(weighted)
    return (
        robust.tests,
        robust.failed,
        100 * robust.rate,
        100 * robust.interval.low,
        100 * robust.interval.high,
        100 * weighted.rate if weighted else None,
        100 * spread.low if spread else None,
        100 * spread.high if spread else None,
        weighted.functions if weighted else None,
    )


def _own(results: Results, sides: Iterable[Configuration]) -> list[Rates]:
    return [results.rates[side] for side in sides]


def _groups(
    own: Iterable[Rates],
    pairs: Iterable[Pair],
    row: Callable[[Rates], tuple[Cell, ...]],
    shared: Callable[[Rates], tuple[Cell, ...]],
) -> tuple[Group, ...]:
    """Each side over its own tests by ``row``, then each pair over the tests that ran on both by ``shared``."""
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


def _by_stratum(
    results: Results, strata: Iterable[str]
) -> Iterator[tuple[Configuration, str, FunctionRates, Mapping[str, float] | None]]:
    """Each stratum of each side whose strata are known, and the published figures of the side."""
    for side in results.sides:
        rates = results.rates[side]
        found = results.primary(side)
        shown = paper.table4(found.framework, found.device) if found else None
        for stratum in strata:
            if len(rates.by_stratum) > 1 and stratum in rates.by_stratum:
                yield side, stratum, rates.by_stratum[stratum], shown


def _side(results: Results, side: Configuration) -> tuple[Cell, ...]:
    """The cells of the columns _SIDE. The clock is told where not every side waited for all of its work."""
    is_mixed = any(other.sync != "complete" for other in results.sides)
    return str(side.target), side.machine, results.models.get(side), side.sync if is_mixed else None


def _failing(rates: FunctionRates) -> tuple[Cell, ...]:
    return rates.rated, rates.failing, rates.failing_percent


def _percents(rates: FunctionRates) -> tuple[Cell, ...]:
    if not rates.rated:
        return None, None
    return 100 * rates.failing_interval.low, 100 * rates.failing_interval.high


def _agreement(
    both: Iterable[tuple[Mapping[str, float] | None, Mapping[str, float] | None]],
) -> Iterator[str]:
    """How many published percentages ours are, of all sides that have both."""
    repeated = [
        paper.paper_rounding(ours[status]) == figure
        for ours, shown in both
        if ours and shown
        for status, figure in shown.items()
    ]
    if repeated:
        yield f"{sum(repeated)} of {len(repeated)} published percentages are ours, rounded as the study rounds."


def _beside(ours: float | None, shown: Mapping[str, float] | None, key: str) -> tuple[Cell, Cell]:
    """A published figure, and how much more ours is."""
    figure = shown.get(key) if shown else None
    return figure, None if figure is None or ours is None else ours - figure


def _whole(
    name: str,
    title: str,
    method: str,
    columns: Iterable[Column],
    rows: Iterable[tuple[Cell, ...]],
    notes: tuple[str, ...],
    on_published: str = "",
) -> Table:
    """A table of one group."""
    found = tuple(rows)
    groups = (Group(found),) if found else ()
    return without_empty_columns(Table(name, title, method, tuple(columns), groups, (), notes, on_published))


def _grouped(
    name: str,
    title: str,
    method: str,
    columns: Iterable[Column],
    groups: tuple[Group, ...],
    notes: tuple[str, ...],
    on_published: str = "",
) -> Table:
    """A table of what ``_groups`` makes."""
    return without_empty_columns(Table(name, title, method, tuple(columns), groups, (_OVER,), notes, on_published))

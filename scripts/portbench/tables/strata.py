"""Table 4 of the paper: the failure rates of the functions of greatest use against the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from portbench.analysis.configurations import Configuration
from portbench.analysis.rate_model import ALL, DECILES, FunctionRates
from portbench.analysis.results import Results
from portbench.analysis.terms import PAPER_METHOD, ROBUST
from portbench.published import paper
from portbench.published.paper import OTHERS, TOP20
from portbench.tables.cells import (
    DIFFERENCE_OF_PERCENTS,
    SIDE_COLUMNS,
    published_cells,
    rated_sides,
    side_cells,
    single_group,
    timings_only,
)
from portbench.tables.model import Cell, Column, Table, fixed, interval_of, published_columns, signed, whole

_STRATA = {TOP20: "top 20", OTHERS: "others", ALL: "all"}
_HOW = (
    "Percent of the functions of which some test ran that fail, partially or completely. top 20: the functions of "
    "greatest use in the corpus; others: those that were drawn by decile, which the paper's Table 4 calls all."
)
_HOW_ROBUST = "Intervals are Wilson's, 95 %. decile 1: the functions of least use, 10: of greatest."


def table_4(results: Results) -> Iterator[Table]:
    """Failure rates of the functions of greatest use against the others; the robust table has each decile too."""
    unknown = tuple(
        f"{side}: its run files do not say which functions are of the top 20."
        for side in rated_sides(results)
        if not results.rates[side].strata_known
    )
    title = "Table 4: functions that fail, the top 20 against the others"
    failing = Column("failing_percent", "failing %", fixed(1))
    columns = (
        *SIDE_COLUMNS,
        Column("stratum", "stratum"),
        Column("functions", "functions", whole),
        Column("failing", "failing", whole),
        failing,
    )
    published = published_columns(failing, whole, signed(1))
    rows = [
        (
            *side_cells(results, side),
            *(_STRATA[stratum], rates.rated, rates.failing, rates.failing_percent),
            *published_cells(rates.failing_percent, _published(results, side), stratum),
        )
        for side, stratum, rates in _by_stratum(results, _STRATA)
    ]
    notes = (_HOW, *unknown, *timings_only(results))
    yield single_group("table-4", title, PAPER_METHOD, (*columns, *published), rows, notes, DIFFERENCE_OF_PERCENTS)
    strata = _STRATA | {decile: decile for decile in DECILES}
    rows = [
        (
            *side_cells(results, side),
            *(strata[stratum], rates.rated, rates.failing, rates.failing_percent),
            *_interval(rates),
        )
        for side, stratum, rates in _by_stratum(results, strata)
    ]
    notes = (_HOW, _HOW_ROBUST, *unknown, *timings_only(results))
    yield single_group("table-4", title, ROBUST, (*columns, *interval_of(failing)), rows, notes)


def _by_stratum(results: Results, strata: Iterable[str]) -> Iterator[tuple[Configuration, str, FunctionRates]]:
    """Each of these strata of each configuration whose strata are known."""
    for side in rated_sides(results):
        by_stratum = results.rates[side].by_stratum
        for stratum in strata:
            if len(by_stratum) > 1 and stratum in by_stratum:
                yield side, stratum, by_stratum[stratum]


def _published(results: Results, side: Configuration) -> Mapping[str, int] | None:
    column = results.primary(side)
    return paper.table4(column.framework, column.device) if column else None


def _interval(rates: FunctionRates) -> tuple[Cell, ...]:
    if not rates.rated:
        return None, None
    return 100 * rates.failing_interval.low, 100 * rates.failing_interval.high

"""The cells of the paper's tables and the figures of its text beside what its raw data give by its method.

Only of the paper's own measurements, as ``portbench import-study-2023`` makes run files of them: other measurements
have no reason to agree. Cells agree if they are the same as printed, to the last digit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from portbench.analysis.configurations import Configuration
from portbench.analysis.published import differences
from portbench.analysis.rate_model import ALL
from portbench.analysis.results import Pair, Results
from portbench.analysis.terms import EXTREMES, INTOLERABLE, NEWER, PAPER_STATUSES
from portbench.published import paper
from portbench.published.paper import OTHERS, TOP20, PublishedColumn

_STRATA = {TOP20: "top 20", OTHERS: "all"}
_SLOWER = {
    "slower_on_tpu_percent": (1.0, "slower on the TPU"),
    "over_10x": (INTOLERABLE, "over 10 times slower on the TPU"),
}


@dataclass(frozen=True)
class PaperCell:
    """``place``: Table 1 and so on, or text; ``what``: framework, model and column. ``published`` and ``ours`` are as
    the paper prints them, ours null where the raw data do not have it. ``reason``: why they differ, empty where they
    agree."""

    place: str
    what: str
    published: str
    ours: str | None
    reason: str

    @property
    def agrees(self) -> bool:
        """Whether both are printed alike."""
        return self.published == self.ours


def paper_cells(results: Results) -> tuple[PaperCell, ...]:
    """Every cell; empty where a study has none of the paper's own measurements."""
    own = {
        side: column
        for side in results.sides
        if (column := results.published(side)) and side.machine == paper.machine(column.model)
    }
    primary = {side: column for side, column in own.items() if column.is_primary}
    pairs = [pair for pair in results.by_device if pair.first in primary and pair.second in primary]
    return (
        *_percents("Table 1", "table-1", results, primary),
        *_extremes(pairs),
        *_percents("Table 3", "table-3", results, own),
        *_strata(results, primary),
        *_latencies(pairs),
        *_counts(results, primary),
        *_text(results, primary, pairs),
        *_newer(results, own),
    )


def _percents(
    place: str, kind: str, results: Results, sides: Mapping[Configuration, PublishedColumn]
) -> Iterator[PaperCell]:
    for side, column in sides.items():
        table1 = paper.table1(column.framework, column.device)
        printed = table1 if kind == "table-1" else paper.table3(column.framework, column.model)
        percent = results.rates[side].by_function.percent
        for status, figure in (printed or {}).items():
            ours = None if percent is None else f"{paper.paper_rounding(percent[status])} %"
            what = f"{column.framework} on {column.model}: {PAPER_STATUSES[status]}"
            yield _cell(place, kind, column, what, f"{figure} %", ours)


def _strata(results: Results, sides: Mapping[Configuration, PublishedColumn]) -> Iterator[PaperCell]:
    for side, column in sides.items():
        for stratum, figure in (paper.table4(column.framework, column.device) or {}).items():
            rates = results.rates[side].by_stratum.get(stratum)
            percent = rates.failing_percent if rates else None
            ours = None if percent is None else f"{paper.paper_rounding(percent)} %"
            what = f"{column.framework} on {column.model}: failing, {_STRATA[stratum]}"
            yield _cell("Table 4", "table-4", column, what, f"{figure} %", ours)


def _latencies(pairs: list[Pair]) -> Iterator[PaperCell]:
    """How many rows of Tables 5 to 7 are the printed ones."""
    for pair in pairs:
        framework = pair.first.framework
        rows = len(paper.latencies(framework))
        agreeing = sum(found.agrees for found in differences(pair.latencies[0]))
        number = 5 + paper.FRAMEWORKS.index(framework)
        yield PaperCell(f"Table {number}", f"{framework}: rows", str(rows), str(agreeing), "")


def _extremes(pairs: list[Pair]) -> Iterator[PaperCell]:
    """How many of the functions of the largest and the least ratios are those of Table 2."""
    for pair in pairs:
        framework = pair.first.framework
        published = sorted(paper.latencies(framework).values(), key=lambda row: row.ratio)
        measured = sorted(pair.latencies[0].functions, key=lambda function: function.ratio)
        printed = [row.function for row in (*published[:EXTREMES], *published[-EXTREMES:])]
        ours = [function.listed_as for function in (*measured[:EXTREMES], *measured[-EXTREMES:])]
        same = sum(name == other for name, other in zip(printed, ours, strict=False))
        what = f"{framework}: rows, the {EXTREMES} largest and {EXTREMES} least ratios"
        yield PaperCell("Table 2", what, str(len(printed)), str(same), "")


def _counts(results: Results, sides: Mapping[Configuration, PublishedColumn]) -> Iterator[PaperCell]:
    for side, column in sides.items():
        rates = results.rates[side].by_stratum[ALL]
        for status, figure in (paper.table8(column.framework, column.device) or {}).items():
            count = rates.rated if status == "total" else rates.counts[status]
            what = f"{column.framework} on {column.model}: {PAPER_STATUSES.get(status, status)}"
            yield _cell("Table 8", "table-8", column, what, str(figure), str(count) if rates.rated else None)


def _text(results: Results, sides: Mapping[Configuration, PublishedColumn], pairs: list[Pair]) -> Iterator[PaperCell]:
    headlines = paper.headlines()
    for side, column in sides.items():
        figure = headlines["failure_percent"][column.device].get(column.framework)
        if figure is not None:
            percent = results.rates[side].by_function.failing_percent
            what = f"{column.framework} on {column.model}: functions that fail"
            yield _cell("text", "failures", column, what, *_printed(figure, percent))
    for pair in pairs:
        framework, column = pair.first.framework, sides[pair.second]
        ratios = [function.ratio for function in pair.latencies[0].functions]
        figures = {
            "slower_on_tpu_percent": headlines["slower_on_tpu_percent"].get(framework),
            "over_10x": headlines.get(f"{framework}_over_10x_slower_percent"),
        }
        for name, (factor, words) in _SLOWER.items():
            if (figure := figures[name]) is not None:
                percent = 100 * sum(ratio > factor for ratio in ratios) / len(ratios)
                yield _cell("text", "slower", column, f"{framework}: {words}", *_printed(figure, percent))
        if (figure := headlines["faster_on_tpu_percent"].get(framework)) is not None:
            percent = 100 * sum(ratio < 1 for ratio in ratios) / len(ratios)
            yield _cell("text", "slower", column, f"{framework}: faster on the TPU", *_printed(figure, percent))


def _newer(results: Results, sides: Mapping[Configuration, PublishedColumn]) -> Iterator[PaperCell]:
    for pair in results.by_model:
        if not (pair.first in sides and pair.second in sides and pair.latencies[0].functions):
            continue
        models = sides[pair.first].model, sides[pair.second].model
        framework = pair.first.framework
        figure = paper.faster_on_newer(framework, *models)
        if figure is not None:
            ratios = [function.ratio for function in pair.latencies[0].functions]
            percent = 100 * sum(ratio < 1 / NEWER for ratio in ratios) / len(ratios)
            what = f"{framework}: {NEWER:g} times faster on the {models[1]} than on the {models[0]}"
            yield _cell("text", "newer", sides[pair.second], what, *_printed(figure, percent))


def _printed(figure: float, percent: float | None) -> tuple[str, str | None]:
    """A figure of the text, and ours with as many decimals."""
    decimals = len(f"{figure:g}".partition(".")[2])
    ours = None if percent is None else f"{paper.round_half_up(percent, decimals):g} %"
    return f"{figure:g} %", ours


def _cell(place: str, kind: str, column: PublishedColumn, what: str, published: str, ours: str | None) -> PaperCell:
    reason = "" if published == ours else paper.reason(kind, column)
    return PaperCell(place, what, published, ours, reason)


def agreement(cells: Sequence[PaperCell]) -> str:
    """A sentence that counts the cells that agree, differ, and are not in the raw data."""
    same, unknown = sum(cell.agrees for cell in cells), sum(cell.ours is None for cell in cells)
    return (
        f"Of {len(cells)} cells {same} are as printed, {len(cells) - same - unknown} differ, and {unknown} cannot be "
        "computed, since the raw data do not have the outcomes. Rows of Tables 2 and 5-7 count as one cell for each "
        "framework."
    )

"""Tables of what fails and why, for each target: a line for each cause, and the functions of each module by status."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from portbench.analysis.causes import Cause
from portbench.analysis.configurations import Configuration
from portbench.analysis.predictions import HOW_PREDICTED
from portbench.analysis.rate_model import FunctionRates, Rates
from portbench.analysis.results import Results
from portbench.study.model import STATUS_TEXTS
from portbench.tables.cells import TARGET_COLUMNS
from portbench.tables.model import Cell, Cells, Column, Group, Table, fixed, whole, without_empty_columns
from portbench.util.format import percent_of
from portbench.util.text import pluralize

HOW_CAUSED = (
    "Each failing test is in one cause, so the tests add up; a function may be in several. First come dtypes, other "
    "parameters and modules of which nearly all tests fail, then operations and messages, each time the one that "
    "explains most of the tests that are left."
)
HOW_USED = "use: calls of these functions in the corpus, in percent of the calls of all functions of which a test ran."
LEAST_TESTS = 10
"""A report shows the causes of a target where more tests fail than this: fewer are listed one by one."""
MOST_CAUSES = 12
"""How many causes of a target a report shows; the table in tables/ has all."""

_WORD = {False: "measured", True: "predicted"}
_USE = Column("use_percent", "use %", fixed(1), is_optional=True)
_CAUSE_COLUMNS = (
    Column("cause", "cause"),
    Column("category", "category"),
    Column("tests", "tests", whole),
    Column("functions", "functions", whole),
    _USE,
)
_EXAMPLE = (Column("example_function", "for example", is_code=True), Column("example_test", "test", is_code=True))
_MODULE_COLUMNS = (
    Column("module", "module", is_code=True),
    Column("functions", "functions", whole),
    *(Column(status, text, whole) for status, text in STATUS_TEXTS.items()),
    Column("all_pass_percent", "all pass %", fixed(1)),
)


def explain_command(side: Configuration, function: str, test: str) -> str:
    """The command that shows all that is known of a test; ``STUDY`` stands for the path of the study."""
    command = ["portbench", "explain", "STUDY", function, "--target", str(side.target), "--test", test]
    return shlex.join(command)


def cause_tables(results: Results) -> Iterator[Table]:
    """All causes of all configurations, those of predictions in a table of their own; none where nothing fails."""
    for is_predicted in (False, True):
        sides = [side for side in results.causes if side.is_predicted == is_predicted]
        columns = (*_CAUSE_COLUMNS, *_EXAMPLE, Column("command", "explained by", is_code=True))
        groups = tuple(
            Group(
                tuple(
                    (
                        *_cause_cells(cause, results.rates[side]),
                        *cause.example,
                        explain_command(side, *cause.example),
                    )
                    for cause in results.causes[side]
                ),
                (str(side.target), side.machine),
            )
            for side in sides
        )
        if groups:
            notes = (*((HOW_PREDICTED,) if is_predicted else ()), HOW_CAUSED, *_how_used(results.rates))
            table = Table(
                "causes", "Why tests did not pass", _WORD[is_predicted], columns, groups, TARGET_COLUMNS, notes
            )
            yield without_empty_columns(table)


def module_tables(results: Results) -> Iterator[Table]:
    """The functions of each module by status, on all configurations; those of predictions in a table of their own."""
    for is_predicted in (False, True):
        groups = tuple(
            Group(_module_rows(rates.by_module), (str(side.target), side.machine))
            for side, rates in results.rates.items()
            if side.is_predicted == is_predicted and rates.by_module and not rates.is_timings_only
        )
        if groups:
            notes = (HOW_PREDICTED,) if is_predicted else ()
            title = "Functions of each module by status"
            yield Table("modules", title, _WORD[is_predicted], _MODULE_COLUMNS, groups, TARGET_COLUMNS, notes)


def causes_of(side: Configuration, found: Sequence[Cause], rates: Rates) -> Iterator[Table]:
    """The first causes of one configuration, for a report; none where few tests fail."""
    if sum(cause.tests for cause in found) <= LEAST_TESTS:
        return
    shown, rest = found[:MOST_CAUSES], found[MOST_CAUSES:]
    rows: list[Cells] = [(*_cause_cells(cause, rates), f"{cause.example[0]} {cause.example[1]}") for cause in shown]
    notes = [HOW_CAUSED, *_how_used({side: rates})]
    if rest:
        tests = sum(cause.tests for cause in rest)
        notes.append(f"{pluralize(len(rest), 'more cause')} of {pluralize(tests, 'test')}: see the page and tables/.")
    notes.append(f"One test: {explain_command(side, *found[0].example)}")
    columns = (*_CAUSE_COLUMNS, Column("example", "for example", is_code=True))
    yield without_empty_columns(Table.of_rows("Causes", columns, rows, *notes))


def modules_of(by_module: Mapping[str, FunctionRates]) -> Table:
    """The functions of each module of one configuration by status, the largest module first."""
    rows = sorted(_module_rows(by_module), key=lambda row: (-int(row[1] or 0), row[0]))
    return Table.of_rows("By module", _MODULE_COLUMNS, rows)


def _how_used(rates: Mapping[Configuration, Rates]) -> tuple[str, ...]:
    return (HOW_USED,) if any(one.by_use for one in rates.values()) else ()


def _cause_cells(cause: Cause, rates: Rates) -> Cells:
    use: Cell = None
    if cause.uses is not None and rates.by_use:
        use = percent_of(cause.uses, rates.by_use.uses)
    categories = ", ".join(name.replace("_", " ") for name in cause.categories)
    return cause.words, categories, cause.tests, len(cause.functions), use


def _module_rows(by_module: Mapping[str, FunctionRates]) -> tuple[Cells, ...]:
    return tuple(
        (
            module,
            sum(rates.counts.values()),
            *(rates.counts[status] for status in STATUS_TEXTS),
            rates.percent["all_pass"] if rates.percent else None,
        )
        for module, rates in by_module.items()
    )

"""Tables of predictions: predicted rates, what was predicted for each test, and how it compares with what was measured
and what the paper published. Each is a file of its own, apart from what was measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import astuple, replace

from portbench.analysis.accuracy import (
    AGREEMENT,
    APART,
    BOTH_PASS,
    FALSE_ALARM,
    HOW_MATCHED,
    HOW_PLACED,
    MISSED,
    WRONG,
    Accuracy,
    PredictionMatch,
)
from portbench.analysis.accuracy_published import HOW_COMPARED, NOT_PREDICTED, UNDECIDED, PublishedComparison
from portbench.analysis.predictions import HOW_PREDICTED, LOWER_BOUND
from portbench.analysis.results import Results
from portbench.analysis.terms import PAPER_STATUSES, PAPER_STATUSES_NOTE
from portbench.study.model import STATUS_TEXTS
from portbench.tables.cells import TARGET_COLUMNS, single_group
from portbench.tables.model import Cell, Column, Group, Table, fixed, signed, whole, without_empty_columns
from portbench.tables.rates import table_1, table_8
from portbench.tables.strata import table_4
from portbench.util.format import percent_of

PREDICTED = "predicted"
AGAINST_MEASURED = "predicted against measured"
AGAINST_PUBLISHED = "predicted against published"

_TITLE = "Predicted, nothing ran: "
_OWN = "all tests that were predicted"
_PERCENT = fixed(1)

_PAIR = (
    Column("predicted", "predicted", is_code=True),
    Column("measured", "measured", is_code=True),
    Column("machine", "machine", is_code=True),
    Column("model", "device model"),
)


def prediction_tables(results: Results) -> Iterator[Table]:
    """Every table of predictions; a table without data has no groups."""
    found = results.predictions
    yield from _rates(results)
    yield _figures(results)
    yield accuracy(found.matches)
    yield _tests(found.matches)
    yield published_rates(found.comparisons)
    yield published_accuracy(found.comparisons)
    yield _published_functions(found.comparisons)


def _rates(results: Results) -> Iterator[Table]:
    """The paper's tables of rates, of predicted configurations alone."""
    sides = tuple(one.side for one in results.predictions.targets)
    own = replace(results, sides=sides, by_device=(), by_model=())
    for make in (table_1, table_4, table_8):
        for table in make(own):
            # Tables 1 have a group of what each configuration ran by itself.
            groups = tuple(replace(group, key=(_OWN,) if group.key else ()) for group in table.groups)
            yield replace(
                table,
                name=f"predicted-{table.name}",
                title=f"{_TITLE}{table.title}",
                groups=groups,
                notes=(HOW_PREDICTED, *table.notes),
            )


def _figures(results: Results) -> Table:
    """What the compiler reports of each function."""
    columns = (
        *TARGET_COLUMNS,
        Column("function", "function", is_code=True),
        Column("successor_of", "successor of", is_code=True, is_optional=True),
        Column("accepted", "accepted", whole),
        Column("refused", "refused", whole),
        Column("unknown", "unknown", whole),
        Column("compile_ns", "compiling ns", whole, is_optional=True),
        Column("flops", "FLOPs", whole, is_optional=True),
        Column("bytes", "bytes moved", whole, is_optional=True),
        Column("memory_bytes", "memory bytes", whole, is_optional=True),
        Column("roofline_ns", "at least ns", fixed(2), is_optional=True),
    )
    rows = [
        (str(one.side.target), one.side.machine, name, former or None, *astuple(found))
        for one in results.predictions.targets
        for (name, former), found in one.functions.items()
    ]
    title = f"{_TITLE}tests by prediction, and what they need"
    return single_group("functions", title, PREDICTED, columns, rows, (HOW_PREDICTED, LOWER_BOUND))


def accuracy(found: Iterable[PredictionMatch]) -> Table:
    """Agreements, missed failures and false alarms: a group by failure and one by placement, each with a row for each
    match."""
    columns = (
        *_PAIR,
        Column("tests", "tests", whole),
        Column("agreements", "agreements", whole),
        Column("missed", "missed", whole),
        Column("false_alarms", "false alarms", whole),
        Column("both_pass", "both pass", whole),
        Column("predicted_percent", "of failures predicted %", _PERCENT),
        Column("true_percent", "of predicted true %", _PERCENT),
        Column("same_category", "agreements of the same category", whole, is_optional=True),
        *(Column(name.replace(" ", "_"), name, whole, is_optional=True) for name in APART),
    )
    failures, placed = [], []
    for one in found:
        failures.append((*_pair(one), *_counts(one.failures), one.same_category, *one.apart.values()))
        placed.append((*_pair(one), *_counts(one.placements), *([None] * (1 + len(APART)))))
    groups = (Group(tuple(failures), ("failures",)), Group(tuple(placed), ("work on the host",)))
    title = "Accuracy of predictions: agreements, missed failures and false alarms"
    keys = (Column("of", "Tests by"),)
    notes = (HOW_MATCHED, HOW_PLACED)
    table = Table("accuracy", title, AGAINST_MEASURED, columns, groups if failures else (), keys, notes)
    return without_empty_columns(table)


def _counts(found: Accuracy) -> tuple[Cell, ...]:
    counts = (found.tests, found.agreements, found.missed, found.false_alarms, found.both_pass)
    of_failures = percent_of(found.agreements, found.failures)
    return (*counts, of_failures, percent_of(found.agreements, found.predicted_failures))


def _tests(found: Iterable[PredictionMatch]) -> Table:
    """Every test but those that pass on the device, predicted and measured."""
    columns = (
        *_PAIR,
        Column("function", "function", is_code=True),
        Column("successor_of", "successor of", is_code=True, is_optional=True),
        Column("test", "test", is_code=True),
        Column("outcome", "outcome"),
        Column("placement", "by placement", is_optional=True),
        Column("predicted_category", "predicted category", is_optional=True),
        Column("measured_category", "measured category", is_optional=True),
        Column("predicted_message", "predicted", is_optional=True),
        Column("measured_message", "measured", is_optional=True),
    )
    rows = [
        (*_pair(one), *(getattr(test, column.name) or None for column in columns[4:]))
        for one in found
        for test in one.tests
        if test.outcome != BOTH_PASS or test.placement in (AGREEMENT, *WRONG)
    ]
    notes = (HOW_MATCHED, HOW_PLACED, "Tests that pass on both are left out, except those with work on the host.")
    return single_group("tests", "Prediction and outcome of each test", AGAINST_MEASURED, columns, rows, notes)


def published_rates(found: Iterable[PublishedComparison]) -> Table:
    """Predicted rates with those of Tables 1 and 8: a group for each comparison, whose notes explain the difference."""
    columns = (
        *TARGET_COLUMNS,
        Column("published_of", "published of"),
        Column("status", "status"),
        Column("percent", "functions %", _PERCENT),
        Column("published_percent", "published %", whole),
        Column("difference_points", "difference", signed(1)),
        Column("functions", "functions", whole),
        Column("published_functions", "published", whole),
    )
    groups = []
    for one in found:
        side, percent = one.predicted.side, one.rates.percent or {}
        rows: list[tuple[Cell, ...]] = []
        for status, name in PAPER_STATUSES.items():
            ours, theirs = percent.get(status), one.percent[status]
            figures = (ours, theirs, None if ours is None else ours - theirs)
            counts = (one.rates.counts[status], one.counts[status])
            rows.append((str(side.target), side.machine, one.column, name, *figures, *counts))
        groups.append(Group(tuple(rows), (f"{side.target} on {side.machine}",), one.because))
    title = "Predicted rates of functions and those of the paper's Tables 1 and 8"
    keys = (Column("predicted_side", ""),)
    notes = (PAPER_STATUSES_NOTE, HOW_COMPARED)
    return Table("rates", title, AGAINST_PUBLISHED, columns, tuple(groups), keys, notes)


def published_accuracy(found: Iterable[PublishedComparison]) -> Table:
    """Functions by outcome: agreements, missed failures and false alarms, and how many of these are not explained."""
    columns = (
        *TARGET_COLUMNS,
        Column("published_of", "published of"),
        Column("functions", "functions", whole),
        Column("agreements", "agreements", whole),
        Column("missed", "missed", whole),
        Column("false_alarms", "false alarms", whole),
        Column("both_pass", "both pass", whole),
        Column("undecided", "undecided", whole),
        Column("not_predicted", "not predicted", whole),
        Column("unexplained", "not explained", whole),
    )
    outcomes = (AGREEMENT, MISSED, FALSE_ALARM, BOTH_PASS, UNDECIDED, NOT_PREDICTED)
    rows: list[tuple[Cell, ...]] = [
        (
            *(str(one.predicted.side.target), one.predicted.side.machine, one.column, len(one.functions)),
            *(one.outcomes.get(name, 0) for name in outcomes),
            sum(function.is_unexplained for function in one.functions),
        )
        for one in found
    ]
    title = "Functions predicted, and what the paper published: agreements, missed failures and false alarms"
    return single_group("accuracy", title, AGAINST_PUBLISHED, columns, rows, (HOW_COMPARED,))


def _published_functions(found: Iterable[PublishedComparison]) -> Table:
    """The predicted status of each function, and those that it may have had in the paper."""
    columns = (
        *TARGET_COLUMNS,
        Column("published_of", "published of"),
        Column("function", "function", is_code=True),
        Column("predicted_status", "predicted"),
        Column("passed", "tests accepted", whole),
        Column("ran", "of", whole),
        Column("categories", "categories", is_optional=True),
        Column("published_status", "published"),
        Column("outcome", "outcome"),
        Column("published_failure", "published failure", is_optional=True),
        Column("cause", "cause", is_optional=True),
        Column("evidence", "evidence", is_optional=True),
    )
    rows = [
        (
            *(str(one.predicted.side.target), one.predicted.side.machine, one.column, function.listed_as),
            *(STATUS_TEXTS[function.status], function.passed, function.ran, ", ".join(function.categories) or None),
            " or ".join(text for status, text in STATUS_TEXTS.items() if status in function.possible),
            function.outcome,
            function.failure or None,
            function.explanation.cause if function.explanation else None,
            function.explanation.evidence if function.explanation else None,
        )
        for one in found
        for function in one.functions
    ]
    title = "Predicted status of each function, and what the paper says of it"
    return single_group("functions", title, AGAINST_PUBLISHED, columns, rows, (HOW_COMPARED,))


def _pair(one: PredictionMatch) -> tuple[Cell, ...]:
    return str(one.predicted.target), str(one.measured.target), one.measured.machine, one.model

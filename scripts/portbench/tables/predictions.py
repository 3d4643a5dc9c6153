"""Tables of what is predicted: rates of devices that were not there, what was foretold of each test, and how it holds
against what was measured and what the study published. Each is a file of its own, apart from what was measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from portbench.analysis.accuracy import APART, HOW_MATCHED, HOW_PLACED, SETTLED, PredictionMatch
from portbench.analysis.accuracy_published import HOW_COMPARED, PublishedComparison
from portbench.analysis.foretold import HOW_PREDICTED, LOWER_BOUND
from portbench.analysis.results import Results
from portbench.tables.model import Cell, Column, Group, Table, fixed, signed, without_empty_columns, whole
from portbench.tables.rates import STATUS_NAMES, table_1, table_4, table_8

FORETOLD = "foretold"
AGAINST_MEASURED = "predicted against measured"
AGAINST_PUBLISHED = "predicted against published"

_PREDICTED = "Predicted, nothing ran: "
_OWN = "all tests that were foretold"
_PERCENT = fixed(1)

_PAIR = (
    Column("predicted", "predicted", is_code=True),
    Column("measured", "measured", is_code=True),
    Column("machine", "machine", is_code=True),
    Column("model", "device model"),
)
_SIDE = (Column("target", "target", is_code=True), Column("machine", "machine", is_code=True))


def prediction_tables(results: Results) -> Iterator[Table]:
    """Every table of predictions; those without groups have nothing to say."""
    found = results.predictions
    yield from _rates(results)
    yield _figures(results)
    yield _held(found.match_predictions)
    yield _tests(found.match_predictions)
    yield _beside(found.beside)
    yield _functions(found.beside)


def _rates(results: Results) -> Iterator[Table]:
    """The study's tables of rates, of predicted sides alone."""
    sides = tuple(one.side for one in results.predictions.foretold)
    own = replace(results, sides=sides, by_device=(), by_model=())
    for make in (table_1, table_4, table_8):
        for table in make(own):
            # Tables 1 have a group of what each side ran by itself.
            groups = tuple(replace(group, key=(_OWN,) if group.key else ()) for group in table.groups)
            yield replace(
                table,
                name=f"predicted-{table.name}",
                title=f"{_PREDICTED}{table.title}",
                groups=groups,
                notes=(HOW_PREDICTED, *table.notes),
            )


def _figures(results: Results) -> Table:
    """What the compiler tells of each function."""
    columns = (
        *_SIDE,
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
        (str(one.side.target), one.side.machine, name, former or None, *(row[column.name] for column in columns[4:]))
        for one in results.predictions.foretold
        for (name, former), row in one.functions.items()
    ]
    title = f"{_PREDICTED}tests by what was foretold of them, and what they need"
    return _whole("functions", title, FORETOLD, columns, rows, (HOW_PREDICTED, LOWER_BOUND))


def _held(found: Iterable[PredictionMatch]) -> Table:
    """Hits, misses and false alarms by failure and by placement."""
    foretold_percent = Column("foretold_percent", "of failures foretold %", _PERCENT)
    true_percent = Column("true_percent", "of foretold true %", _PERCENT)
    columns = (
        *_PAIR,
        Column("tests", "tests", whole),
        Column("hits", "hits", whole),
        Column("misses", "misses", whole),
        Column("false_alarms", "false alarms", whole),
        Column("both_pass", "both pass", whole),
        foretold_percent,
        true_percent,
        Column("same_category", "hits of the same category", whole, is_optional=True),
        *(Column(name.replace(" ", "_"), name, whole, is_optional=True) for name in APART),
    )
    failures, placed = [], []
    for one in found:
        apart = (one.outcomes.get(name, 0) for name in APART)
        failures.append((*_pair(one), *_settled(one.outcomes), one.same_category, *apart))
        placed.append((*_pair(one), *_settled(one.placements), *([None] * (1 + len(APART)))))
    groups = (Group(tuple(failures), ("failures",)), Group(tuple(placed), ("work on the host",)))
    title = "Hits, misses and false alarms of predictions"
    notes = (HOW_MATCHED, HOW_PLACED)
    table = Table(
        "hits", title, AGAINST_MEASURED, columns, groups if failures else (), (Column("of", "Tests by"),), notes
    )
    return without_empty_columns(table)


def _settled(counts: Mapping[str, int]) -> tuple[Cell, ...]:
    hits, misses, alarms, both = (counts.get(name, 0) for name in SETTLED)

    def percent(of: int) -> float | None:
        return 100 * hits / of if of else None

    return (hits + misses + alarms + both, hits, misses, alarms, both, percent(hits + misses), percent(hits + alarms))


def _tests(found: Iterable[PredictionMatch]) -> Table:
    """Every test but those that pass on the device on both sides."""
    columns = (
        *_PAIR,
        Column("function", "function", is_code=True),
        Column("successor_of", "successor of", is_code=True, is_optional=True),
        Column("test", "test", is_code=True),
        Column("outcome", "outcome"),
        Column("placement", "by placement", is_optional=True),
        Column("predicted_category", "foretold category", is_optional=True),
        Column("measured_category", "measured category", is_optional=True),
        Column("predicted_message", "foretold", is_optional=True),
        Column("measured_message", "measured", is_optional=True),
    )
    rows = [
        (*_pair(one), *(row[column.name] or None for column in columns[4:]))
        for one in found
        for row in one.rows
        if row["outcome"] != "both pass" or row["placement"] in ("hit", "miss", "false alarm")
    ]
    notes = (HOW_MATCHED, HOW_PLACED, "Tests that pass on both are left out, but for those with work on the host.")
    return _whole("tests", "What was foretold of each test, and what came", AGAINST_MEASURED, columns, rows, notes)


def _beside(found: Iterable[PublishedComparison]) -> Table:
    """Predicted rates beside Tables 1 and 8, with what explains the difference."""
    columns = (
        *_SIDE,
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
        side, percent = one.foretold.side, one.rates.percent or {}
        rows: list[tuple[Cell, ...]] = []
        for status, name in STATUS_NAMES.items():
            ours, theirs = percent.get(status), one.percent[status]
            figures = (ours, theirs, None if ours is None else ours - theirs)
            counts = (one.rates.counts[status], one.counts[status])
            rows.append((str(side.target), side.machine, one.column, name, *figures, *counts))
        groups.append(Group(tuple(rows), (f"{side.target} on {side.machine}",), one.because))
    title = "Predicted rates of functions beside the study's Tables 1 and 8"
    keys = (Column("predicted_side", ""),)
    return Table("rates", title, AGAINST_PUBLISHED, columns, tuple(groups), keys, (HOW_COMPARED,))


def _functions(found: Iterable[PublishedComparison]) -> Table:
    columns = (
        *_SIDE,
        Column("published_of", "published of"),
        Column("function", "function", is_code=True),
        Column("predicted_status", "predicted"),
        Column("passed", "tests accepted", whole),
        Column("ran", "of", whole),
        Column("categories", "categories", is_optional=True),
        Column("published_status", "published"),
        Column("outcome", "outcome"),
    )
    rows = [
        (
            *(str(one.foretold.side.target), one.foretold.side.machine, one.column, function.listed_as),
            *(function.status, function.passed, function.ran, ", ".join(function.categories) or None),
            *(" or ".join(sorted(function.possible)), function.outcome),
        )
        for one in found
        for function in one.functions
    ]
    title = "Predicted status of each function beside what the study tells of it"
    return _whole("functions", title, AGAINST_PUBLISHED, columns, rows, (HOW_COMPARED,))


def _pair(one: PredictionMatch) -> tuple[Cell, ...]:
    return str(one.predicted.target), str(one.measured.target), one.measured.machine, one.model


def _whole(
    name: str,
    title: str,
    method: str,
    columns: tuple[Column, ...],
    rows: Iterable[tuple[Cell, ...]],
    notes: tuple[str, ...],
) -> Table:
    """A table of one group."""
    found = tuple(rows)
    return without_empty_columns(Table(name, title, method, columns, (Group(found),) if found else (), (), notes))

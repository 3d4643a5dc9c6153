"""The tables of a report on predictions: what could not be predicted, and how the rest compares with what was measured
and what the paper published. Their figures are those of ``portbench.tables.predictions``, with less detail."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from portbench.analysis.accuracy import HOW_MATCHED, HOW_PLACED, MISSED, WRONG, MatchedTest, PredictionMatch
from portbench.analysis.accuracy_published import HOW_COMPARED, PublishedComparison, PublishedFunction
from portbench.analysis.predictions import LOWER_BOUND, VERDICTS
from portbench.analysis.results import Predictions
from portbench.analysis.terms import PAPER_STATUSES, PAPER_STATUSES_NOTE
from portbench.tables.model import Cells, Group, Table, fixed, names, numbers, texts
from portbench.tables.predictions import accuracy, published_accuracy, published_rates
from portbench.util.format import in_us, scaled
from portbench.util.text import pluralize, shortened

_ACCURACY = (
    *("predicted", "measured", "machine", "tests", "agreements", "missed", "false_alarms", "both_pass"),
    *("predicted_percent", "true_percent"),
)
_UNEXPLAINED = "not explained yet"
_SHOWN = 30
_REASONS = 3
_LONGEST_MESSAGE = 200


def prediction_tables(found: Predictions) -> Iterator[Table]:
    """How much was predicted; agreements, missed failures and false alarms; and the comparison with the paper."""
    yield from _targets(found)
    if found.matches:
        yield _accuracy(found.matches)
        yield from _wrong_predictions(found.matches)
    if found.comparisons:
        yield from _published(found.comparisons)


def _targets(found: Predictions) -> Iterator[Table]:
    rows = []
    for one in found.targets:
        reasons = "; ".join(f"{reason} ({tests:,})" for reason, tests in list(one.reasons.items())[:_REASONS])
        functions = list(one.functions.values())
        needs = (
            _greatest(found.memory_bytes for found in functions),
            _greatest(found.flops for found in functions),
            _greatest(found.roofline_ns for found in functions),
            sum(found.compile_ns or 0 for found in functions) or None,
        )
        rows.append(
            (
                *(str(one.side.target), one.side.machine, *(one.tests[name] for name in VERDICTS), *needs),
                *("; ".join(one.sources), reasons or None),
            )
        )
    if rows:
        columns = (
            *names("target", "machine"),
            *numbers(*VERDICTS),
            *numbers("memory MiB", shown=scaled(2**20)),
            *numbers("MFLOPs", shown=scaled(1e6)),
            *numbers("at least µs", shown=in_us),
            *numbers("compiling s", shown=scaled(1e9)),
            *texts("predicted", "unknown, most often since"),
        )
        note = f"{LOWER_BOUND} compiling: all of it, on this host."
        yield Table.of_rows("Predicted: tests, and what they need", columns, rows, note)


def _accuracy(matches: Sequence[PredictionMatch]) -> Table:
    detailed = accuracy(matches)
    rows: list[Cells] = []
    by_failure, by_placement = (_parts(detailed, group, _ACCURACY) for group in detailed.groups)
    for one, of_failures, of_placements in zip(matches, by_failure, by_placement, strict=True):
        rows.append((*of_failures, "failures", one.model, _remarks(one)))
        rows.append((*of_placements, "work on the host", one.model, None))
    columns = (
        *names("predicted", "measured", "machine"),
        *numbers("tests", "agreements", "missed", "false alarms", "both pass"),
        *numbers("predicted %", "true %", shown=fixed(1)),
        *texts("by", "device model", "remarks"),
    )
    note = f"{HOW_MATCHED} predicted: of what failed; true: of what was predicted to. {HOW_PLACED}"
    return Table.of_rows("Predicted against measured", columns, rows, note)


def _parts(table: Table, group: Group, columns: Iterable[str]) -> Iterator[Cells]:
    """The cells of these columns, of each row of a group."""
    return zip(*(table.column(name, group) for name in columns), strict=True)


def _remarks(one: PredictionMatch) -> str | None:
    """The categories of missed failures, how many agree in it, and the tests that say nothing of the prediction."""
    found = []
    if one.failures.missed:
        kinds = (f"{name.replace('_', ' ')} {tests}" for name, tests in one.missed_categories.items())
        found.append(f"missed: {', '.join(kinds)}")
    if one.failures.agreements:
        found.append(f"{one.same_category} of {pluralize(one.failures.agreements, 'agreement')} of the same category")
    found += [f"{name} {tests}" for name, tests in one.apart.items() if tests]
    return "; ".join(found) or None


def _wrong_predictions(matches: Iterable[PredictionMatch]) -> Iterator[Table]:
    """The tests of which the prediction was wrong."""
    rows = [
        (
            *(str(one.predicted.target), str(one.measured.target), test.function, test.test, kind),
            _cause(test.predicted_category, test.predicted_message),
            _cause(test.measured_category, test.measured_message),
        )
        for one in matches
        for test in one.tests
        for kind in _kinds(test)
    ]
    left = f" {pluralize(len(rows) - _SHOWN, 'test')} more: tables/ has all of them." if rows[_SHOWN:] else ""
    if rows:
        columns = (*names("predicted", "measured", "function", "test"), *texts("what", "predicted", "measured"))
        note = f"{pluralize(len(rows), 'test')}.{left}"
        yield Table.of_rows("Missed failures and false alarms", columns, rows[:_SHOWN], note)


def _kinds(test: MatchedTest) -> Iterator[str]:
    if test.outcome in WRONG:
        yield "missed failure" if test.outcome == MISSED else test.outcome
    if test.placement in WRONG:
        yield f"{test.placement}: work on the host"


def _published(comparisons: Sequence[PublishedComparison]) -> Iterator[Table]:
    detailed = published_rates(comparisons)
    rates: list[Cells] = []
    because: list[Cells] = []
    for one, group in zip(comparisons, detailed.groups, strict=True):
        side = (str(one.predicted.side.target), one.predicted.side.machine)
        both = (cell for pair in _parts(detailed, group, ("percent", "published_percent")) for cell in pair)
        outcomes = ", ".join(f"{name} {tests}" for name, tests in sorted(one.outcomes.items()))
        rates.append((*side, *both, one.rates.rated, one.column, outcomes))
        because += [(*side, sentence) for sentence in group.notes]
    statuses = (
        column for name in PAPER_STATUSES.values() for column in (*numbers(name, shown=fixed(1)), *numbers("published"))
    )
    columns = (
        *names("target", "machine"),
        *(*statuses, *numbers("functions")),
        *texts("published of", "functions by outcome"),
    )
    note = f"{PAPER_STATUSES_NOTE} {HOW_COMPARED}"
    yield Table.of_rows("Predicted against published: percent of functions", columns, rates, note)
    yield from _published_accuracy(comparisons)
    if because:
        columns = (*names("target", "machine"), *texts("because"))
        yield Table.of_rows("Why predicted and published rates differ", columns, because)


def _published_accuracy(comparisons: Sequence[PublishedComparison]) -> Iterator[Table]:
    """The functions by outcome, and each disagreement with its cause."""
    detailed = published_accuracy(comparisons)
    counts = [column.name for column in detailed.columns if column.name not in ("target", "machine", "published_of")]
    columns = (
        *names("target", "machine"),
        *texts("published of"),
        *numbers(*(name.replace("_", " ") for name in counts)),
    )
    rows = list(_parts(detailed, detailed.groups[0], ("target", "machine", "published_of", *counts)))
    yield Table.of_rows("Predicted against published: functions by outcome", columns, rows)
    disagreements = [
        (
            *(str(one.predicted.side.target), one.predicted.side.machine, function.listed_as, function.outcome),
            *(f"{function.passed} of {function.ran}", function.failure or None),
            *(_explained(function)),
        )
        for one in comparisons
        for function in one.wrong
    ]
    if disagreements:
        columns = (
            *names("target", "machine", "function"),
            *texts("what", "tests accepted", "published failure", "cause", "evidence"),
        )
        yield Table.of_rows("Disagreements with the paper", columns, disagreements)


def _explained(function: PublishedFunction) -> tuple[str, str | None]:
    found = function.explanation
    return (found.cause, found.evidence) if found else (_UNEXPLAINED, None)


def _greatest(figures: Iterable[float | None]) -> float | None:
    return max((figure for figure in figures if figure is not None), default=None)


def _cause(category: str | None, message: str | None) -> str:
    lines = (message or "").strip().splitlines()
    name = (category or "").replace("_", " ")
    text = f"{name}: {lines[0]}" if lines else name
    return shortened(text, _LONGEST_MESSAGE).removeprefix(": ") or "passed"

"""The sections of a report on predictions: what could not be predicted, and how the rest compares with what was
measured and what the paper published."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from portbench.analysis.accuracy import HOW_MATCHED, HOW_PLACED, MISSED, WRONG, MatchedTest, PredictionMatch
from portbench.analysis.accuracy_published import HOW_COMPARED
from portbench.analysis.predictions import LOWER_BOUND, VERDICTS, PredictedFunction
from portbench.analysis.results import Predictions
from portbench.analysis.terms import PAPER_STATUSES, PAPER_STATUSES_NOTE
from portbench.util.format import NOTHING, percent, significant
from portbench.util.section import Section
from portbench.util.text import pluralize, shortened

FIGURES = ("tests accepted", "unknown", "memory KiB", "MFLOPs", "at least µs")
_SHOWN = 30
_REASONS = 3
_LONGEST_MESSAGE = 200


def figures(function: PredictedFunction) -> tuple[str, ...]:
    """The predicted figures of a function, in the order of FIGURES; a dash where the compiler reports none."""
    tried = function.accepted + function.refused
    return (
        f"{function.accepted}/{tried}" if tried else NOTHING,
        str(function.unknown),
        _in(function.memory_bytes, 1024),
        _in(function.flops, 1e6),
        _in(function.roofline_ns, 1e3),
    )


def prediction_sections(found: Predictions) -> Iterator[Section]:
    """How much was predicted; agreements, missed failures and false alarms; and the comparison with the paper."""
    yield from _targets(found)
    yield from _accuracy(found)
    yield from _wrong_predictions(found)
    yield from _published(found)
    yield from _because(found)


def _targets(found: Predictions) -> Iterator[Section]:
    rows = []
    for one in found.targets:
        reasons = "; ".join(f"{reason} ({tests:,})" for reason, tests in list(one.reasons.items())[:_REASONS])
        functions = list(one.functions.values())
        counts = (f"{one.tests[name]:,}" for name in VERDICTS)
        needs = (
            _in(_greatest(found.memory_bytes for found in functions), 2**20),
            _in(_greatest(found.flops for found in functions), 1e6),
            _in(_greatest(found.roofline_ns for found in functions), 1e3),
            _in(sum(found.compile_ns or 0 for found in functions) or None, 1e9),
        )
        rows.append(
            (str(one.side.target), one.side.machine, *counts, *needs, "; ".join(one.sources), reasons or NOTHING)
        )
    if rows:
        yield Section(
            "Predicted: tests, and what they need",
            ("target", "machine"),
            (*VERDICTS, "memory MiB", "MFLOPs", "at least µs", "compiling s"),
            ("predicted", "unknown, most often since"),
            tuple(rows),
            f"{LOWER_BOUND} compiling: all of it, on this host.",
        )


def _accuracy(found: Predictions) -> Iterator[Section]:
    rows = []
    for one in found.matches:
        names = (str(one.predicted.target), str(one.measured.target), one.measured.machine)
        for by, counts in (("failures", one.failures), ("work on the host", one.placements)):
            right = counts.agreements
            numbers = (counts.tests, right, counts.missed, counts.false_alarms, counts.both_pass)
            shares = (percent(right, counts.failures), percent(right, counts.predicted_failures))
            remarks = _remarks(one) if by == "failures" else NOTHING
            rows.append((*names, *map(str, numbers), *shares, by, one.model, remarks))
    if rows:
        yield Section(
            "Predicted against measured",
            ("predicted", "measured", "machine"),
            ("tests", "agreements", "missed", "false alarms", "both pass", "predicted %", "true %"),
            ("by", "device model", "remarks"),
            tuple(rows),
            f"{HOW_MATCHED} predicted: of what failed; true: of what was predicted to. {HOW_PLACED}",
        )


def _remarks(one: PredictionMatch) -> str:
    """The categories of missed failures, how many agree in it, and the tests that say nothing of the prediction."""
    found = []
    if one.failures.missed:
        kinds = (f"{name.replace('_', ' ')} {tests}" for name, tests in one.missed_categories.items())
        found.append(f"missed: {', '.join(kinds)}")
    if one.failures.agreements:
        found.append(f"{one.same_category} of {pluralize(one.failures.agreements, 'agreement')} of the same category")
    found += [f"{name} {tests}" for name, tests in one.apart.items() if tests]
    return "; ".join(found) or NOTHING


def _wrong_predictions(found: Predictions) -> Iterator[Section]:
    """The tests of which the prediction was wrong."""
    rows = [
        (
            str(one.predicted.target),
            str(one.measured.target),
            test.function,
            test.test,
            kind,
            _cause(test.predicted_category, test.predicted_message),
            _cause(test.measured_category, test.measured_message),
        )
        for one in found.matches
        for test in one.tests
        for kind in _kinds(test)
    ]
    left = f" {pluralize(len(rows) - _SHOWN, 'test')} more: tables/ has all of them." if rows[_SHOWN:] else ""
    if rows:
        yield Section(
            "Missed failures and false alarms",
            ("predicted", "measured", "function", "test"),
            (),
            ("what", "predicted", "measured"),
            tuple(rows[:_SHOWN]),
            f"{pluralize(len(rows), 'test')}.{left}",
        )


def _kinds(test: MatchedTest) -> Iterator[str]:
    if test.outcome in WRONG:
        yield "missed failure" if test.outcome == MISSED else test.outcome
    if test.placement in WRONG:
        yield f"{test.placement}: work on the host"


def _published(found: Predictions) -> Iterator[Section]:
    rows = []
    for one in found.comparisons:
        ours = one.rates.percent or {}
        figures = [f"{ours[status]:.1f}" if status in ours else NOTHING for status in PAPER_STATUSES]
        theirs = [str(one.percent[status]) for status in PAPER_STATUSES]
        both = (figure for pair in zip(figures, theirs, strict=True) for figure in pair)
        outcomes = ", ".join(f"{name} {tests}" for name, tests in sorted(one.outcomes.items()))
        side = one.predicted.side
        rows.append((str(side.target), side.machine, *both, str(one.rates.rated), one.column, outcomes))
    if rows:
        titles = (title for name in PAPER_STATUSES.values() for title in (name, "published"))
        yield Section(
            "Predicted against published: percent of functions",
            ("target", "machine"),
            (*titles, "functions"),
            ("published of", "functions by outcome"),
            tuple(rows),
            f"{PAPER_STATUSES_NOTE} {HOW_COMPARED}",
        )


def _because(found: Predictions) -> Iterator[Section]:
    rows = [
        (str(one.predicted.side.target), one.predicted.side.machine, sentence)
        for one in found.comparisons
        for sentence in one.because
    ]
    if rows:
        title = "Why predicted and published rates differ"
        yield Section(title, ("target", "machine"), (), ("because",), tuple(rows))


def _greatest(figures: Iterable[float | None]) -> float | None:
    return max((figure for figure in figures if figure is not None), default=None)


def _in(value: float | None, unit: float) -> str:
    return NOTHING if value is None else significant(value / unit)


def _cause(category: str | None, message: str | None) -> str:
    lines = (message or "").strip().splitlines()
    name = (category or "").replace("_", " ")
    text = f"{name}: {lines[0]}" if lines else name
    return shortened(text, _LONGEST_MESSAGE).removeprefix(": ") or "passed"

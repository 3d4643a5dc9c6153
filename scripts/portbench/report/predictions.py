"""What a report says of predictions: what could not be foretold, and how the rest holds against what was measured and
what the study published."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from portbench.analysis.accuracy import APART, HOW_HELD, HOW_PLACED, SETTLED
from portbench.analysis.accuracy_published import HOW_BESIDE
from portbench.analysis.foretold import LOWER_BOUND
from portbench.analysis.predictions import Predictions
from portbench.study.summary import Row
from portbench.tables.rates import STATUS_NAMES
from portbench.util.format import NOTHING, percent, significant
from portbench.util.section import Section
from portbench.util.text import pluralize, shortened

FIGURES = ("tests accepted", "unknown", "memory KiB", "MFLOPs", "at least µs")
_SHOWN = 30
_REASONS = 3
_LONGEST_MESSAGE = 200
_WRONG = ("miss", "false alarm")


def figures(function: Row) -> tuple[str, ...]:
    """What was foretold of a function, in the order of FIGURES; a dash where the compiler does not tell."""
    tried = function["accepted"] + function["refused"]
    return (
        f"{function['accepted']}/{tried}" if tried else NOTHING,
        str(function["unknown"]),
        _in(function["memory_bytes"], 1024),
        _in(function["flops"], 1e6),
        _in(function["roofline_ns"], 1e3),
    )


def of_predictions(found: Predictions) -> Iterator[Section]:
    """How much was foretold; hits, misses and false alarms; and what the study published beside it."""
    yield from _foretold(found)
    yield from _held(found)
    yield from _misses(found)
    yield from _beside(found)
    yield from _because(found)


def _foretold(found: Predictions) -> Iterator[Section]:
    rows = []
    for one in found.foretold:
        reasons = "; ".join(f"{reason} ({tests:,})" for reason, tests in list(one.reasons.items())[:_REASONS])
        functions = list(one.functions.values())
        counts = (f"{one.tests[name]:,}" for name in ("accepted", "refused", "unknown"))
        needs = (
            _in(_greatest(functions, "memory_bytes"), 2**20),
            _in(_greatest(functions, "flops"), 1e6),
            _in(_greatest(functions, "roofline_ns"), 1e3),
            _in(sum(row["compile_ns"] or 0 for row in functions) or None, 1e9),
        )
        rows.append((str(one.side.target), one.side.machine, *counts, *needs, "; ".join(one.by), reasons or NOTHING))
    if rows:
        yield Section(
            "Predicted: tests, and what they need",
            ("target", "machine"),
            ("accepted", "refused", "unknown", "memory MiB", "MFLOPs", "at least µs", "compiling s"),
            ("foretold", "unknown, most often since"),
            tuple(rows),
            f"{LOWER_BOUND} compiling: all of it, on this host.",
        )


def _held(found: Predictions) -> Iterator[Section]:
    rows = []
    for one in found.held:
        names = (str(one.predicted.target), str(one.measured.target), one.measured.machine)
        for of, counts in (("failures", one.outcomes), ("work on the host", one.placements)):
            hits, misses, alarms, both = (counts.get(name, 0) for name in SETTLED)
            shares = (percent(hits, hits + misses), percent(hits, hits + alarms))
            apart = [f"{name} {counts[name]}" for name in APART if counts.get(name)]
            if of == "failures" and hits:
                apart.insert(0, f"{one.same_category} of {pluralize(hits, 'hit')} of the same category")
            if of == "failures" and misses:
                kinds = (f"{name.replace('_', ' ')} {tests}" for name, tests in one.missed_categories.items())
                apart.insert(0, f"misses: {', '.join(kinds)}")
            counted = (str(count) for count in (hits + misses + alarms + both, hits, misses, alarms, both))
            rows.append((*names, *counted, *shares, of, one.model, "; ".join(apart) or NOTHING))
    if rows:
        yield Section(
            "Predicted against measured",
            ("predicted", "measured", "machine"),
            ("tests", "hits", "misses", "false alarms", "both pass", "foretold %", "true %"),
            ("by", "device model", "besides"),
            tuple(rows),
            f"{HOW_HELD} foretold: of what failed; true: of what was foretold to. {HOW_PLACED}",
        )


def _misses(found: Predictions) -> Iterator[Section]:
    """The tests of which the prediction was wrong."""
    rows = [
        (
            str(one.predicted.target),
            str(one.measured.target),
            row["function"],
            row["test"],
            kind,
            _said(row["predicted_category"], row["predicted_message"]),
            _said(row["measured_category"], row["measured_message"]),
        )
        for one in found.held
        for row in one.rows
        for kind in _kinds(row)
    ]
    left = f" {pluralize(len(rows) - _SHOWN, 'test')} more: tables/ has all of them." if rows[_SHOWN:] else ""
    if rows:
        yield Section(
            "Misses and false alarms",
            ("predicted", "measured", "function", "test"),
            (),
            ("what", "foretold", "measured"),
            tuple(rows[:_SHOWN]),
            f"{pluralize(len(rows), 'test')}.{left}",
        )


def _kinds(row: Row) -> Iterator[str]:
    if row["outcome"] in _WRONG:
        yield str(row["outcome"])
    if row["placement"] in _WRONG:
        yield f"{row['placement']} of work on the host"


def _beside(found: Predictions) -> Iterator[Section]:
    rows = []
    for one in found.beside:
        ours = one.rates.percent or {}
        figures = [f"{ours[status]:.1f}" if status in ours else NOTHING for status in STATUS_NAMES]
        theirs = [str(one.percent[status]) for status in STATUS_NAMES]
        both = (figure for pair in zip(figures, theirs, strict=True) for figure in pair)
        outcomes = ", ".join(f"{name} {tests}" for name, tests in sorted(one.outcomes.items()))
        side = one.foretold.side
        rows.append((str(side.target), side.machine, *both, str(one.rates.rated), one.column, outcomes))
    if rows:
        titles = (title for name in STATUS_NAMES.values() for title in (name, "published"))
        yield Section(
            "Predicted against published: percent of functions",
            ("target", "machine"),
            (*titles, "functions"),
            ("published of", "functions by outcome"),
            tuple(rows),
            HOW_BESIDE,
        )


def _because(found: Predictions) -> Iterator[Section]:
    rows = [
        (str(one.foretold.side.target), one.foretold.side.machine, sentence)
        for one in found.beside
        for sentence in one.because
    ]
    if rows:
        title = "Why predicted and published rates differ"
        yield Section(title, ("target", "machine"), (), ("because",), tuple(rows))


def _greatest(functions: Iterable[Row], name: str) -> float | None:
    return max((row[name] for row in functions if row[name] is not None), default=None)


def _in(value: float | None, unit: float) -> str:
    return NOTHING if value is None else significant(value / unit)


def _said(category: str | None, message: str | None) -> str:
    lines = (message or "").strip().splitlines()
    told = f"{(category or '').replace('_', ' ')}: {lines[0]}" if lines else (category or "").replace("_", " ")
    return shortened(told, _LONGEST_MESSAGE).removeprefix(": ") or "passed"

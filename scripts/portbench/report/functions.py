"""The table of a target's functions: their status, where they ran, and their figures; and that of the functions that
count in no percentage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from portbench.analysis.configurations import Configuration
from portbench.analysis.predictions import PredictedFunction
from portbench.report.placement import ran_on
from portbench.study.document import FunctionEntry, TargetEntry
from portbench.study.model import REMOVED, TargetKey, status_text
from portbench.tables.model import Cell, Cells, Table, names, numbers, texts
from portbench.util.format import in_ms, in_us, scaled
from portbench.util.text import pluralize

Named = Sequence[tuple[str, FunctionEntry]]
"""Functions with their names for people."""


MOST_LISTED = 300
"""A target with more functions has a table by module, and lists at most so many of those that do not pass."""


def listed(functions: Named) -> tuple[Named, str]:
    """The functions that a report lists, and a note on the others."""
    if len(functions) <= MOST_LISTED:
        return functions, ""
    failing = [found for found in functions if found[1]["status"] != "all_pass"]
    shown = failing[:MOST_LISTED]
    left = [
        (len(functions) - len(failing), "whose tests all pass"),
        (len(failing) - len(shown), "of which not all tests pass"),
    ]
    more = " and ".join(f"{pluralize(number, 'function')} more, {which}" for number, which in left if number)
    return shown, f"{more}: the page lists them."


def measured(functions: Named, *, has_placement: bool, note: str = "") -> Table:
    """How many tests of each function passed, and its times; with ``has_placement`` where its tests ran."""
    columns = (
        *names("function"),
        *texts("status", *(["ran on"] if has_placement else [])),
        *numbers("tests passed"),
        *numbers("first call ms", shown=in_ms),
        *numbers("steady state µs", shown=in_us),
    )
    rows = [
        (
            *(
                name,
                status_text(function["status"], function["tests_by_category"]),
                *([ran_on(function)] if has_placement else []),
            ),
            *(_passed(function), function["cold_mean_ns"], function["steady_median_ns"]),
        )
        for name, function in functions
    ]
    return Table.of_rows("", columns, rows, *filter(None, [note]))


def predicted(functions: Named, figures: Mapping[tuple[str, str], PredictedFunction], note: str = "") -> Table:
    """How many tests of each function would be accepted, and what they need. ``figures``: by the function's name and
    what it is successor of."""
    columns = (
        *names("function"),
        *texts("status", "ran on"),
        *numbers("tests accepted", "unknown"),
        *numbers("memory KiB", shown=scaled(1024)),
        *numbers("MFLOPs", shown=scaled(1e6)),
        *numbers("at least µs", shown=in_us),
    )
    rows = [
        (
            *(name, status_text(function["status"], function["tests_by_category"]), ran_on(function)),
            *_predicted(figures.get((function["name"], function["successor_of"] or ""))),
        )
        for name, function in functions
    ]
    return Table.of_rows("", columns, rows, *filter(None, [note]))


def is_removed(function: FunctionEntry) -> bool:
    """Whether the version does not have the function."""
    return status_text(function["status"], function["tests_by_category"]) == REMOVED


def left_out(entry: TargetEntry) -> list[Cells]:
    """The rows of ``left_out_table`` of one target: its functions that count in no percentage, by reason. None of a
    target of which no outcome is known."""
    side = Configuration(*TargetKey.of_entry(entry))
    by_reason: dict[str, list[str]] = {}
    for function in entry["functions"] if entry["percent_of_rated_functions"] else ():
        # One that was timed counts as passing.
        is_timed = function["cold_mean_ns"] is not None
        if function["status"] == "not_testable" and function["successor_of"] is None and not is_timed:
            reasons = [gap["reason"] for gap in function["skipped"]]
            reason = reasons[0].replace(function["name"], "the function") if reasons else "no outcome is known"
            if is_removed(function):
                reason = f"{REMOVED}: {reason}"
            elif function["tests_by_verdict"]["error"]:
                reason = "errors of the manifest"
            by_reason.setdefault(reason, []).append(function["name"])
    return [(str(side.target), side.machine, len(found), ", ".join(found), why) for why, found in by_reason.items()]


def left_out_table(rows: Sequence[Cells]) -> Iterator[Table]:
    """The functions of all targets that count in no percentage: they are why totals differ between targets."""
    if rows:
        columns = (*names("target", "machine"), *numbers("functions"), *texts("which", "reason"))
        title = "Functions left out of all percentages: not testable"
        note = (
            "None of their tests ran. Percentages are over the other functions of a target; a comparison of two "
            "targets is over the functions that were timed on both."
        )
        yield Table.of_rows(title, columns, rows, note)


def _passed(function: FunctionEntry) -> str | None:
    tests = function["tests_by_verdict"]
    ran = tests["passed"] + tests["failed"] + tests["flaky"]
    flaky = f" ({tests['flaky']} flaky)" if tests["flaky"] else ""
    return f"{tests['passed']}/{ran}{flaky}" if ran else None


def _predicted(found: PredictedFunction | None) -> tuple[Cell, ...]:
    if not found:
        return (None,) * 5
    tried = found.accepted + found.refused
    tests = f"{found.accepted}/{tried}" if tried else None
    return tests, found.unknown, found.memory_bytes, found.flops, found.roofline_ns

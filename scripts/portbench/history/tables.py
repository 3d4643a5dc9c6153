"""The tables of a history: its versions, its changes, and the functions that fail in some version."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from portbench.compare.functions import BROKE, FIXED
from portbench.history.changes import STATUSES, Change, History
from portbench.tables.model import Column, Table, names, numbers, texts, without_empty_columns
from portbench.util.text import shortened

_LONGEST_EVIDENCE = 160


def tables(history: History) -> list[Table]:
    """All tables that have a row."""
    return [table for table in (_versions(history), _changes(history), _failing(history)) if table.groups[0].rows]


def _versions(history: History) -> Table:
    rows = []
    for each in history.versions:
        run, counts = each.run, each.counts
        statuses = [counts.get(status, 0) if each.statuses else None for status in STATUSES]
        is_first = bool(history.ran) and each is history.ran[0]
        changed = [
            None if is_first or not each.statuses else history.changed(run.version, kind) for kind in (BROKE, FIXED)
        ]
        rows.append((run.version, run.date or None, run.python or None, *statuses, *changed, run.missing or None))
    columns = (
        *names("version"),
        Column("released", "released", is_optional=True),
        *texts("Python"),
        *numbers(*STATUSES, BROKE, FIXED),
        Column("not_run", "not run because", is_optional=True),
    )
    title = f"{history.framework} on {history.device}: functions of the manifest {history.manifest} by status"
    note = (
        "broke, fixed: functions of which fewer or more tests pass than in the version before that ran, "
        "over the tests that ran in both."
    )
    return without_empty_columns(Table.of_rows(title, columns, rows, note))


def _changes(history: History) -> Table:
    rows = [
        (change.version, change.function, change.kind, change.before, change.after, _why(change) or None)
        for change in history.changes
    ]
    columns = (*names("version", "function"), *texts("change", "before", "after", "tests that changed"))
    return Table.of_rows("Functions that changed, by the version that changed them", columns, rows)


def _failing(history: History) -> Table:
    functions = dict.fromkeys(name for version in history.ran for name in version.statuses)
    rows = [
        (name, spans)
        for name in functions
        if (spans := "; ".join(_spans(history, name))) and set(_all(history, name)) != {STATUSES[0]}
    ]
    columns = (*names("function"), *texts("status by version"))
    return Table.of_rows("Functions that do not pass in every version", columns, sorted(rows))


def _all(history: History, name: str) -> Iterator[str]:
    return (version.statuses[name] for version in history.ran if name in version.statuses)


def _spans(history: History, name: str) -> Iterator[str]:
    """``2.0.1 to 2.6.0 some fail``, for each span of versions with the same status."""
    known = [(version.run.version, version.statuses[name]) for version in history.ran if name in version.statuses]
    for status, span in groupby(known, key=lambda each: each[1]):
        versions = [version for version, _ in span]
        yield f"{versions[0]}{f' to {versions[-1]}' if versions[1:] else ''} {status}"


def _why(change: Change) -> str:
    tests = f"{', '.join(change.tests[:3])}{f' and {len(change.tests) - 3} more' if change.tests[3:] else ''}"
    return ": ".join(filter(None, (tests, shortened(change.evidence, _LONGEST_EVIDENCE))))

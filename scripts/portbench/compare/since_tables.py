"""The tables of what changed since a date or a version. Cells hold text out of run files, which printers escape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from portbench.compare.functions import BROKE, KINDS
from portbench.compare.since import Since, TargetChanges
from portbench.compare.time_tables import MOVED_TOGETHER, PROTOCOL_TEXTS, cells_of, moved_together, shown_interval
from portbench.tables.model import Cells, Column, Group, Table, names, numbers, texts
from portbench.util.format import in_us, significant
from portbench.util.text import pluralize, shortened

MOST_ROWS = 50
"""How many rows a table of changes has at most; --json has all."""

_LONGEST_EVIDENCE = 160


def since_tables(since: Since) -> tuple[Table, ...]:
    """What changed: a row for each target, then the functions, then the tests whose times changed, then the targets
    that were not compared. Tables without rows are left out, but the first one always says whether anything changed."""
    found = [_summary(since)]
    every: list[tuple[str, tuple[Column, ...], list[Cells]]] = [
        (
            "Functions that changed",
            (*names("target", "function"), *texts("change", "before", "after", "tests that changed")),
            [row for target in since.targets for row in _events(target)],
        ),
        (
            "Times that changed",
            (
                *names("target", "function", "test"),
                *texts("time"),
                *numbers("before µs", "after µs", shown=in_us),
                *numbers("ratio", "95 %", shown=significant),
            ),
            [row for target in since.targets for row in _latencies(target)],
        ),
        (
            "Targets that were not compared",
            (*names("target"), *texts("why")),
            [(str(each.side), each.reason) for each in since.unpaired],
        ),
    ]
    for title, columns, rows in every:
        if rows:
            found.append(_cut(Table.of_rows(f"{title} since {since.since}", columns, rows)))
    return tuple(found)


def _summary(since: Since) -> Table:
    rows: list[Cells] = []
    for target in since.targets:
        kinds = Counter(event.kind for event in target.events)
        verdicts = Counter(test.verdict for _, test in target.latencies)
        before, after = _sides(target)
        changed: Cells = (*(kinds[kind] for kind in KINDS), verdicts["slower"], verdicts["faster"])
        name, machine = _target(target), target.pair.second.machine
        rows.append((name, machine, before, after, target.functions, *changed, len(target.pair.outcomes.not_run)))
    columns = (
        *names("target", "machine"),
        *texts("before", "after"),
        *numbers("functions", *KINDS, "slower tests", "faster tests", "tests not run now"),
    )
    what = "Nothing changed. " if since.is_unchanged else ""
    note = (
        f"{what}Each test counts with the last day on which it ran, before and since. broke, fixed: functions of which "
        "fewer or more tests pass, over the tests that ran on both sides and are not flaky there. slower, faster: by "
        f"{100 * since.limits.effect:g} % at least and more than noise, as 'portbench compare' judges it."
    )
    if any(min(target.pair.first_runs, target.pair.second_runs) == 1 for target in since.targets):
        note += " With one run on a side, flaky tests are not recognized: a function that broke may have one."
    if any(moved_together(target.pair.steady.tests, since.limits) for target in since.targets):
        note += f" {MOVED_TOGETHER}"
    return Table.of_rows(f"Changes since {since.since}", columns, rows, note)


def _target(target: TargetChanges) -> str:
    side = target.pair.second
    return f"{side.target}{f' ({side.synchronization})' if side.synchronization else ''}"


def _sides(target: TargetChanges) -> Iterator[str]:
    """The version and the day of each side: the version only where it changed."""
    versions = (target.pair.first.version, target.pair.second.version)
    for version, day in zip(versions, target.days, strict=True):
        yield ", ".join(filter(None, (version if versions[0] != versions[1] else "", day))) or "no date"


def _events(target: TargetChanges) -> Iterator[Cells]:
    order = sorted(target.events, key=lambda event: (KINDS.index(event.kind), event.function))
    for event in order:
        tests = ", ".join(event.tests[:3]) + (f" and {len(event.tests) - 3} more" if event.tests[3:] else "")
        # What a fixed function failed with is no news.
        evidence = shortened(event.evidence, _LONGEST_EVIDENCE) if event.kind == BROKE else ""
        why = ": ".join(filter(None, (tests, evidence)))
        yield (_target(target), event.function, event.kind, event.before, event.after, why or None)


def _latencies(target: TargetChanges) -> Iterator[Cells]:
    for protocol, test in target.latencies:
        yield (
            *(_target(target), *cells_of(test.key), f"{test.verdict}, {PROTOCOL_TEXTS[protocol]}"),
            *(test.first_ns, test.second_ns, test.ratio, shown_interval(test.interval)),
        )


def _cut(table: Table) -> Table:
    left = len(table.flat_rows) - MOST_ROWS
    if left <= 0:
        return table
    note = f"And {pluralize(left, 'row')} more: --since with --json has all."
    return replace(table, groups=(Group(table.flat_rows[:MOST_ROWS]),), notes=(note,))

"""Prints a report on the terminal, at any width."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from portbench.report.failures import Failure
from portbench.report.model import Report, TargetReport
from portbench.study.model import REMOVED, STATUS_TEXTS
from portbench.tables.as_terminal import as_grid, print_tables, table_block
from portbench.util.console import dim, heading, safe_text
from portbench.util.format import NOTHING
from portbench.util.text import escape_control

_COLOURS = {"all_pass": "green", "some_fail": "yellow", "all_fail": "red", "not_testable": "bright_black"}


def print_report(report: Report, console: Console) -> None:
    """Prints what changed, headlines and tables on all targets, then each target, and the findings last."""
    for remark in report.remarks:
        console.print(Text(remark, "bold yellow"))
        console.print()
    print_tables(report.changes, console)
    if report.headlines:
        console.print(heading("Headlines"))
        for sentence in report.first_headlines:
            console.print(Padding(Text(escape_control(sentence)), (0, 0, 0, 2)))
        console.print()
    print_tables(report.tables, console)
    for target in report.targets:
        for part in _target(target, console.width):
            console.print(part)
            console.print()
    print_tables(report.more_headlines, console)
    if report.findings:
        console.print(heading("Findings"))
        for sentence in report.findings:
            console.print(Padding(Text.assemble("- ", escape_control(sentence)), (0, 0, 0, 2)))


def _target(target: TargetReport, width: int) -> Iterator[RenderableType]:
    title = Text.assemble((escape_control(target.target), "bold"), f" on {escape_control(target.machine)}")
    yield Rule(title, align="left", style="bright_black")
    colours = {STATUS_TEXTS[status]: colour for status, colour in _COLOURS.items()}
    if target.functions.groups[0].rows:
        yield as_grid(target.functions, {**colours, REMOVED: "bright_black"})
    yield from (dim(note) for note in target.functions.notes)
    yield from (table_block(table, width) for table in target.before)
    if target.failures:
        lines = (line for found in target.failures for line in _failure(found))
        notes = [dim(note) for note in (target.left_out, target.blame) if note]
        yield Group(heading("Why tests did not pass"), *lines, *notes)
    yield from (table_block(table, width) for table in target.after)


def _failure(failure: Failure) -> Iterator[RenderableType]:
    """Two lines: a column has no room for the evidence."""
    fails = f"  {failure.fails}" if failure.fails != NOTHING else ""
    yield Text.assemble(safe_text(failure.function), "  ", _status(failure.status), f"  {failure.category}{fails}")
    others = f"(and {failure.others} more) " if failure.others else ""
    evidence = Text.assemble((others, "bright_black"), safe_text(failure.evidence))
    evidence.no_wrap, evidence.overflow = True, "ellipsis"
    yield Padding(evidence, (0, 0, 0, 4), expand=False)


def _status(status: str) -> Text:
    return Text(STATUS_TEXTS[status], _COLOURS[status])

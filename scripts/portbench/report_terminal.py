"""Prints a report on the terminal, at any width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from portbench.printable import printable, shortened
from portbench.report import HOW_RATES, HOW_TIMES, Failure, Report, TargetReport, figures, percentages

_COLOURS = {"pass": "green", "partial": "yellow", "complete": "red", "none": "bright_black"}


def print_report(report: Report, console: Console) -> None:
    """Prints the summary of all targets, then each target."""
    console.print(_title("Percent of functions"))
    console.print(_summary(report))
    for note in (HOW_RATES, HOW_TIMES):
        console.print()
        console.print(Text(note, "bright_black"))
    for target in report.targets:
        for part in _target(target):
            console.print()
            console.print(part)


def _summary(report: Report) -> Table:
    table = _table(["target", "machine"], ["success", "partial", "complete", "functions", "none"])
    for target in report.targets:
        table.add_row(
            _text(target.target),
            _text(target.machine),
            *percentages(target),
            str(sum(target.counts.values())),
            str(target.counts["none"]),
        )
    return table


def _target(target: TargetReport) -> Iterator[RenderableType]:
    title = Text.assemble((printable(target.target), "bold"), f" on {printable(target.machine)}")
    yield Rule(title, align="left", style="bright_black")
    yield _functions(target)
    if target.failures:
        yield Group(_title("Why tests did not pass"), *(line for found in target.failures for line in _failure(found)))
    if target.gaps:
        table = _table(["function"], ["tests"], ["reason"])
        for gap in target.gaps:
            table.add_row(_text(gap.function), str(gap.tests), _text(gap.reason, 300))
        yield Group(_title("Did not run"), table)
    if target.fallbacks:
        table = _table(["function"], ["tests"], ["ran on"])
        for fallback in target.fallbacks:
            table.add_row(_text(fallback.function), str(fallback.tests), fallback.placement)
        yield Group(_title("Passed, but not on the device"), table)


def _functions(target: TargetReport) -> Table:
    table = _table(["function", "status"], ["tests passed", "cold ms", "steady µs"])
    for function in target.functions:
        table.add_row(_text(function.name), _status(function.status), *figures(function))
    return table


def _failure(failure: Failure) -> Iterator[RenderableType]:
    """Two lines, since the evidence would have no room in a column beside the rest."""
    yield Text.assemble(_text(failure.function), "  ", _status(failure.status), f"  {failure.category}")
    others = f"(and {failure.others} more) " if failure.others else ""
    evidence = Text.assemble((others, "bright_black"), _text(failure.evidence))
    evidence.no_wrap, evidence.overflow = True, "ellipsis"
    yield Padding(evidence, (0, 0, 0, 4), expand=False)


def _table(texts: Sequence[str], numbers: Sequence[str], last: Sequence[str] = ()) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for name in texts:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    for name in last:
        table.add_column(name, overflow="fold")
    return table


def _title(text: str) -> Text:
    return Text(text, "bold")


def _status(status: str) -> Text:
    return Text(status, _COLOURS[status])


def _text(text: str, limit: int = 200) -> Text:
    # Text, unlike a string, is never read as markup.
    return Text(printable(shortened(text, limit)))

"""Prints a report on the terminal, at any width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from portbench.report.failures import Failure
from portbench.report.model import STRICT, Report, TargetReport, figure_titles, figures
from portbench.util.format import NOTHING
from portbench.util.section import Section
from portbench.util.text import escape_control, shortened

_COLOURS = {"pass": "green", "partial": "yellow", "complete": "red", "none": "bright_black"}


def print_report(report: Report, console: Console) -> None:
    """Prints what is to be said of all targets, then each target."""
    if report.is_strict:
        console.print(Text(STRICT, "bold yellow"))
        console.print()
    if report.headlines:
        console.print(_title("Headlines"))
        for sentence in report.headlines:
            console.print(Padding(Text(escape_control(sentence)), (0, 0, 0, 2)))
        console.print()
    print_sections(report.sections, console)
    for target in report.targets:
        for part in _target(target, console.width):
            console.print(part)
            console.print()


def _target(target: TargetReport, width: int) -> Iterator[RenderableType]:
    title = Text.assemble((escape_control(target.target), "bold"), f" on {escape_control(target.machine)}")
    yield Rule(title, align="left", style="bright_black")
    yield _functions(target)
    yield from (_section(section, width) for section in target.before)
    if target.failures:
        lines = (line for found in target.failures for line in _failure(found))
        blame = [_note(target.blame)] if target.blame else []
        yield Group(_title("Why tests did not pass"), *lines, *blame)
    yield from (_section(section, width) for section in target.after)


def _functions(target: TargetReport) -> Table:
    where = [] if target.is_cpu else ["ran on"]
    table = _table(["function", "status", *where], figure_titles(target))
    for function in target.functions:
        place = [] if target.is_cpu else [function.ran_on]
        table.add_row(_text(function.name), _status(function.status), *place, *figures(function))
    return table


def _section(section: Section, width: int) -> RenderableType:
    note = [Text(), _note(section.note)] if section.note else []
    table = _as_table(section) if _needs(section) <= width else Group(*_as_lines(section))
    return Group(_title(section.title), table, *note)


def _needs(section: Section) -> int:
    """The width below which numbers would be cut, or names take a line for every few letters."""
    first, last = len(section.names), len(section.names) + len(section.numbers)
    columns = zip(section.numbers, *(row[first:last] for row in section.rows), strict=True)
    return sum(max(map(len, column)) + 2 for column in columns) + 14 * (first + len(section.texts))


def _as_table(section: Section) -> Table:
    table = _table(section.names, section.numbers, section.texts)
    numbers = range(len(section.names), len(section.names) + len(section.numbers))
    for row in section.rows:
        table.add_row(*(cell if place in numbers else _text(cell, 300) for place, cell in enumerate(row)))
    return table


def _as_lines(section: Section) -> Iterator[RenderableType]:
    """For a narrow terminal: the names, and below them each figure behind its title."""
    first = len(section.names)
    for row in section.rows:
        yield _text(" ".join(row[:first]))
        figures = zip((*section.numbers, *section.texts), row[first:], strict=True)
        said = ", ".join(f"{title} {cell}" for title, cell in figures if cell)
        yield Padding(_text(said, 400), (0, 0, 0, 4), expand=False)


def _failure(failure: Failure) -> Iterator[RenderableType]:
    """Two lines, since the evidence would have no room in a column beside the rest."""
    fails = f"  {failure.fails}" if failure.fails != NOTHING else ""
    yield Text.assemble(_text(failure.function), "  ", _status(failure.status), f"  {failure.category}{fails}")
    others = f"(and {failure.others} more) " if failure.others else ""
    evidence = Text.assemble((others, "bright_black"), _text(failure.evidence))
    evidence.no_wrap, evidence.overflow = True, "ellipsis"
    yield Padding(evidence, (0, 0, 0, 4), expand=False)


def _note(text: str) -> Text:
    return Text(text, "bright_black")


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
    return Text(escape_control(text), "bold")


def _status(status: str) -> Text:
    return Text(status, _COLOURS[status])


def _text(text: str, limit: int = 200) -> Text:
    # Text, unlike a string, is never read as markup.
    return Text(escape_control(shortened(text, limit)))


def print_sections(sections: Sequence[Section], console: Console) -> None:
    """Prints tables, at any width."""
    for section in sections:
        console.print(_section(section, console.width))
        console.print()

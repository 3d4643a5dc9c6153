"""Errors and tables on the terminal: they look the same for every command. No text from outside is trusted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from portbench.errors import PortbenchError
from portbench.util.section import Section
from portbench.util.text import escape_control, shortened


def show_error(error: PortbenchError, console: Console) -> None:
    """Prints the message and, below it, the remedy. Control characters are escaped."""
    console.print(f"[bold red]error:[/] {_shown(str(error))}", soft_wrap=True, highlight=False)
    if error.remedy:
        console.print(_shown(error.remedy), soft_wrap=True, highlight=False)


def print_sections(sections: Sequence[Section], console: Console) -> None:
    """Prints tables at the width of the console."""
    for section in sections:
        console.print(section_block(section, console.width))
        console.print()


def section_block(section: Section, width: int) -> RenderableType:
    """A section as a table; as lines where ``width`` has no room for its columns."""
    note = [Text(), dim(section.note)] if section.note else []
    table = _as_table(section) if _least_width(section) <= width else Group(*_as_lines(section))
    return Group(heading(section.title), table, *note)


def _least_width(section: Section) -> int:
    """The least width at which no number is cut and names have room."""
    first, last = len(section.names), len(section.names) + len(section.numbers)
    columns = zip(section.numbers, *(row[first:last] for row in section.rows), strict=True)
    return sum(max(map(len, column)) + 2 for column in columns) + 14 * (first + len(section.texts))


def _as_table(section: Section) -> Table:
    table = simple_table(section.names, section.numbers, section.texts)
    numbers = range(len(section.names), len(section.names) + len(section.numbers))
    for row in section.rows:
        table.add_row(*(cell if place in numbers else safe_text(cell, 300) for place, cell in enumerate(row)))
    return table


def _as_lines(section: Section) -> Iterator[RenderableType]:
    """For a narrow terminal: the names, and below them each value after its title."""
    first = len(section.names)
    for row in section.rows:
        yield safe_text(" ".join(row[:first]))
        cells = zip((*section.numbers, *section.texts), row[first:], strict=True)
        line = ", ".join(f"{title} {cell}" for title, cell in cells if cell)
        yield Padding(safe_text(line, 400), (0, 0, 0, 4), expand=False)


def dim(text: str) -> Text:
    """Text of our own, in a quiet colour."""
    return Text(text, "bright_black")


def simple_table(texts: Sequence[str], numbers: Sequence[str], last: Sequence[str] = ()) -> Table:
    """An empty table with columns of text, of numbers (never wrapped) and of text again."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for name in texts:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    for name in last:
        table.add_column(name, overflow="fold")
    return table


def heading(text: str) -> Text:
    """A title, its control characters escaped."""
    return Text(escape_control(text), "bold")


def safe_text(text: str, limit: int = 200) -> Text:
    """Text from outside, escaped and cut to ``limit`` characters."""
    # Text, unlike a string, is never read as markup.
    return Text(escape_control(shortened(text, limit)))


def _shown(text: str) -> str:
    return escape("\n".join(escape_control(line) for line in text.splitlines()))

"""Writes tables on the terminal, at any width."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from portbench.tables.model import Cell, Column, Table
from portbench.util.console import dim, heading, safe_text

_LONGEST_CELL = 300
_LEAST_TEXT = 14
"""The width at which a column of text can be read."""


def print_tables(tables: Iterable[Table], console: Console) -> None:
    """Prints each table, and an empty line, at the width of the console."""
    for table in tables:
        console.print(table_block(table, console.width))
        console.print()


def table_block(table: Table, width: int) -> RenderableType:
    """A table below its heading and above its notes; as lines where ``width`` has no room for its columns."""
    notes = "\n\n".join(table.notes)
    rows = [as_grid(table)] if _least_width(table) <= width else list(_as_lines(table))
    return Group(heading(table.heading), *rows, *([Text(), dim(notes)] if notes else []))


def as_grid(table: Table, styles: Mapping[str, str] | None = None) -> Grid:
    """The rows of a table alone. ``styles`` gives texts that have a meaning, such as a status, their colour."""
    grid = Grid(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for column in table.flat_columns:
        if column.shown:
            grid.add_column(column.title, justify="right", no_wrap=True)
        else:
            grid.add_column(column.title, overflow="fold")
    for row in table.flat_rows:
        grid.add_row(*(_cell(column, cell, styles or {}) for column, cell in zip(table.flat_columns, row, strict=True)))
    return grid


def _cell(column: Column, cell: Cell, styles: Mapping[str, str]) -> Text:
    text = safe_text(column.text(cell), _LONGEST_CELL)
    text.style = "" if column.is_code else styles.get(text.plain, "")
    return text


def _least_width(table: Table) -> int:
    """The least width at which no number is cut and columns of text have room."""
    width = 0
    for place, column in enumerate(table.flat_columns):
        cells = (column.text(row[place]) for row in table.flat_rows)
        width += max(map(len, (column.title, *cells))) + 2 if column.shown else _LEAST_TEXT
    return width


def _as_lines(table: Table) -> Iterator[RenderableType]:
    """For a narrow terminal: the names, and below them each value after its title."""
    columns = table.flat_columns
    first = sum(column.is_code for column in columns)
    for row in table.flat_rows:
        cells = [column.text(cell) for column, cell in zip(columns, row, strict=True)]
        yield safe_text(" ".join(cells[:first]))
        pairs = zip(columns[first:], cells[first:], strict=True)
        line = ", ".join(f"{column.title} {cell}" for column, cell in pairs if cell)
        yield Padding(safe_text(line, 400), (0, 0, 0, 4), expand=False)

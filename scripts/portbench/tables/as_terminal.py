"""Writes tables on the terminal, at any width."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table as RichGrid
from rich.text import Text

from portbench.tables.model import Cell, Column, Table
from portbench.util.console import dim, heading, safe_text
from portbench.util.text import escape_control, shortened

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
    return Grid(table, styles or {})


class Grid:
    """The rows of a table, for rich's console. Raises nothing.

    Rich looks at each cell several times and measures each word, which takes minutes for a large study. Without colours
    and with room for every column, as in a pipe or a file, the lines are joined here: the same text as rich's.
    """

    def __init__(self, table: Table, styles: Mapping[str, str]) -> None:
        self._table = table
        self._styles = styles

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """The width that the grid needs."""
        if not _is_plain(console):
            return Measurement.get(console, options, self._as_rich)
        return Measurement(min(self._width, options.max_width), min(self._width, options.max_width))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The lines of the grid."""
        if not self._table.flat_columns or not _is_plain(console) or self._width > options.max_width:
            yield self._as_rich
            return
        titles, *rows = self._lines
        rule = "─".join("─" * (width + 1) for width in self._widths)[:-1]
        yield Segment("\n".join([self._line(titles), rule, *map(self._line, rows)]) + "\n")

    @cached_property
    def _lines(self) -> list[tuple[str, ...]]:
        """The texts of the titles and of each row."""
        columns = self._table.flat_columns
        rows = (
            tuple(_shown(column, cell) for column, cell in zip(columns, row, strict=True))
            for row in self._table.flat_rows
        )
        return [tuple(column.title for column in columns), *rows]

    @cached_property
    def _widths(self) -> list[int]:
        return [max(map(cell_len, texts)) for texts in zip(*self._lines, strict=True)]

    @property
    def _width(self) -> int:
        # Two spaces between columns.
        return max(0, sum(self._widths) + 2 * len(self._widths) - 2)

    def _line(self, texts: tuple[str, ...]) -> str:
        cells = zip(self._table.flat_columns, texts, self._widths, strict=True)
        return "  ".join(
            " " * (width - cell_len(text)) + text if column.shown else set_cell_size(text, width)
            for column, text, width in cells
        )

    @cached_property
    def _as_rich(self) -> RichGrid:
        grid = RichGrid(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        columns = self._table.flat_columns
        for column in columns:
            if column.shown:
                grid.add_column(column.title, justify="right", no_wrap=True)
            else:
                grid.add_column(column.title, overflow="fold")
        for row in self._table.flat_rows:
            grid.add_row(*(_cell(column, cell, self._styles) for column, cell in zip(columns, row, strict=True)))
        return grid


def _is_plain(console: Console) -> bool:
    """Whether the console shows no colours."""
    return console.color_system is None and not console.is_terminal


def _shown(column: Column, cell: Cell) -> str:
    return escape_control(shortened(column.text(cell), _LONGEST_CELL))


def _cell(column: Column, cell: Cell, styles: Mapping[str, str]) -> Text:
    text = Text(_shown(column, cell))
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

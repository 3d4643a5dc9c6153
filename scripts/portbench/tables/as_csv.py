"""Writes a table as CSV: all groups in one table, numbers with all digits."""

from __future__ import annotations

import csv
import io

from portbench.tables.model import Cell, Table
from portbench.util.text import escape_control


def as_csv(table: Table) -> str:
    """The table as CSV with a header; units are in the names of the columns, and unknown cells are empty.

    The method is the first column. Notes are only in the Markdown and LaTeX of the same name.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["method", *(column.name for column in table.flat_columns)])
    for row in table.flat_rows:
        writer.writerow([table.method, *map(_cell, row)])
    return file.getvalue()


def _cell(cell: Cell) -> str:
    if cell is None:
        return ""
    if not isinstance(cell, str):
        return repr(cell)
    # Spreadsheets run text that begins with one of these as a formula.
    return f"'{escape_control(cell)}" if cell.startswith(("=", "+", "-", "@")) else escape_control(cell)

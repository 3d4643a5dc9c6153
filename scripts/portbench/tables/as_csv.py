"""Writes a table as CSV: all groups in one table, numbers with all digits."""

from __future__ import annotations

import csv
import io
from functools import lru_cache

from portbench.tables.model import Cell, Table
from portbench.util.text import KEPT_TEXTS, escape_control


def as_csv(table: Table) -> str:
    """The table as CSV with a header; units are in the names of the columns, and unknown cells are empty.

    The method is the first column. Notes are only in the Markdown and LaTeX of the same name.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["method", *(column.name for column in table.flat_columns)])
    writer.writerows([table.method, *map(_cell, row)] for row in table.flat_rows)
    return file.getvalue()


def _cell(cell: Cell) -> str:
    if cell is None:
        return ""
    return _text(cell) if isinstance(cell, str) else repr(cell)


@lru_cache(maxsize=KEPT_TEXTS)
def _text(text: str) -> str:
    # Spreadsheets run text that begins with one of these as a formula.
    return f"'{escape_control(text)}" if text.startswith(("=", "+", "-", "@")) else escape_control(text)

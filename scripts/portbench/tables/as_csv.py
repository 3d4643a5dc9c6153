"""Writes a table as CSV: all groups in one table, numbers with all digits."""

from __future__ import annotations

import csv
import io
from functools import lru_cache

from portbench.tables.model import Table
from portbench.util.text import KEPT_TEXTS, escape_control


def as_csv(table: Table) -> str:
    """The table as CSV with a header; units are in the names of the columns, and unknown cells are empty.

    The method is the first column. Notes are only in the Markdown and LaTeX of the same name.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["method", *(column.name for column in table.flat_columns)])
    for group in table.groups:
        first = [table.method, *map(_text, group.key)]
        # The writer makes an empty cell of None, and writes all digits of a number.
        writer.writerows(first + [_text(cell) if isinstance(cell, str) else cell for cell in row] for row in group.rows)
    return file.getvalue()


@lru_cache(maxsize=KEPT_TEXTS)
def _text(text: str) -> str:
    # Spreadsheets run text that begins with one of these as a formula.
    return f"'{escape_control(text)}" if text.startswith(("=", "+", "-", "@")) else escape_control(text)

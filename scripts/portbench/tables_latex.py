r"""Writes a table of the study as LaTeX, to be read in with ``\input``: booktabs, and longtable where it is long.

Plain ASCII: pdflatex knows few other characters, and refuses a document with one that it does not know.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from portbench.printable import printable
from portbench.report_figures import NOTHING
from portbench.tables_model import Cell, Column, Group, Table

_ROWS_OF_A_PAGE = 40

_ESCAPED = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\symbol{34}",
    # Where a line of a table ends, "[" begins a length, and "*" is read with the end of the line.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
}


def as_latex(table: Table) -> str:
    """The table between two rules, each group under its heading, and the notes as a paragraph below."""
    return "\n".join(_document(table)) + "\n"


def escaped(text: str) -> str:
    """Text without any meaning to LaTeX, in ASCII, for a place within a line."""
    ascii_text = printable(text).encode("ascii", "backslashreplace").decode("ascii")
    told = "".join(_ESCAPED.get(character, character) for character in ascii_text)
    # Two in a row would become a dash, quotation mark or another sign.
    return re.sub(r"([-'`,])(?=\1)|[?!](?=`)", r"\g<0>{}", told)


def _document(table: Table) -> Iterator[str]:
    rows = sum(len(group.rows) + 1 for group in table.groups)
    environment = "longtable" if rows > _ROWS_OF_A_PAGE else "tabular"
    packages = "booktabs, longtable" if environment == "longtable" else "booktabs"
    yield f"% Needs \\usepackage{{{packages}}}"
    yield f"% {escaped(table.heading)}"
    yield f"\\begin{{{environment}}}{{{''.join('r' if column.shown else 'l' for column in table.columns)}}}"
    yield r"\toprule"
    yield _line(escaped(column.title) for column in table.columns)
    yield r"\midrule"
    if environment == "longtable":
        yield r"\endhead"
    for place, group in enumerate(table.groups):
        if place:
            yield r"\addlinespace"
        yield from _group(table, group)
    yield r"\bottomrule"
    yield f"\\end{{{environment}}}"
    for note in (table.heading + ".", *_notes(table)):
        yield from ("", r"\noindent " + escaped(note))


def _group(table: Table, group: Group) -> Iterator[str]:
    if heading := table.heading_of(group):
        yield f"\\multicolumn{{{len(table.columns)}}}{{l}}{{\\textit{{{escaped(heading)}}}}} \\\\"
    for row in group.rows:
        yield _line(_cell(column, cell) for column, cell in zip(table.columns, row, strict=True))


def _line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _notes(table: Table) -> Iterator[str]:
    """Those of the groups, each with its group's heading where there are several, then those of the table."""
    for group in table.groups:
        heading = table.heading_of(group) if len(table.groups) > 1 else ""
        yield from (f"{heading}: {note}" if heading else note for note in group.notes)
    yield from table.notes


def _cell(column: Column, cell: Cell) -> str:
    if cell is None:
        return escaped(NOTHING)
    if isinstance(cell, str):
        return f"\\texttt{{{escaped(cell)}}}" if column.is_code else escaped(cell)
    text = column.shown(cell) if column.shown else str(cell)
    return re.sub(r"^-", "$-$", text)

r"""Writes a table as LaTeX for ``\input``: with booktabs, and with longtable where it is long.

The text is ASCII: pdflatex knows few other characters, and fails on a document with an unknown one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from portbench.tables.model import Cell, Column, Group, Table
from portbench.util.format import NOTHING
from portbench.util.text import KEPT_TEXTS, escape_control

_ROWS_OF_A_PAGE = 40

_ESCAPED = str.maketrans(
    {
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
        # After the end of a table's line, "[" begins a length and "*" is part of the line's end.
        "[": "{[}",
        "]": "{]}",
        "*": "{*}",
    }
)
_LIGATURE = re.compile(r"([-'`,])(?=\1)|[?!](?=`)")


def as_latex(table: Table) -> str:
    """The table between two rules, each group under its heading, and the notes as a paragraph below."""
    return "\n".join(_document(table)) + "\n"


@lru_cache(maxsize=KEPT_TEXTS)
def escaped(text: str) -> str:
    """Text as ASCII that LaTeX prints as it is, for a place within a line."""
    ascii_text = escape_control(text).encode("ascii", "backslashreplace").decode("ascii")
    # LaTeX makes a dash, a quotation mark or another sign of two in a row.
    return _LIGATURE.sub(r"\g<0>{}", ascii_text.translate(_ESCAPED))


def _document(table: Table) -> Iterator[str]:
    columns = [column for column in table.columns if not column.role]
    rows = sum(len(group.rows) + 1 for group in table.groups)
    environment = "longtable" if rows > _ROWS_OF_A_PAGE else "tabular"
    packages = "booktabs, longtable" if environment == "longtable" else "booktabs"
    yield f"% Needs \\usepackage{{{packages}}}"
    yield f"% {escaped(table.heading)}"
    yield r"\begingroup\footnotesize\setlength{\tabcolsep}{3pt}\sloppy"
    yield f"\\begin{{{environment}}}{{{''.join('r' if column.shown else 'l' for column in columns)}}}"
    yield r"\toprule"
    yield _line(escaped(column.title) for column in columns)
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
    yield r"\par\endgroup"


def _group(table: Table, group: Group) -> Iterator[str]:
    if heading := table.heading_of(group):
        across = f"\\multicolumn{{{sum(not column.role for column in table.columns)}}}{{p{{0.9\\linewidth}}}}"
        yield f"{across}{{\\raggedright\\textit{{{escaped(heading)}}}}} \\\\"
    by_column = zip(*group.rows, strict=True)
    cells = [_cells(column, values) for column, values in zip(table.columns, by_column, strict=False)]
    if cells:
        figures = [_figures(cells, own, of) for own, of in _parts(table.columns).items()]
        yield from map(_line, zip(*figures, strict=True))


def _parts(columns: Sequence[Column]) -> dict[int, dict[str, int]]:
    """The places of the printed columns, each with the places of its interval and published figure by role."""
    places = {column.name: place for place, column in enumerate(columns)}
    parts: dict[int, dict[str, int]] = {place: {} for place, column in enumerate(columns) if not column.role}
    for place, column in enumerate(columns):
        if column.role:
            parts[places[column.of]][column.role] = place
    return parts


def _figures(cells: Sequence[Sequence[str | None]], own: int, of: Mapping[str, int]) -> list[str]:
    """The cells of a column, each with its interval in brackets and the published figure in parentheses; without the
    difference."""
    nothing = escaped(NOTHING)
    figures = [nothing if figure is None else figure for figure in cells[own]]
    if "low" in of:
        ends = zip(figures, cells[of["low"]], cells[of["high"]], strict=True)
        figures = [f"{figure} {{[}}{low}, {high}{{]}}" if low and high else figure for figure, low, high in ends]
    if "published" in of:
        both = zip(figures, cells[of["published"]], strict=True)
        figures = [f"{figure} ({published})" if published else figure for figure, published in both]
    return figures


def _line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _notes(table: Table) -> Iterator[str]:
    """The notes of the groups, with the group's heading where there are several, then those of the table."""
    for group in table.groups:
        heading = table.heading_of(group) if len(table.groups) > 1 else ""
        yield from (f"{heading}: {note}" if heading else note for note in group.notes)
    yield from table.notes
    roles = {column.role for column in table.columns}
    if "low" in roles:
        yield "In brackets: the 95 % interval."
    if "published" in roles:
        yield "In parentheses: the figure that the paper prints."


def _cells(column: Column, cells: Iterable[Cell]) -> list[str | None]:
    """The cells of a column; None where one is empty."""
    text = _code if column.is_code else escaped
    return [
        None if cell is None else text(cell) if isinstance(cell, str) else _number(column.text(cell)) for cell in cells
    ]


def _code(text: str) -> str:
    return f"\\texttt{{{escaped(text)}}}"


def _number(text: str) -> str:
    return f"$-${text[1:]}" if text.startswith("-") else text

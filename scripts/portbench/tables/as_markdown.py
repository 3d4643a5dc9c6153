"""Writes a table as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from portbench.tables.model import Cell, Column, Table, without_empty_columns
from portbench.util.format import NOTHING
from portbench.util.markdown import code, plain, table

_FILES = (("Markdown", "md"), ("CSV", "csv"), ("LaTeX", "tex"))


def as_markdown(shown: Table) -> str:
    """The table as a document: a heading, then each group with its heading and notes, then the notes of the table."""
    return "\n".join(_document(shown))


def _document(shown: Table) -> Iterator[str]:
    yield from (f"# {plain(shown.heading)}", "")
    for group in shown.groups:
        if heading := shown.heading_of(group):
            yield from (f"## {plain(heading)}", "")
        yield from _group(without_empty_columns(replace(shown, groups=(group,))))
    yield from _notes((*shown.notes, *filter(None, [shown.on_published])))


def _group(shown: Table) -> Iterator[str]:
    """The only group of a table, without its empty columns."""
    (group,) = shown.groups
    texts = [place for place, column in enumerate(shown.columns) if column.shown is None]
    numbers = [place for place, column in enumerate(shown.columns) if column.shown is not None]
    rows = ([_cell(shown.columns[place], row[place]) for place in (*texts, *numbers)] for row in group.rows)
    titles = [plain(column.title) for column in shown.columns]
    if group.rows:
        yield from table([titles[place] for place in texts], [titles[place] for place in numbers], rows)
    yield from _notes(group.notes)


def _notes(notes: tuple[str, ...]) -> Iterator[str]:
    for note in notes:
        yield from (plain(note, limit=None), "")


def _cell(column: Column, cell: Cell) -> str:
    if cell is None:
        return NOTHING
    if isinstance(cell, str):
        return code(cell) if column.is_code else plain(cell)
    return column.shown(cell) if column.shown else str(cell)


def index(tables: Sequence[Table], absent: Sequence[str]) -> str:
    """A document that lists the tables with their files, and the reasons why others are ``absent``."""
    lines = ["# Tables", ""]
    for shown in tables:
        files = ", ".join(f"[{kind}]({shown.file_stem}.{ending})" for kind, ending in _FILES)
        lines.append(f"- {plain(shown.heading)}: {files}")
    if absent:
        lines += ["", "Tables that this study has no data for:", "", *(f"- {plain(why)}" for why in absent)]
    return "\n".join([*lines, ""])

"""Writes a table as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from portbench.tables.model import Cell, Column, Table, without_empty_columns
from portbench.util.markdown import code, plain, table

_FORMATS = {".md": "Markdown", ".csv": "CSV", ".tex": "LaTeX"}


def as_markdown(shown: Table) -> str:
    """The table as a document: a heading, then each group with its heading and notes, then the notes of the table."""
    return "\n".join(markdown_lines(shown, level=1))


def markdown_lines(shown: Table, level: int) -> Iterator[str]:
    """The lines of a table below a heading of this level, as a part of a document."""
    if shown.heading:
        yield from (f"{'#' * level} {plain(shown.heading)}", "")
    for group in shown.groups:
        if heading := shown.heading_of(group):
            yield from (f"{'#' * (level + 1)} {plain(heading)}", "")
        yield from _group(without_empty_columns(replace(shown, groups=(group,))))
    yield from _notes((*shown.notes, *filter(None, [shown.on_published])))


def _group(shown: Table) -> Iterator[str]:
    """The only group of a table, without its empty columns."""
    (group,) = shown.groups
    texts = [place for place, column in enumerate(shown.columns) if column.shown is None]
    numbers = [place for place, column in enumerate(shown.columns) if column.shown is not None]
    cells = list(zip(*group.rows, strict=True))
    rows = zip(*(_cells(shown.columns[place], cells[place]) for place in (*texts, *numbers) if cells), strict=True)
    titles = [plain(column.title) for column in shown.columns]
    # The notes of a group without rows say why; without notes its empty table says that there is nothing.
    if group.rows or not group.notes:
        yield from table([titles[place] for place in texts], [titles[place] for place in numbers], rows)
    yield from _notes(group.notes)


def _notes(notes: tuple[str, ...]) -> Iterator[str]:
    for note in notes:
        yield from (plain(note, limit=None), "")


def _cells(column: Column, cells: Sequence[Cell]) -> list[str]:
    escaped = code if column.is_code else plain
    return [escaped(cell) if isinstance(cell, str) else column.text(cell) for cell in cells]


def index(tables: Mapping[Table, Sequence[str]], absent: Sequence[str]) -> str:
    """A document that lists the tables with their files, of which it is given the endings, and the reasons why others
    are ``absent``."""
    lines = ["# Tables", ""]
    for shown, endings in tables.items():
        files = ", ".join(f"[{_FORMATS[ending]}]({shown.file_stem}{ending})" for ending in endings)
        lines.append(f"- {plain(shown.heading)}: {files}")
    if absent:
        lines += ["", "Tables that this study has no data for:", "", *(f"- {plain(why)}" for why in absent)]
    return "\n".join([*lines, ""])

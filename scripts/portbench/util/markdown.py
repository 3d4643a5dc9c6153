"""Text and tables in Markdown (GitHub's, which has tables). No text is trusted: none means anything to Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from portbench.util.section import Section
from portbench.util.text import escape_control, shortened


def code(text: str) -> str:
    """Code where the text cannot break out of it, escaped text where it could."""
    return f"`{text}`" if re.fullmatch(r"[A-Za-z0-9_.\[\]=,:-]{1,200}", text) else plain(text)


def plain(text: str, limit: int | None = 300) -> str:
    """Text without any meaning to Markdown, HTML in it and links included, for a place within a line. Cut to ``limit``
    characters; None for no limit."""
    cut = text if limit is None else shortened(text, limit)
    escaped = re.sub(r"[\\`*_{}\[\]|~$]|(?<=www)\.|:(?=//)", r"\\\g<0>", escape_control(cut))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def table(texts: Sequence[str], numbers: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a table, and an empty one: columns of text, then of numbers. Titles and cells are Markdown."""
    yield _row([*texts, *numbers])
    yield _row(["---"] * len(texts) + ["---:"] * len(numbers))
    for row in rows:
        yield _row(row)
    yield ""


def sections_as_markdown(sections: Iterable[Section], level: int) -> Iterator[str]:
    """The lines of tables, each below a heading of this level."""
    for section in sections:
        yield from _section(section, level)


def _section(section: Section, level: int) -> Iterator[str]:
    yield from (f"{'#' * level} {plain(section.title)}", "")
    names, numbers = len(section.names), len(section.numbers)
    rows = (
        [
            *map(code, row[:names]),
            *map(plain, row[names + numbers :]),
            *row[names : names + numbers],
        ]
        for row in section.rows
    )
    yield from table([*section.names, *section.texts], section.numbers, rows)
    if section.note:
        yield from (section.note, "")


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"

"""Text and tables in Markdown (GitHub's, which has tables). No text is trusted: none means anything to Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

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


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"

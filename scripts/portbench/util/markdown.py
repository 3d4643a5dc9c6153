"""Text and tables in GitHub's Markdown. All text is escaped, so that none of it acts as Markdown or HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from portbench.util.text import KEPT_TEXTS, escape_control, shortened


@lru_cache(maxsize=KEPT_TEXTS)
def code(text: str) -> str:
    """The text as inline code; escaped text where it holds characters that could end the code."""
    return f"`{text}`" if re.fullmatch(r"[A-Za-z0-9_.\[\]=,:-]{1,200}", text) else plain(text)


@lru_cache(maxsize=KEPT_TEXTS)
def plain(text: str, limit: int | None = 300) -> str:
    """The text on one line, with Markdown, HTML and links escaped. Cut to ``limit`` characters; None for no limit."""
    cut = text if limit is None else shortened(text, limit)
    escaped = re.sub(r"[\\`*_{}\[\]|~$]|(?<=www)\.|:(?=//)", r"\\\g<0>", escape_control(cut))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def table(texts: Sequence[str], numbers: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a table and an empty line: first columns of text, then columns of numbers.

    Titles and cells are Markdown: escape them before the call.
    """
    yield _row([*texts, *numbers])
    yield _row(["---"] * len(texts) + ["---:"] * len(numbers))
    for row in rows:
        yield _row(row)
    yield ""


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"

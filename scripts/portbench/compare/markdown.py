"""A comparison as Markdown, short enough for a comment on a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from portbench.compare.comparison import Comparison
from portbench.compare.sections import parts
from portbench.util.markdown import plain, sections_as_markdown

_MOST_CHARACTERS = 60_000
"""GitHub takes 65,536 in a comment."""


def markdown(comparison: Comparison, verdict: str) -> str:
    """The comparison as one document. ``verdict``: which conditions it failed on, '' where it failed on none.

    With as many rows a table as fit: first 30, then ever fewer.
    """
    for most_rows in (30, 10, 3):
        text = "\n".join(_document(comparison, verdict, most_rows))
        if len(text) <= _MOST_CHARACTERS:
            return text
    return text[:_MOST_CHARACTERS].rpartition("\n")[0] + "\n\nMore did not fit; --json has all.\n"


def _document(comparison: Comparison, verdict: str, most_rows: int) -> Iterator[str]:
    yield from ("# Comparison", "")
    if verdict:
        yield from (f"**{plain(verdict)}**", "")
    for part in parts(comparison, most_rows):
        yield from (f"## {plain(part.title)}", "")
        yield from sections_as_markdown(part.sections, 3)

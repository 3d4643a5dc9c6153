"""Shows a comparison: on the terminal, at any width, and as Markdown short enough for a comment on a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from portbench.compare.comparison import Comparison
from portbench.compare.tables import parts
from portbench.tables.as_markdown import markdown_lines
from portbench.tables.as_terminal import print_tables
from portbench.util.markdown import plain
from portbench.util.text import escape_control

_MOST_ROWS = 50
_MOST_CHARACTERS = 60_000
"""GitHub takes 65,536 in a comment."""


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Prints each pair of targets, then what differs between devices; tables of at most 50 rows."""
    for part in parts(comparison, _MOST_ROWS):
        console.print(Rule(style="bright_black"))
        console.print(Text(escape_control(part.title), "bold"))
        console.print()
        print_tables(part.tables, console)


def markdown(comparison: Comparison, verdict: str) -> str:
    """The comparison as one document. ``verdict``: the conditions it failed on, '' if it failed on none.

    Tables have at most 30 rows, and fewer where that many do not fit.
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
        for table in part.tables:
            yield from markdown_lines(table, level=3)

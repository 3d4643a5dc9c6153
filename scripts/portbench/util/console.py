"""Errors and pieces of text on the terminal: they look the same for every command. No text from outside is trusted."""

from __future__ import annotations

import os
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from portbench.errors import PortbenchError
from portbench.util.text import escape_control, shortened

_WIDEST = 10_000
_USUAL_WIDTH = 80


def results_console() -> Console:
    """The console for the results of a command, on stdout.

    In a pipe or a file each table is as wide as it needs: no id is cut or wrapped. COLUMNS, where set, limits it.
    """
    console = Console(highlight=False)
    if console.is_terminal or os.environ.get("COLUMNS", "").isdigit():
        return console
    return _Unbounded(highlight=False, width=_WIDEST)


class _Unbounded(Console):
    """Gives everything that is printed the width that it needs, and a rule, which needs none, the usual one."""

    def print(self, *objects: Any, **options: Any) -> None:
        """As in Console."""
        if not options.get("soft_wrap"):
            options.setdefault("width", max([_USUAL_WIDTH, *(self.measure(each).maximum for each in objects)]))
        super().print(*objects, **options)


def show_error(error: PortbenchError, console: Console) -> None:
    """Prints the message and, below it, the remedy. Control characters are escaped."""
    console.print(f"[bold red]error:[/] {_shown(str(error))}", soft_wrap=True, highlight=False)
    if error.remedy:
        console.print(_shown(error.remedy), soft_wrap=True, highlight=False)


def dim(text: str) -> Text:
    """Text of our own, in a quiet colour."""
    return Text(text, "bright_black")


def heading(text: str) -> Text:
    """A title, its control characters escaped."""
    return Text(escape_control(text), "bold")


def safe_text(text: str, limit: int = 200) -> Text:
    """Text from outside, escaped and cut to ``limit`` characters."""
    # Text, unlike a string, is never read as markup.
    return Text(escape_control(shortened(text, limit)))


def _shown(text: str) -> str:
    return escape("\n".join(escape_control(line) for line in text.splitlines()))

"""Errors and pieces of text on the terminal: they look the same for every command. No text from outside is trusted."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from portbench.errors import PortbenchError
from portbench.util.text import escape_control, shortened


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

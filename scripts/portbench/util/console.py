"""Prints an error in the same way for every command."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape

from portbench.errors import PortbenchError
from portbench.util.text import escape_control


def show_error(error: PortbenchError, console: Console) -> None:
    """Prints the message and, below it, the remedy. Control characters are escaped."""
    console.print(f"[bold red]error:[/] {_shown(str(error))}", soft_wrap=True, highlight=False)
    if error.remedy:
        console.print(_shown(error.remedy), soft_wrap=True, highlight=False)


def _shown(text: str) -> str:
    return escape("\n".join(escape_control(line) for line in text.splitlines()))

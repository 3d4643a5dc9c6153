"""Prints a comparison on the terminal, at any width."""

from __future__ import annotations

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from portbench.compare.comparison import Comparison
from portbench.compare.sections import parts
from portbench.util.console import print_sections
from portbench.util.text import escape_control

_MOST_ROWS = 50


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Each pair of targets: what else differs, what changed, times, what could not be compared; then devices."""
    for part in parts(comparison, _MOST_ROWS):
        console.print(Rule(style="bright_black"))
        console.print(Text(escape_control(part.title), "bold"))
        console.print()
        print_sections(part.sections, console)

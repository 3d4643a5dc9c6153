"""Prints how a run compares with what is known, on the terminal or as data for JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from portbench.run.known_failures import Check, NewFailure, UnexpectedPass
from portbench.util.strict_json import shown
from portbench.util.text import escape_control, shortened

MOST_LINES = 50


def print_check(target: str, check: Check, console: Console) -> None:
    """One line that says how it stands, then each test that is not as it is known to be."""
    known = f"{check.as_known} test{'s' * (check.as_known != 1)} failed as known"
    counts = f"{target}: {known}, {len(check.new)} new, {len(check.passing)} known to fail pass now"
    console.print(Text(escape_control(counts)), soft_wrap=True)
    if not check.is_stated:
        text = f"{shown(check.path)} states nothing for version {escape_control(check.version)}: every failure is new."
        console.print(Text(text, "yellow"), soft_wrap=True)
    _print(console, "New failures", map(_new, check.new), "red")
    _print(console, f"Known to fail, but pass now (in {shown(check.path)})", map(_passing, check.passing), "yellow")
    lines = (f"{entry.category}  {entry.function} {entry.test}" for entry in check.unmatched)
    _print(console, f"Known to fail, but there is no such test (in {shown(check.path)})", lines, "yellow")


def as_data(check: Check) -> dict[str, Any]:
    """The check as plain data."""
    return {
        "clean": check.is_clean,
        "file": str(check.path),
        "version": check.version,
        "version_is_stated": check.is_stated,
        "as_known": check.as_known,
        "new": [asdict(failure) for failure in check.new],
        "passing": [asdict(passing) for passing in check.passing],
        "unmatched": [asdict(entry) for entry in check.unmatched],
    }


def _print(console: Console, title: str, lines: Iterable[str], style: str) -> None:
    told = list(lines)
    if told:
        console.print(Text(title, f"bold {style}"), soft_wrap=True)
    for line in told[:MOST_LINES]:
        text = Text(escape_control(line), no_wrap=True, overflow="ellipsis")
        console.print(Padding(text, (0, 0, 0, 2), expand=False))
    if told[MOST_LINES:]:
        console.print(f"  and {len(told) - MOST_LINES} more; --json lists all")


def _new(failure: NewFailure) -> str:
    instead = f" (known: {', '.join(failure.known)})" if failure.known else ""
    lines = failure.message.strip().splitlines() or [""]
    return f"{failure.category}{instead}  {failure.function} {failure.test}: {shortened(lines[0], 200)}"


def _passing(passing: UnexpectedPass) -> str:
    return f"{passing.known.category}  {passing.function} {passing.test}: {passing.known.reason}"

"""Prints how a run differs from the known failures, or converts that to data for JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from portbench.run.known_failures import Check, NewFailure, UnexpectedPass
from portbench.util.strict_json import shown
from portbench.util.text import escape_control, pluralize, shortened

MOST_LINES = 50


def print_check(target: str, check: Check, console: Console) -> None:
    """Prints one line of counts, then each test that differs from the known failures."""
    known = f"{pluralize(check.as_known, 'test')} failed as known"
    passing = f"{len(check.passing)} unexpected {'pass' if len(check.passing) == 1 else 'passes'}"
    counts = f"{target}: {known}, {pluralize(len(check.new), 'new failure')}, {passing}"
    console.print(Text(escape_control(counts)), soft_wrap=True)
    if not check.is_stated:
        text = f"{shown(check.path)} does not list version {escape_control(check.version)}: every failure is new."
        console.print(Text(text, "yellow"), soft_wrap=True)
    _print(console, "New failures", map(_new, check.new), "red")
    _print(console, f"Unexpected passes (see {shown(check.path)})", map(_passing, check.passing), "yellow")
    lines = (f"{entry.category}  {entry.function} {entry.test}" for entry in check.unmatched)
    _print(console, f"Known failures without a test (see {shown(check.path)})", lines, "yellow")


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
    every = list(lines)
    if every:
        console.print(Text(title, f"bold {style}"), soft_wrap=True)
    for line in every[:MOST_LINES]:
        text = Text(escape_control(line), no_wrap=True, overflow="ellipsis")
        console.print(Padding(text, (0, 0, 0, 2), expand=False))
    if every[MOST_LINES:]:
        console.print(f"  and {len(every) - MOST_LINES} more; --json lists all")


def _new(failure: NewFailure) -> str:
    instead = f" (known: {', '.join(failure.known)})" if failure.known else ""
    lines = failure.message.strip().splitlines() or [""]
    return f"{failure.category}{instead}  {failure.function} {failure.test}: {shortened(lines[0], 200)}"


def _passing(passing: UnexpectedPass) -> str:
    return f"{passing.known.category}  {passing.function} {passing.test}: {passing.known.reason}"

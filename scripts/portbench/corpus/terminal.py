"""Prints a list of functions, or the differences between two lists, on the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from portbench.corpus.diff import Changes, target_of
from portbench.formats.documents import Document
from portbench.published.paper import enumerated_functions
from portbench.util.text import escape_control, pluralize, shortened

MOST_NAMESPACES = 25
MOST_LINES = 25
WIDTH = 160


def print_listing(document: Document, console: Console) -> None:
    """Prints the number of functions by kind and namespace, and what could not be imported."""
    data = document.data
    counts = data["counts"]
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in counts["by_kind"].items())
    console.print(
        Text(f"{target_of(document)}: {pluralize(counts['functions'], 'function')} ({escape_control(kinds)})", "bold")
    )
    console.print(Text(f"in {pluralize(counts['modules'], 'module')}; {_rule(data)}"))
    console.print(_by_namespace(counts["by_namespace"]))
    files = data["public_tests"]["files"]
    named = sum(bool(entry["has_public_test"]) for entry in data["functions"])
    console.print(Text(f"{named:,} are named by {pluralize(files, 'test file')} in the installed packages"))
    errors = [f"{error['module']}: {error['reason']}" for error in data["errors"]]
    _print_lines("Could not be imported", errors, console)


def print_changes(found: Changes, console: Console) -> None:
    """Prints counts, then the first changes of each kind."""
    console.print(Text(f"{escape_control(found.before)} -> {escape_control(found.after)}", "bold"))
    figures = (
        (len(found.added), "added"),
        (len(found.removed), "removed"),
        (len(found.moved), "moved"),
        (len(found.signatures), "with a changed signature"),
        (found.kept, "in both"),
    )
    console.print(Text(", ".join(f"{count:,} {what}" for count, what in figures)))
    _print_lines("Added", found.added, console)
    _print_lines("Removed", found.removed, console)
    moved = (
        f"{move.old} -> {move.new}" + ("" if move.keeps_old else " (the old name is gone)") for move in found.moved
    )
    _print_lines("Moved", moved, console)
    signatures = (f"{change.name}: {change.before} -> {change.after}" for change in found.signatures)
    _print_lines("Changed signature", signatures, console)


def _rule(data: Any) -> str:
    if data["rule"]["name"] != "study":
        return "by portbench's rule" + (", with methods" if data["rule"]["methods"] else "")
    published = enumerated_functions().get(data["target"]["framework"])
    counted = f"; the paper counted {published:,}" if published else ""
    return f"short names by the paper's rule, as far as it is known{counted}"


def _by_namespace(counts: dict[str, int]) -> Table:
    table = Table(box=SIMPLE_HEAD)
    table.add_column("namespace")
    table.add_column("functions", justify="right")
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    for name, count in ordered[:MOST_NAMESPACES]:
        table.add_row(Text(escape_control(name)), f"{count:,}")
    rest = ordered[MOST_NAMESPACES:]
    if rest:
        table.add_row(f"{len(rest)} more", f"{sum(count for _, count in rest):,}")
    return table


def _print_lines(title: str, lines: Iterable[str], console: Console) -> None:
    shown = list(lines)
    if shown:
        console.print(Text(f"\n{title}", "bold"))
    for line in _first(shown):
        console.print(Padding(Text(line), (0, 0, 0, 2)))


def _first(lines: list[str]) -> Iterator[str]:
    yield from (escape_control(shortened(line, WIDTH)) for line in lines[:MOST_LINES])
    if lines[MOST_LINES:]:
        yield f"and {len(lines) - MOST_LINES:,} more: --json or -o lists all"

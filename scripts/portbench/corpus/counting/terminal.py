"""Prints counts on the terminal."""

from __future__ import annotations

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from portbench.util.text import escape_control, pluralize

_TOP = 20


def print_counts(counts: dict[str, Any], console: Console) -> None:
    """Prints the totals of the corpus, and each framework's most called functions by both counts."""
    corpus = counts["corpus"]
    size = f"{corpus['source_bytes'] / 1e6:,.1f} MB"
    _line(
        console,
        f"{escape_control(corpus['name'])}: {pluralize(corpus['documents'], 'document')}, {size}{_left_out(corpus)}",
    )
    for entry in counts["frameworks"]:
        files, calls = entry["files"], entry["calls"]
        _line(
            console,
            f"{entry['framework']}: {pluralize(sum(files.values()), 'file')} import it; "
            f"{files['python_2']:,} of Python 2 and {files['broken']:,} broken were left out; "
            f"{calls['identifier']:,} calls by identifier, {calls['resolved']:,} resolved{_foreign(calls)}",
        )
        console.print(_top(entry["functions"]))


def _line(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _left_out(corpus: dict[str, Any]) -> str:
    return "".join(
        f", {corpus[key]:,} {words}" for key, words in (("too_large", "too large"), ("killed", "killed")) if corpus[key]
    )


def _foreign(calls: dict[str, int]) -> str:
    if not calls["identifier"]:
        return ""
    share = 100 * (1 - calls["both"] / calls["identifier"])
    return f"; {share:.1f} % of the identifiers did not resolve to the framework"


def _top(functions: list[dict[str, Any]]) -> Table:
    words: dict[str, int] = {function["name"].rpartition(".")[2]: function["identifier"] for function in functions}
    by_word = sorted(words.items(), key=lambda item: (-item[1], item[0]))
    resolved = sorted(functions, key=lambda function: (-function["resolved"], function["name"]))
    table = Table("identifier", "calls", "resolved", "calls", "files", box=SIMPLE_HEAD)
    for column in (1, 3, 4):
        table.columns[column].justify = "right"
    for (word, calls), function in list(zip(by_word, resolved, strict=False))[:_TOP]:
        if calls or function["resolved"]:
            counted = f"{function['resolved']:,}", f"{function['files']:,}"
            table.add_row(word, f"{calls:,}", function["name"], *counted)
    return table

"""Prints an audit on the terminal, or as data for JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from portbench.run.mutation import Audit, Survivor
from portbench.util.text import escape_control, shortened

HOW = (
    "Each figure: tests that noticed / tests for which the broken function gives something else. "
    "A test that passes although its function is broken has survived."
)


def print_audit(audit: Audit, console: Console) -> None:
    """A table of functions by mutants, then everything that needs a person."""
    console.print(_by_function(audit))
    console.print(_by_mutant(audit))
    console.print(Text(HOW, "bright_black"))
    percent = "nothing could be broken" if audit.percent_noticed is None else f"{audit.percent_noticed:.1f} % noticed"
    total = audit.applicable.total()
    name = escape_control(audit.manifest)
    console.print(Text(f"\n{audit.target}, {name}: {audit.noticed.total()} of {total} mutants: {percent}"))
    for title, lines in (
        ("Survived, without a reason", map(_line, audit.unexplained)),
        ("Survived, explained", _explained(audit.survivors)),
        ("Explained, but noticed by now (remove the entry)", map(_line, audit.stale)),
        ("Functions whose tests notice nothing", iter(audit.blind_functions)),
        ("Fail with the function as it is, so they were not audited", _reasons(audit.failing.items())),
        ("Skipped here, so they were not audited", _reasons(audit.skipped.items())),
    ):
        shown = list(lines)
        if shown:
            console.print(Text(f"\n{title}", "bold"))
        for line in shown:
            console.print(Padding(Text(escape_control(line)), (0, 0, 0, 2)))


def as_data(audit: Audit, mutants: Iterable[str]) -> dict[str, Any]:
    """The audit as plain data."""
    names = list(mutants)
    return {
        "target": audit.target,
        "manifest": audit.manifest,
        "clean": audit.is_clean,
        "applicable": audit.applicable.total(),
        "noticed": audit.noticed.total(),
        "percent_noticed": audit.percent_noticed,
        "functions": [
            {
                "function": function,
                "tests": tests,
                "mutants": {
                    name: {"applicable": audit.applicable[function, name], "noticed": audit.noticed[function, name]}
                    for name in names
                },
            }
            for function, tests in audit.tests.items()
        ],
        "survivors": [_entry(survivor) for survivor in audit.survivors],
        "stale_explanations": [_entry(survivor) for survivor in audit.stale],
        "blind_functions": audit.blind_functions,
        "failing": [{"function": f, "test": t, "reason": why} for (f, t), why in audit.failing.items()],
        "skipped": [{"function": f, "test": t, "reason": why} for (f, t), why in audit.skipped.items()],
    }


def _by_function(audit: Audit) -> Table:
    table = _table("function", "tests", "noticed")
    noticed, applicable = _totals(audit.noticed, 0), _totals(audit.applicable, 0)
    for function, tests in audit.tests.items():
        name = Text(escape_control(function), overflow="fold")
        table.add_row(name, str(tests), _cell(noticed[function], applicable[function]))
    return table


def _by_mutant(audit: Audit) -> Table:
    table = _table("mutant", "noticed")
    noticed, applicable = _totals(audit.noticed, 1), _totals(audit.applicable, 1)
    for mutant in applicable:
        table.add_row(mutant, _cell(noticed[mutant], applicable[mutant]))
    return table


def _table(name: str, *figures: str) -> Table:
    table = Table(box=SIMPLE_HEAD)
    table.add_column(name)
    for heading in figures:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _totals(counts: Counter[tuple[str, str]], part: int) -> Counter[str]:
    """By function (part 0) or by mutant (part 1)."""
    totals: Counter[str] = Counter()
    for key, count in counts.items():
        totals[key[part]] += count
    return totals


def _cell(noticed: int, applicable: int) -> Text:
    if not applicable:
        return Text("-", "bright_black")
    return Text(f"{noticed}/{applicable}", "" if noticed == applicable else "red")


def _line(survivor: Survivor) -> str:
    return f"{survivor.function} {survivor.test}: {survivor.mutant}"


def _explained(survivors: Iterable[Survivor]) -> Iterator[str]:
    return (f"{_line(survivor)}: {survivor.reason}" for survivor in survivors if survivor.reason)


def _reasons(tests: Iterable[tuple[tuple[str, str], str]]) -> Iterator[str]:
    return (f"{function} {test}: {shortened(why, 200)}" for (function, test), why in tests)


def _entry(survivor: Survivor) -> dict[str, str | None]:
    return {
        "function": survivor.function,
        "test": survivor.test,
        "mutant": survivor.mutant,
        "reason": survivor.reason or None,
    }

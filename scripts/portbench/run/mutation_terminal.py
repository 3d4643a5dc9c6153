"""Prints a mutation test on the terminal, or converts it to data for JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from portbench.run.mutation import NOT_TRIED, MutationTest, Survivor, TestKey
from portbench.util.text import escape_control, shortened

LEGEND = (
    "Each cell: tests that noticed / tests for which the mutated function gives another output. "
    "A test that passes although its function is mutated has survived. "
    "Of functions, a mutant is noticed if one test of its function notices it."
)


def print_mutation_test(test: MutationTest, console: Console) -> None:
    """Prints tables of functions, mutants and classes of mutants, then every list that needs a person."""
    console.print(_by_function(test))
    console.print(_by_mutant(test))
    console.print(_by_class(test))
    console.print(Text(LEGEND, "bright_black"))
    percent = "nothing could be mutated" if test.percent_noticed is None else f"{test.percent_noticed:.1f} % noticed"
    name = escape_control(test.manifest)
    counts = f"{test.noticed.total()} of {test.applicable.total()} mutants"
    console.print(Text(f"\n{test.target}, {name}: {counts}: {percent}"))
    if test.not_tried:
        console.print(Text(f"{test.not_tried} tests were not tried: the time budget did not allow them", "yellow"))
    for title, lines in (
        ("Survived, without a reason", map(_line, test.unexplained)),
        ("Survived, with a reason", _with_reason(test.survivors)),
        ("Listed with a reason, but noticed now or missing (remove the entry)", map(_line, test.stale)),
        ("Functions whose tests notice nothing", iter(test.blind_functions)),
        ("Fail with the real function, so they were not mutation-tested", reasons(test.failing.items())),
        ("Skipped here, so they were not mutation-tested", reasons(_not_for_time(test))),
    ):
        print_list(console, title, lines)


def print_list(console: Console, title: str, lines: Iterable[str]) -> None:
    """Prints a title and the lines below it, or nothing if there are none."""
    shown = list(lines)
    if shown:
        console.print(Text(f"\n{title}", "bold"))
    for line in shown:
        console.print(Padding(Text(escape_control(line)), (0, 0, 0, 2)))


def as_data(test: MutationTest, mutants: Iterable[str]) -> dict[str, Any]:
    """The result as plain data. ``mutants``: the names of those that ran."""
    names = list(mutants)
    return {
        "target": test.target,
        "manifest": test.manifest,
        "clean": test.is_clean,
        "applicable": test.applicable.total(),
        "noticed": test.noticed.total(),
        "percent_noticed": test.percent_noticed,
        "not_tried": test.not_tried,
        "classes": [
            {
                "class": name,
                "noticed": found.tests,
                "applicable": found.of_tests,
                "functions": {"noticed": found.functions, "applicable": found.of_functions},
            }
            for name, found in test.by_class.items()
        ],
        "functions": [
            {
                "function": function,
                "tests": tests,
                "mutants": {
                    name: {"applicable": test.applicable[function, name], "noticed": test.noticed[function, name]}
                    for name in names
                },
            }
            for function, tests in test.tests.items()
        ],
        "survivors": [_entry(survivor) for survivor in test.survivors],
        "stale_explanations": [_entry(survivor) for survivor in test.stale],
        "blind_functions": test.blind_functions,
        "failing": [{"function": f, "test": t, "reason": why} for (f, t), why in test.failing.items()],
        "skipped": [{"function": f, "test": t, "reason": why} for (f, t), why in test.skipped.items()],
    }


def _by_function(test: MutationTest) -> Table:
    table = _table("function", "tests", "noticed")
    noticed, applicable = _totals(test.noticed, 0), _totals(test.applicable, 0)
    for function, tests in test.tests.items():
        name = Text(escape_control(function), overflow="fold")
        table.add_row(name, str(tests), _cell(noticed[function], applicable[function]))
    return table


def _by_mutant(test: MutationTest) -> Table:
    table = _table("mutant", "noticed")
    noticed, applicable = _totals(test.noticed, 1), _totals(test.applicable, 1)
    for mutant in applicable:
        table.add_row(mutant, _cell(noticed[mutant], applicable[mutant]))
    return table


def _by_class(test: MutationTest) -> Table:
    table = _table("class", "in tests", "%", "of functions", "%")
    for name, found in [*test.by_class.items(), ("all", test.of_all_classes)]:
        row: list[str | Text] = [name]
        for noticed, applicable in ((found.tests, found.of_tests), (found.functions, found.of_functions)):
            row += [_cell(noticed, applicable), f"{100 * noticed / applicable:.1f}" if applicable else ""]
        table.add_row(*row)
    return table


def _table(name: str, *figures: str) -> Table:
    table = Table(box=SIMPLE_HEAD)
    table.add_column(name)
    for heading in figures:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _totals(counts: Counter[tuple[str, str]], part: int) -> Counter[str]:
    """Sums by function (part 0) or by mutant (part 1)."""
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


def _with_reason(survivors: Iterable[Survivor]) -> Iterator[str]:
    return (f"{_line(survivor)}: {survivor.reason}" for survivor in survivors if survivor.reason)


def reasons(tests: Iterable[tuple[TestKey, str]]) -> Iterator[str]:
    """A line for each test with its reason."""
    return (f"{function} {test}: {shortened(why, 200)}" for (function, test), why in tests)


def _not_for_time(test: MutationTest) -> Iterator[tuple[TestKey, str]]:
    return ((key, why) for key, why in test.skipped.items() if not why.startswith(NOT_TRIED))


def _entry(survivor: Survivor) -> dict[str, str | None]:
    return {
        "function": survivor.function,
        "test": survivor.test,
        "mutant": survivor.mutant,
        "reason": survivor.reason or None,
    }

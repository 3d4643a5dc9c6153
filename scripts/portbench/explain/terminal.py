"""Prints the explanation of one function on the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from portbench.devices import PREDICTED_DEVICES, PREDICTED_MARK
from portbench.explain.evidence import Explanation, TargetEvidence, TestEvidence
from portbench.explain.reproducer import Reproducer, not_repeatable
from portbench.explain.texts import environment, evidence, trimmed
from portbench.study.model import status_text
from portbench.util.format import NOTHING, in_ms, in_us
from portbench.util.text import counts, escape_control, shortened

_COLOURS = {
    "error": "red",
    "passed": "green",
    "flaky": "yellow",
    "failed": "red",
    "skipped": "bright_black",
    "unknown": "",
}
_MOST_TESTS = 5
_OUTPUT_LINES = 10
_FIRST_LINES = 3
_SHORT = 500


def print_explanation(explanation: Explanation, repro: Reproducer | None, in_full: bool, console: Console) -> None:
    """Prints each target: status, tests, evidence of failures, environment; then the command that repeats a test if
    there is one.

    ``in_full`` adds tracebacks and output; it is meant for a single test.
    """
    for entry in explanation.targets:
        _print_target(entry, in_full, console)
    console.print(Rule(style="bright_black"))
    if repro is None:
        target, test = explanation.worst
        console.print(Text(escape_control(not_repeatable(target.run_of(test)))))
        return
    where = f"{repro.evidence.target} on {repro.evidence.machine}"
    console.print(Text(escape_control(f"To run {repro.test.id} of {where} again, alone, in a clone of portbench:")))
    # Not wrapped, so that it can be copied.
    console.print(Text(f"  {escape_control(repro.command)}", "bold"), soft_wrap=True)
    for note in repro.notes:
        console.print(Text(f"  {escape_control(note)}", "bright_black"), soft_wrap=True)


def _print_target(entry: TargetEvidence, in_full: bool, console: Console) -> None:
    sync = ", synchronized as published" if entry.sync == "as-published" else ""
    predicted = PREDICTED_MARK if entry.target.device in PREDICTED_DEVICES else ""
    instead = f" (in place of {entry.successor_of})" if entry.successor_of else ""
    title = Text.assemble(
        (escape_control(entry.function + instead), "bold"),
        escape_control(f" on {entry.target}{predicted}, {entry.machine}{sync}: "),
        (status_text(entry.status, _categories(entry)), "bold"),
    )
    console.print(Rule(title, align="left", style="bright_black"))
    console.print(_tests(entry.tests))
    console.print()
    failing = [test for test in entry.tests if in_full or test.verdict in ("error", "failed", "flaky")]
    for test in failing if in_full else failing[:_MOST_TESTS]:
        _print_test(test, in_full, console)
    if not in_full and failing[_MOST_TESTS:]:
        console.print(Text(f"{len(failing) - _MOST_TESTS} more did not pass; --test ID shows one\n", "bright_black"))
    _print_pairs(((word, text) for word, text in environment(entry) if text), console, "bright_black")
    console.print()


def _categories(entry: TargetEvidence) -> set[str]:
    return {result["category"] for test in entry.tests for result in test.results if result["category"]}


def _tests(tests: Sequence[TestEvidence]) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("test", overflow="fold")
    for name in ("runs", "category", "ran on"):
        table.add_column(name)
    for name in ("first call ms", "steady state µs", "samples"):
        table.add_column(name, justify="right", no_wrap=True)
    for test in tests:
        times = test.times or {}
        row = test.representative
        table.add_row(
            Text(escape_control(shortened(test.id, 200))),
            Text(
                counts(Counter(result["outcome"] or "outcome not known" for result in test.results)),
                _COLOURS[test.verdict],
            ),
            (row["category"] or NOTHING).replace("_", " "),
            row["placement"] if row["outcome"] != "skipped" else NOTHING,
            in_ms(times.get("cold_median_ns")),
            in_us(times.get("steady_median_ns")),
            f"{times['cold_samples']} + {times['steady_samples']}" if times else NOTHING,
        )
    return table


def _print_test(test: TestEvidence, in_full: bool, console: Console) -> None:
    row = test.representative
    console.print(
        Text.assemble(
            (escape_control(test.id), "bold"),
            f"  {(row['outcome'] or 'outcome not known').replace('_', ' ')} in run {row['run']}",
        )
    )
    _print_pairs(evidence(row), console, most_lines=1000 if in_full else _FIRST_LINES)
    if in_full:
        for title, text in (("traceback", trimmed(row["error_traceback"] or "")), ("printed", row["output_text"])):
            lines = text.strip().splitlines()
            shown = lines[-_OUTPUT_LINES:] if title == "printed" else lines
            if lines:
                console.print(Text(f"  {title}" + (", the last lines" if shown != lines else "")))
            for line in shown:
                console.print(Text(f"    {escape_control(line.expandtabs())}", "bright_black"), soft_wrap=True)
    console.print()


def _print_pairs(pairs: Iterable[tuple[str, str]], console: Console, style: str = "", most_lines: int = 1000) -> None:
    for name, whole in pairs:
        lines = [escape_control(line) for line in whole.expandtabs().strip().splitlines()] or [""]
        for position, line in enumerate(lines[:most_lines]):
            text = line if most_lines > _FIRST_LINES else shortened(line, _SHORT)
            console.print(Text(f"  {'' if position else name:<14}  {text}", style), soft_wrap=True)

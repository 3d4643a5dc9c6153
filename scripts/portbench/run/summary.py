"""The end of a run: the tests that failed with a line each, the counts of each target, and what to type next."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from portbench.run.failures import FailedTest
from portbench.run.model import SCALING, RunOptions, TargetResult
from portbench.util.text import counts, duration, escape_control, pluralize, shortened

MOST_TESTS = 20
_STYLES = {"failed": "red", "error": "bold red", "crashed": "red", "timed_out": "magenta"}

FailedTests = Mapping[str, Sequence[FailedTest]]
"""The failed tests of each planned target."""


def print_summary(results: Sequence[TargetResult], failed: FailedTests, options: RunOptions, console: Console) -> None:
    """Prints the end of a run. A target whose run file is missing has an exit status instead of counts."""
    for result in results:
        _print_failed(result, failed.get(result.planned, ()), console)
    for result in results:
        console.print(_counts(result), soft_wrap=True)
    next_commands = _next_commands(results, failed, options)
    if next_commands:
        console.print(Text("\nNext:"))
    for command, purpose in next_commands:
        console.print(Text.assemble(f"  {command}  ", (f"# {purpose}", "bright_black")), soft_wrap=True)


def _print_failed(result: TargetResult, tests: Sequence[FailedTest], console: Console) -> None:
    if not tests:
        return
    mistakes = sum(test.outcome == "error" for test in tests)
    of_manifest = f", {mistakes} of them by a mistake in the manifest (error)" if mistakes else ""
    title = f"{result.target}: {pluralize(len(tests), 'test')} did not pass{of_manifest}"
    console.print(Text(escape_control(title), "bold"), soft_wrap=True)
    for test in tests[:MOST_TESTS]:
        outcome = (test.outcome.replace("_", " "), _STYLES.get(test.outcome, "red"))
        what = escape_control(f"  {test.function}::{test.test}: {shortened(test.message, 160)}")
        console.print(Text.assemble("  ", outcome, what), soft_wrap=True)
    if tests[MOST_TESTS:]:
        more = f"  and {len(tests) - MOST_TESTS} more: portbench explain {_short(result.run_file)} FUNCTION"
        console.print(Text(escape_control(more)), soft_wrap=True)
    console.print()


def _counts(result: TargetResult) -> Text:
    took = f"({duration(result.seconds)})"
    if result.error:
        text = f"{result.target}: exit status {result.exit_status} {took}"
    elif result.outcomes:
        text = f"{result.target}: {counts(result.outcomes)}{_disturbed(result)}; {_files(result)} {took}"
    else:
        text = f"{result.target}: was complete already; {_files(result)} {took}"
    return Text(escape_control(text))


def _files(result: TargetResult) -> str:
    return _short(result.run_file) + (f", copied to {result.copy}" if result.copy else "")


def _disturbed(result: TargetResult) -> str:
    return f" ({result.disturbed} disturbed from outside, the last try counts)" if result.disturbed else ""


def _next_commands(results: Sequence[TargetResult], failed: FailedTests, options: RunOptions) -> list[tuple[str, str]]:
    """Commands with their purposes: for the first target with a failure, and for the results as a whole."""
    if options.runner.protocol == SCALING:
        argv = ["portbench", "scaling", _short(Path(options.out))]
        return [(shlex.join(argv), "time against size")] if any(result.run_file for result in results) else []
    found = []
    for result in results:
        tests = failed.get(result.planned, ())
        if result.run_file and tests:
            path, target = _short(result.run_file), _name(result)
            explain = shlex.join(["portbench", "explain", path, tests[0].function, "--test", tests[0].test])
            found.append((explain, "why it failed"))
            found.append((options.command_for_failed(target, path), "run what failed"))
            break
    if any(result.run_file for result in results):
        found.append((shlex.join(["portbench", "report", _short(Path(options.out))]), "all results in this folder"))
    return found


def _name(result: TargetResult) -> str:
    """The target for a command line. A version that is not in images/ cannot be named there."""
    framework, _, device = result.planned.split("-", 2)
    return result.planned if result.planned == result.target else f"{framework}-{device}"


def _short(path: Path | None) -> str:
    """A path as a user in the working folder would type it."""
    if path is None:
        return ""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)

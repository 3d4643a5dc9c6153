"""Shows a scan on the terminal and as data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console

from portbench.record.scan import VERDICTS, Called, Scan
from portbench.util.console import dim, heading, safe_text
from portbench.util.text import pluralize

SEES_LESS = (
    "A scan reads source only: no methods of tensors, nothing that libraries call, no arguments. 'portbench record' "
    "sees what a program calls."
)

_SAID = {
    "all_pass": "all tests pass",
    "host": "all tests pass, partly on the host",
    "some_fail": "some tests fail",
    "all_fail": "all tests fail",
    "unknown": "not in the study",
}
_MOST_FUNCTIONS = 20
_MOST_SITES = 3
_INDENT = " " * 11


def as_data(found: Scan) -> dict[str, Any]:
    """The scan as JSON data."""
    return {
        "target": found.target,
        "files": found.files,
        "broken": list(found.broken),
        "functions": [_function(called) for called in found.functions],
    }


def _function(called: Called) -> dict[str, Any]:
    status = called.status
    return {
        "function": called.function,
        "verdict": called.verdict,
        "passed": status.passed if status else None,
        "tests": status.tests if status else None,
        "cause": status.cause if status else "",
        "host_operations": list(status.host_operations) if status else [],
        "sites": called.sites,
    }


def print_scan(found: Scan, console: Console) -> None:
    """One line, the functions that may fail, and those that the study does not know."""
    console.print(heading(headline(found)), soft_wrap=True)
    doubtful = [each for each in found.functions if each.verdict not in ("all_pass", "unknown")]
    for called in doubtful[:_MOST_FUNCTIONS]:
        for line in _lines(called):
            console.print(line, soft_wrap=True)
    if len(doubtful) > _MOST_FUNCTIONS:
        console.print(dim(f"  and {len(doubtful) - _MOST_FUNCTIONS} more: --json has all"))
    unknown = found.with_verdict("unknown")
    if unknown:
        more = f" and {len(unknown) - _MOST_FUNCTIONS} more" if len(unknown) > _MOST_FUNCTIONS else ""
        names = ", ".join(each.function for each in unknown[:_MOST_FUNCTIONS])
        console.print(safe_text(f"not in the study: {names}{more}", 2000), soft_wrap=True)
    if found.broken:
        files = ", ".join(found.broken[:_MOST_SITES])
        said = f"{pluralize(len(found.broken), 'file')} left out, no valid Python 3: {files}"
        console.print(safe_text(said, 1000), soft_wrap=True)
    console.print(dim(SEES_LESS), soft_wrap=True)


def headline(found: Scan) -> str:
    """``torch-2.9.0-tpu-v5e: 9 functions are called in 3 files; 6: all tests pass; 1: some tests fail; ...``."""
    counts = {name: len(found.with_verdict(name)) for name in VERDICTS}
    files = pluralize(found.files, "file")
    parts = [f"{_SAID[name]}: {count}" for name, count in counts.items() if count]
    calls = pluralize(len(found.functions), "function")
    return "; ".join([f"{found.target}: {calls} called in {files}", *parts])


def _lines(called: Called) -> Iterator[Any]:
    status = called.status
    assert status is not None
    passed = f"{status.passed} of {pluralize(status.tests, 'test')} pass"
    mark = ", predicted" if status.predicted else ""
    yield safe_text(f"  {called.verdict.replace('_', ' '):9}{called.function}  ({passed}{mark})", 300)
    why = status.cause or ", ".join(status.host_operations[:5])
    if why:
        yield safe_text(_INDENT + why, 200)
    more = f" and {len(called.sites) - _MOST_SITES} more" if len(called.sites) > _MOST_SITES else ""
    yield dim(safe_text(f"{_INDENT}at {', '.join(called.sites[:_MOST_SITES])}{more}", 400).plain)

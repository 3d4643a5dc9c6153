"""Shows verdicts on the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console

from portbench.record.model import Finding, TargetVerdict, Verdict
from portbench.record.sentences import caveats, headline, program_line, share, version_note
from portbench.util.console import dim, heading, safe_text

_MOST_FUNCTIONS = 20
_INDENT = " " * 11


def print_verdicts(verdicts: Sequence[Verdict], console: Console) -> None:
    """For each target one line, then its functions that do not simply run: share, places in the program, message, what
    could be done."""
    for verdict in verdicts:
        for place, target in enumerate(verdict.targets):
            if place:
                console.print()
            console.print(heading(headline(verdict, target)), soft_wrap=True)
            if note := version_note(verdict, target):
                console.print(safe_text(f"  {note}"), soft_wrap=True)
            for line in (*_functions(verdict, target), *_programs(target)):
                console.print(line, soft_wrap=True)
        if not verdict.targets:
            console.print(heading(f"{verdict.framework}: no run file of {verdict.manifest.path.name}"), soft_wrap=True)
        for sentence in caveats(verdict):
            console.print(safe_text(sentence, 500), soft_wrap=True)


def _functions(verdict: Verdict, target: TargetVerdict) -> Iterator[Any]:
    for finding in target.findings[:_MOST_FUNCTIONS]:
        yield safe_text(f"  {finding.verdict:8} {finding.function}  ({share(finding, verdict)})", 300)
        yield from _details(finding)
    if len(target.findings) > _MOST_FUNCTIONS:
        yield dim(f"  and {len(target.findings) - _MOST_FUNCTIONS} more: --json and -o have all")


def _programs(target: TargetVerdict) -> Iterator[Any]:
    if target.programs:
        yield safe_text("  Compiled as a whole:")
    for program in target.programs:
        yield safe_text(f"  {program.verdict:8} {program_line(program)}", 300)
        if program.message:
            yield safe_text(_INDENT + " ".join(program.message.split()), 200)


def _details(finding: Finding) -> Iterator[Any]:
    if finding.message:
        yield safe_text(_INDENT + " ".join(finding.message.split()), 200)
    if finding.sites:
        more = f" and {len(finding.sites) - 3} more" if len(finding.sites) > 3 else ""
        yield dim(safe_text(f"{_INDENT}at {', '.join(finding.sites[:3])}{more}", 400).plain)
    for advice in finding.advice:
        yield safe_text(f"{_INDENT}instead: {advice.sentence}", 400)

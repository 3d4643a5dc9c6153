"""What happened to each function between two sides: it broke, was fixed, was removed, or was added."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import duckdb

from portbench.analysis.configurations import Configuration
from portbench.compare.outcomes import Outcomes
from portbench.study.model import REMOVED, STATUS_TEXTS, status_text

BROKE, FIXED, ADDED = "broke", "fixed", "added"
KINDS = (BROKE, FIXED, REMOVED, ADDED)
"""What can happen to a function: fewer of its tests pass, more of them pass, the version does not have it any more, or
it is there for the first time."""

ABSENT = "not tested"
"""The status of a function on a side that ran no test of it."""

_RANKS = ("all_pass", "some_fail", "all_fail")


@dataclass(frozen=True)
class FunctionEvent:
    """What happened to a function. ``before`` and ``after`` are statuses as they are shown; of one that broke or was
    fixed over the tests that ran on both sides. ``tests`` are those that changed, ``evidence`` is the first message."""

    function: str
    kind: str
    before: str
    after: str
    tests: tuple[str, ...] = ()
    evidence: str = ""


def function_events(outcomes: Outcomes, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[FunctionEvent]:
    """What happened to the functions of two sides. ``before`` and ``after``: the statuses of all functions of each
    side, as they are shown, by ``function_name``."""
    for change in outcomes.functions:
        kind = FIXED if _RANKS.index(change.after) < _RANKS.index(change.before) else BROKE
        tests, evidence = _evidence(outcomes, change.function, change.successor_of, kind)
        texts = STATUS_TEXTS[change.before], STATUS_TEXTS[change.after]
        yield FunctionEvent(function_name(change.function, change.successor_of), kind, *texts, tests, evidence)
    for name in sorted(after):
        statuses = before.get(name, ABSENT), after[name]
        if statuses[0] == ABSENT and statuses[1] != REMOVED and not is_successor(name):
            yield FunctionEvent(name, ADDED, *statuses)
        elif statuses[0] != statuses[1] and REMOVED in statuses and ABSENT not in statuses:
            yield FunctionEvent(name, REMOVED if statuses[1] == REMOVED else ADDED, *statuses)


def function_statuses(connection: duckdb.DuckDBPyConnection, side: Configuration) -> dict[str, str]:
    """The status of each function of a side, as it is shown. ``connection`` has the views of the analysis."""
    query = """
        SELECT function, successor_of, status, coalesce(bool_or(seen = 'removed'), false)
        FROM functions
        LEFT JOIN categories USING (framework, version, device, machine, sync, function, successor_of)
        WHERE (framework, version, device, machine, sync) = (?, ?, ?, ?, ?)
        GROUP BY ALL
    """
    rows = connection.execute(query, side.key).fetchall()
    return {
        function_name(function, former): status_text(status, [REMOVED] if is_removed else [])
        for function, former, status, is_removed in rows
    }


def function_name(function: str, former: str) -> str:
    """A function, or a successor with the function that it replaces: ``new (for old)``."""
    return f"{function} (for {former})" if former else function


def is_successor(name: str) -> bool:
    """Whether ``function_name`` gave this name to a successor, which is tried only where a function was removed."""
    return " (for " in name


def _evidence(outcomes: Outcomes, function: str, former: str, kind: str) -> tuple[tuple[str, ...], str]:
    """The tests of a function that changed, and the first message."""
    changed = outcomes.new_failures if kind == BROKE else outcomes.new_passes
    own = [each for each in changed if (each.key.function, each.key.successor_of) == (function, former)]
    return tuple(each.key.test for each in own), next((each.evidence for each in own if each.evidence), "")

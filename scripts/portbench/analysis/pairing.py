"""Pairs the tests of two configurations of a study; sql/pairs.sql has the rules."""

from __future__ import annotations

import sys
from typing import Any

import duckdb

from portbench.analysis.configurations import Configuration
from portbench.analysis.exclusions import Excluded
from portbench.util.sql import load_sql
from portbench.util.text import shortened

_LONGEST_REASON = 200
_STATES = {
    "not recorded": "not recorded",
    "skipped": "skipped",
    "error": "an error of the manifest",
    "unknown": "of unknown outcome",
    "failed": "failed",
    "flaky": "failed in some runs",
    "not timed": "not timed",
    "not timed in every run": "not timed in every run",
    "unproven": "not timed, since the synchronization check failed,",
}

_Why = tuple[Any, ...]
"""State and reason on the first configuration, then on the second; None where the test is not excluded there."""


def pair(connection: duckdb.DuckDBPyConnection, first: Configuration, second: Configuration) -> None:
    """Creates the table of sql/pairs.sql for two configurations, if it is not that of these two already, and the views
    on it."""
    sides = [first.as_dict(), second.as_dict()]
    if connection.sql("SELECT getvariable('paired')").fetchone() == (sides,):
        return
    connection.execute(load_sql("analysis", "test_facts"))
    connection.execute(f"SET VARIABLE paired = [{first.literal}, {second.literal}]")
    connection.execute(load_sql("analysis", "pairs"))
    connection.execute(load_sql("analysis", "pair_views"))


def pair_exclusions(
    connection: duckdb.DuckDBPyConnection, view: str, first: Configuration, second: Configuration
) -> tuple[Excluded, ...]:
    """The rows of view "not_shared", "not_timed_cold" or "not_timed_steady" of sql/pair_views.sql, with the reasons as
    sentences; sorted."""
    found: dict[tuple[str, str], int] = {}
    reasons: dict[_Why, str] = {}
    query = f"SELECT function, first_state, first_reason, second_state, second_reason, tests FROM {view}"
    for function, *states, tests in connection.sql(query).fetchall():
        why: _Why = tuple(states)
        # Many tests are excluded for one reason: its sentence is made once.
        if why not in reasons:
            reasons[why] = _reason(why, first, second)
        key = sys.intern(function), reasons[why]
        found[key] = found.get(key, 0) + tests
    return tuple(sorted(Excluded(function, reason, tests) for (function, reason), tests in found.items()))


def _reason(why: _Why, first: Configuration, second: Configuration) -> str:
    first_state, first_reason, second_state, second_reason = why
    states = [
        (_STATES[state], reason, side)
        for state, reason, side in ((first_state, first_reason, first), (second_state, second_reason, second))
        if state
    ]
    if len(states) == 2 and states[0][:2] == states[1][:2]:
        return _sentence(*states[0][:2], f"{first} and on {second}")
    return "; ".join(_sentence(state, reason, str(side)) for state, reason, side in states)


def _sentence(state: str, reason: str | None, where: str) -> str:
    return f"{state} on {where}" + (f" ({shortened(reason, _LONGEST_REASON)})" if reason else "")

"""What a study holds of devices that were not there: how each was foretold, of how many tests, and with which figures.

Needs the views of ``portbench.analysis.analyse``. Text out of run files is in it: printers escape it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import duckdb

from portbench.analysis.configurations import Configuration, predicted_sides
from portbench.study.summary import Row, fetch_dicts
from portbench.util.sql import load_sql

HOW_PREDICTED = (
    "These devices were not there, and nothing ran on them: success means that every call was accepted by what knows "
    "the device, such as its compiler. Values, run-time errors and times are not known; tests of which nothing can be "
    "foretold are left out, as skipped ones are."
)
LOWER_BOUND = (
    "Figures are those of the test with the greatest, over all of its timed calls, as the compiler tells them. "
    "at least: the roofline, operations over peak rate or bytes over bandwidth, whichever is more; a lower bound of "
    "the time, not measured."
)


@dataclass(frozen=True)
class Foretold:
    """A predicted side. ``by`` names what knows the device: ways such as "compiled", compilers and topologies.

    ``tests`` counts accepted, refused and unknown ones; ``reasons`` says in how many tests what kept a prediction from
    being made, the most frequent first; ``functions`` has the figures of each, by name and what it is successor of
    ('': nothing)."""

    side: Configuration
    by: tuple[str, ...]
    tests: Mapping[str, int]
    reasons: Mapping[str, int]
    functions: Mapping[tuple[str, str], Row]


def foretold(connection: duckdb.DuckDBPyConnection) -> tuple[Foretold, ...]:
    """What was foretold on each predicted side, the sides sorted."""
    connection.execute(load_sql("analysis", "predictions"))
    ways: dict[Configuration, dict[str, None]] = {}
    for row in fetch_dicts(connection, "FROM foretold_runs ORDER BY ALL"):
        ways.setdefault(_side(row), {})[by(row["prediction"])] = None
    functions: dict[Configuration, dict[tuple[str, str], Row]] = {}
    for row in fetch_dicts(connection, "FROM foretold_functions ORDER BY ALL"):
        functions.setdefault(_side(row), {})[row["function"], row["successor_of"]] = row
    reasons: dict[Configuration, dict[str, int]] = {}
    unknown = "SELECT * EXCLUDE (foretold), 1 AS tests FROM foretold_tests WHERE foretold = 'unknown'"
    for row in fetch_dicts(connection, unknown):
        counts = reasons.setdefault(_side(row), {})
        kind = kind_of_reason(row["reason"] or "")
        counts[kind] = counts.get(kind, 0) + 1
    return tuple(
        Foretold(
            side=side,
            by=tuple(ways.get(side, ())),
            tests={
                name: sum(row[name] for row in functions.get(side, {}).values())
                for name in ("accepted", "refused", "unknown")
            },
            reasons=dict(sorted(reasons.get(side, {}).items(), key=lambda found: (-found[1], found[0]))),
            functions=functions.get(side, {}),
        )
        for side in predicted_sides(connection)
    )


def by(about: Mapping[str, Any]) -> str:
    """What a prediction was made with, from a run file's: ``compiled by libtpu 0.0.42.1 for v3:2x2``."""
    compiler = f" by {about['compiler']}" if about["compiler"] else ""
    topology = f" for {about['topology']}" if about["topology"] else ""
    return f"{about['kind']}{compiler}{topology}"


def kind_of_reason(reason: str) -> str:
    """What reasons have in common: the sentence, and the error that it ends with but not what that one says."""
    sentence, _, rest = reason.partition(": ")
    error = rest.partition(":")[0]
    return f"{sentence}: {error}" if error and " " not in error else sentence


def _side(row: Row) -> Configuration:
    return Configuration(*(row[name] for name in ("framework", "version", "device", "machine", "sync")))

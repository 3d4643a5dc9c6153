"""What a study holds of predicted devices: what made each prediction, of how many tests, and with which figures.

Needs the views of ``portbench.study.summary.analyse``. Its text comes out of run files: printers escape it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import duckdb

from portbench.analysis.configurations import Configuration, predicted_sides
from portbench.study.summary import fetch_dicts
from portbench.util.sql import load_sql

HOW_PREDICTED = (
    "These devices were not there, and nothing ran on them: a test passes if every call was accepted by what knows the "
    "device, such as its compiler. Values, run-time errors and times are not known; tests that cannot be predicted are "
    "left out, as skipped ones are."
)
LOWER_BOUND = (
    "Figures are those of the test with the greatest, over all of its timed calls, as the compiler reports them. "
    "at least: the roofline, operations over peak rate or bytes over bandwidth, whichever is more; a lower bound of "
    "the time, not measured."
)

VERDICTS = ("accepted", "refused", "unknown")
"""What a prediction says of a test."""


@dataclass(frozen=True)
class PredictedFunction:
    """The tests of a function by verdict, and its figures, each None where the compiler reports none: ``compile_ns`` is
    the sum over tests, the others are the greatest of a test."""

    accepted: int
    refused: int
    unknown: int
    compile_ns: float | None
    flops: float | None
    bytes: float | None
    memory_bytes: float | None
    roofline_ns: float | None


@dataclass(frozen=True)
class PredictedTarget:
    """A predicted configuration. ``sources`` name what knows the device: ways such as "compiled", compilers and
    topologies.

    ``tests`` counts them by VERDICTS; ``reasons`` counts the tests that could not be predicted by reason, the most
    frequent first; ``functions`` has the figures of each, by name and what it is successor of ('': nothing)."""

    side: Configuration
    sources: tuple[str, ...]
    tests: Mapping[str, int]
    reasons: Mapping[str, int]
    functions: Mapping[tuple[str, str], PredictedFunction]


def read_predictions(connection: duckdb.DuckDBPyConnection) -> tuple[PredictedTarget, ...]:
    """What was predicted for each predicted configuration, these sorted."""
    connection.execute(load_sql("analysis", "predictions"))
    sources: dict[Configuration, dict[str, None]] = {}
    for row in fetch_dicts(connection, "FROM predicted_runs ORDER BY ALL"):
        sources.setdefault(Configuration.of(row), {})[prediction_source(row["prediction"])] = None
    functions: dict[Configuration, dict[tuple[str, str], PredictedFunction]] = {}
    for row in fetch_dicts(connection, "FROM predicted_functions ORDER BY ALL"):
        found = PredictedFunction(**{field.name: row[field.name] for field in fields(PredictedFunction)})
        functions.setdefault(Configuration.of(row), {})[row["function"], row["successor_of"]] = found
    reasons: dict[Configuration, dict[str, int]] = {}
    for row in fetch_dicts(connection, "FROM predicted_tests WHERE verdict = 'unknown'"):
        counts = reasons.setdefault(Configuration.of(row), {})
        kind = kind_of_reason(row["reason"] or "")
        counts[kind] = counts.get(kind, 0) + 1
    return tuple(
        PredictedTarget(
            side=side,
            sources=tuple(sources.get(side, ())),
            tests={name: sum(getattr(found, name) for found in functions.get(side, {}).values()) for name in VERDICTS},
            reasons=dict(sorted(reasons.get(side, {}).items(), key=lambda found: (-found[1], found[0]))),
            functions=functions.get(side, {}),
        )
        for side in predicted_sides(connection)
    )


def prediction_source(about: Mapping[str, Any]) -> str:
    """What made a prediction, from a run file's "prediction": ``compiled by libtpu 0.0.42.1 for v3:2x2``."""
    compiler = f" by {about['compiler']}" if about["compiler"] else ""
    topology = f" for {about['topology']}" if about["topology"] else ""
    return f"{about['kind']}{compiler}{topology}"


def kind_of_reason(reason: str) -> str:
    """What reasons have in common: the sentence, and the type of the error that it ends with, without its message."""
    sentence, _, rest = reason.partition(": ")
    error = rest.partition(":")[0]
    return f"{sentence}: {error}" if error and " " not in error else sentence

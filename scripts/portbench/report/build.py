"""Builds a report of a study: decides what it shows and in which order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from portbench.analysis.configurations import Configuration
from portbench.analysis.predictions import HOW_PREDICTED, PredictedFunction
from portbench.analysis.results import Predictions, compute_predictions
from portbench.devices import PREDICTED_DEVICES, PREDICTED_MARK
from portbench.report import cold_start, environment, failures, placement, synchronization
from portbench.report.model import Function, Report, TargetReport
from portbench.report.predictions import prediction_sections
from portbench.study.model import TargetKey
from portbench.study.open import Analysed
from portbench.study.summary import Row, fetch_dicts
from portbench.util.format import NOTHING
from portbench.util.section import Section
from portbench.util.sql import load_sql

HOW_STATUSES = (
    "Percentages are over the functions of which some test ran, by their tests that passed in every run: all pass, "
    "some fail, all fail. 'not testable' counts the functions of which no test ran. A successor is tried where a "
    "version lacks a function, and does not count."
)
HOW_RATES = f"{HOW_STATUSES} wrong: functions of which a test gave wrong values."
HOW_TIMES = (
    "first call: mean of all first calls, waiting included, over all runs of the passing tests (as published). "
    "steady state: median over the passing tests of the median time of a call after the warm-up."
)

Causes = Mapping[tuple[str, ...], Sequence[Row]]
"""The evidence of failing tests by target and function, the most frequent first."""
Predicted = Mapping[tuple[str, str, str, str, str], Mapping[tuple[str, str], PredictedFunction]]
"""The predicted figures of each predicted target, by function and what it is successor of."""


def build_report(study: Analysed, headlines: Sequence[str] = (), predictions: Predictions | None = None) -> Report:
    """The report of a study. ``predictions``: those of the study, where they were computed already."""
    summary = study.summary
    found = compute_predictions(study.connection) if predictions is None else predictions
    times = fetch_dicts(study.connection, load_sql("report", "synchronization"))
    contaminated = fetch_dicts(study.connection, load_sql("report", "contaminated"))
    complete = [entry for entry in summary["targets"] if entry["sync"] == "complete"]
    as_published = [entry for entry in summary["targets"] if entry["sync"] == "as-published"]
    known = [(entry["target"], entry["machine"]) for entry in complete]
    entries = [*complete, *(entry for entry in as_published if (entry["target"], entry["machine"]) not in known)]
    causes = _causes(study)
    predicted = {one.side.key: one.functions for one in found.targets}
    targets = tuple(_target(entry, causes, bool(summary["strict_placement"]), predicted) for entry in entries)
    sections = (
        *_all_rates(targets, found),
        *environment.drift_sections(summary),
        *synchronization.failed_checks(entries),
        *cold_start.target_breakdown(entries),
        *synchronization.comparison(complete, as_published, times),
        *failures.by_cause(summary),
        *failures.overruled(summary),
        *failures.contaminated(contaminated),
    )
    return Report(summary, tuple(headlines), sections, targets)


def _causes(study: Analysed) -> Causes:
    causes: dict[tuple[str, ...], list[Row]] = {}
    for row in fetch_dicts(study.connection, load_sql("report", "evidence")):
        causes.setdefault((*TargetKey.of_row(row), row["function"], row["successor_of"]), []).append(row)
    return causes


def _rates(targets: Sequence[TargetReport]) -> Section:
    """The rates of all targets; a dash where there is none."""
    rows = []
    for target in targets:
        rates = target.percent and [f"{target.percent[status]:.1f}" for status in ("all_pass", "some_fail", "all_fail")]
        counts = [str(sum(target.counts.values())), str(target.counts["not_testable"])]
        wrong = NOTHING if target.wrong is None else str(target.wrong)
        rows.append((target.target, target.machine, *(rates or [NOTHING] * 3), *counts, wrong))
    numbers = ("all pass", "some fail", "all fail", "total", "not testable", "wrong")
    note = f"{HOW_RATES}\n\n{HOW_TIMES}"
    return Section("Percent of functions", ("target", "machine"), numbers, (), tuple(rows), note)


def _all_rates(targets: Sequence[TargetReport], found: Predictions) -> Iterator[Section]:
    """The rates of what was measured and, apart from them, of what was predicted, and their comparison."""
    measured = [target for target in targets if not target.is_predicted]
    predicted = [target for target in targets if target.is_predicted]
    if measured or not predicted:
        yield _rates(measured)
    if predicted:
        rates = _rates(predicted)
        # Values are never predicted.
        yield replace(
            rates,
            title="Percent of functions, predicted",
            numbers=rates.numbers[:-1],
            rows=tuple(row[:-1] for row in rates.rows),
            note=f"{HOW_PREDICTED} {HOW_STATUSES}",
        )
    yield from prediction_sections(found)


def _target(entry: Row, causes: Causes, strict: bool, predicted: Predicted) -> TargetReport:
    functions = [(_named(function), function) for function in entry["functions"]]
    failing = [found for found in functions if found[1]["status"] in ("some_fail", "all_fail")]
    failing.sort(key=lambda found: (found[1]["status"], found[0]))
    key = TargetKey.of_entry(entry)
    side = Configuration(*key)
    is_cpu, is_predicted = side.device == "cpu", side.device in PREDICTED_DEVICES
    has_checks = any(function["tests_by_value_verdict"] for _, function in functions)
    own = [function for _, function in functions if function["successor_of"] is None]
    own_figures = predicted.get(side.key, {})
    return TargetReport(
        target=str(side.target)
        + (f" ({side.synchronization})" if side.synchronization else "")
        + (PREDICTED_MARK if is_predicted else ""),
        machine=side.machine,
        is_cpu=is_cpu,
        is_predicted=is_predicted,
        percent=entry["percent_of_rated_functions"],
        counts=entry["functions_by_status"],
        wrong=sum(bool(function["wrong_values"]) for function in own) if has_checks else None,
        functions=tuple(
            _function(name, function, own_figures.get((function["name"], function["successor_of"] or "")))
            for name, function in functions
        ),
        failures=tuple(
            failures.failure(name, function, causes[place])
            for name, function in failing
            if (place := (*key, function["name"], function["successor_of"] or "")) in causes
        ),
        blame=failures.blamed([function for _, function in functions]),
        before=tuple(failures.wrong_values(functions)),
        after=(
            *failures.flaky(functions),
            *failures.precision(functions),
            *failures.gaps(functions),
            *failures.missing(entry),
            *(() if is_cpu else placement.fallbacks(functions, strict)),
            *cold_start.function_breakdown(functions),
        ),
    )


def _function(name: str, function: Row, prediction: PredictedFunction | None) -> Function:
    tests = function["tests_by_verdict"]
    return Function(
        name=name,
        status=function["status"],
        passed=tests["passed"],
        ran=tests["passed"] + tests["failed"] + tests["flaky"],
        flaky=tests["flaky"],
        ran_on=placement.ran_on(function),
        cold_mean_ns=function["cold_mean_ns"],
        steady_median_ns=function["steady_median_ns"],
        prediction=prediction,
    )


def _named(function: Row) -> str:
    former = function.get("successor_of")
    return f"{function['name']} (successor of {former})" if former else str(function["name"])

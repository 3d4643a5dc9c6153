"""Builds a report of a study: decides what it shows and in which order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from portbench.analysis.causes import Cause
from portbench.analysis.causes import causes as compute_causes
from portbench.analysis.configurations import Configuration
from portbench.analysis.paper_cells import PaperCell
from portbench.analysis.predictions import HOW_PREDICTED, PredictedFunction
from portbench.analysis.rate_model import Rates
from portbench.analysis.rates import rates as compute_rates
from portbench.analysis.results import Predictions, compute_predictions, is_collected
from portbench.analysis.timeline import Timeline
from portbench.devices import PREDICTED_DEVICES, PREDICTED_MARK
from portbench.report import cold_start, environment, failures, functions, placement, synchronization
from portbench.report.headlines import Headline, ranked
from portbench.report.model import Report, TargetReport
from portbench.report.paper_cells import differing_cells
from portbench.report.predictions import prediction_tables
from portbench.report.timeline import timeline_table
from portbench.study.document import ColdSplit, FunctionEntry, TargetEntry
from portbench.study.model import COMPLETE, TargetKey
from portbench.study.open import Analysed
from portbench.study.summary import Row, fetch_dicts
from portbench.tables.causes import causes_of, modules_of
from portbench.tables.model import Cell, Cells, Table, fixed, names, numbers
from portbench.util.sql import load_sql

HOW_STATUSES = (
    "Percentages are over the functions of which some test ran, by their tests that passed in every run: all pass, "
    "some fail, all fail. 'not testable' counts the functions of which no test ran, or no outcome is known; one that "
    "was timed counts as passing where the outcomes of others are known, as in the paper. 'removed' counts those that "
    "the version does not have. A successor is tried in the place of a removed function, and does not count."
)
HOW_RATES = f"{HOW_STATUSES} wrong: functions of which a test gave wrong values."
HOW_TIMES = (
    "first call: mean over the passing tests of each test's mean over its first calls, waiting included, and runs "
    "(paper's method). "
    "steady state: median over the passing tests of the median time of a call after the warm-up."
)
_TIMINGS_ONLY = "Targets without a rate have timings only: nothing is known of their failures."

Evidence = Mapping[tuple[str, ...], Sequence[Row]]
"""The evidence of failing tests by target and function, the most frequent first."""
Predicted = Mapping[tuple[str, str, str, str, str], Mapping[tuple[str, str], PredictedFunction]]
"""The predicted figures of each predicted target, by function and what it is successor of."""


@dataclass(frozen=True)
class _Part:
    """What a report has of one target. ``head``: its entry in the summary without the functions; ``left_out``: rows of
    the table of these; ``split``: the parts of its first calls; ``is_empty``: it has no outcome and no time."""

    head: TargetEntry
    report: TargetReport
    left_out: Sequence[Cells]
    split: ColdSplit | None
    is_empty: bool

    @classmethod
    def of(cls, entry: TargetEntry, report: TargetReport) -> _Part:
        is_empty = entry["percent_of_rated_functions"] is None and all(
            function["cold_mean_ns"] is None for function in entry["functions"]
        )
        split = cold_start.target_split(entry)
        return cls({**entry, "functions": []}, report, functions.left_out(entry), split, is_empty)


def build_report(
    study: Analysed,
    headlines: Sequence[Headline] = (),
    predictions: Predictions | None = None,
    cells: Sequence[PaperCell] = (),
    findings: Sequence[str] = (),
    rates: Mapping[Configuration, Rates] | None = None,
    changes: tuple[Table, ...] = (),
    timeline: Timeline | None = None,
    found_causes: Mapping[Configuration, tuple[Cause, ...]] | None = None,
) -> Report:
    """The report of a study. ``predictions``, ``rates`` and ``found_causes``: those of the study, where they were
    computed already;
    ``cells``: the paper's and what its own raw data give; ``changes``: tables of what changed since some time;
    ``timeline``: what passes by date."""
    summary = study.head
    found = compute_predictions(study.connection) if predictions is None else predictions
    evidence = _evidence(study)
    strict = summary["strict_placement"]
    predicted = {one.side.key: one.functions for one in found.targets}
    every = compute_rates(study.connection) if rates is None else rates
    causes = compute_causes(study.connection) if found_causes is None else found_causes
    parts = []
    for entry in study.read_targets():
        side = Configuration(*TargetKey.of_entry(entry))
        report = _target(entry, evidence, strict, predicted, every[side], causes.get(side, ()))
        parts.append(_Part.of(entry, report))
    complete = [part for part in parts if part.head["sync"] == COMPLETE]
    as_published = [part for part in parts if part.head["sync"] != COMPLETE]
    times = fetch_dicts(study.connection, load_sql("report", "synchronization")) if as_published else []
    shown = _shown(complete, as_published)
    targets = tuple(part.report for part in shown)
    tables = (
        *failures.wrong_tests(fetch_dicts(study.connection, load_sql("report", "wrong_tests"))),
        *_all_rates(targets, found),
        *timeline_table(timeline or Timeline()),
        *functions.left_out_table([row for part in shown for row in part.left_out]),
        *differing_cells(cells),
        *environment.drift_table(summary),
        *synchronization.failed_checks([part.head for part in shown]),
        *cold_start.target_breakdown((part.head, part.split) for part in shown),
        *synchronization.comparison([part.head for part in complete], [part.head for part in as_published], times),
        *failures.by_cause(summary),
        *failures.overruled(summary),
        *failures.retried(fetch_dicts(study.connection, load_sql("report", "retried"))),
    )
    return Report(
        tuple(findings),
        tuple(ranked(headlines)),
        tables,
        targets,
        changes,
        is_collected=is_collected(study.connection),
        is_strict=strict,
        is_empty=all(part.is_empty for part in parts),
    )


def _shown(complete: Sequence[_Part], as_published: Sequence[_Part]) -> list[_Part]:
    """The targets with the complete wait, then those that ran only with the paper's."""
    known = [(part.head["target"], part.head["machine"]) for part in complete]
    return [*complete, *(part for part in as_published if (part.head["target"], part.head["machine"]) not in known)]


def _evidence(study: Analysed) -> Evidence:
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in fetch_dicts(study.connection, load_sql("report", "evidence")):
        found.setdefault((*TargetKey.of_row(row), row["function"], row["successor_of"]), []).append(row)
    return found


def _rates_table(title: str, targets: Sequence[TargetReport], *notes: str, has_values: bool = True) -> Table:
    """The rates of all targets, with the number of functions with wrong values where these were checked."""
    rows = []
    for target in targets:
        percent: Mapping[str, Cell] = target.percent or {}
        rates = (percent.get(status) for status in ("all_pass", "some_fail", "all_fail"))
        not_testable = None if target.is_timings_only else max(0, target.counts["not_testable"] - target.removed)
        counts = (sum(target.counts.values()), not_testable, target.removed, *([target.wrong] if has_values else []))
        rows.append((target.target, target.machine, *rates, *counts))
    columns = (
        *names("target", "machine"),
        *numbers("all pass", "some fail", "all fail", shown=fixed(1)),
        *numbers("total", "not testable", "removed", *(["wrong"] if has_values else [])),
    )
    only = [_TIMINGS_ONLY] if any(target.is_timings_only for target in targets) else []
    return Table.of_rows(title, columns, rows, *notes, *only)


def _all_rates(targets: Sequence[TargetReport], found: Predictions) -> Iterator[Table]:
    """The rates of what was measured and, apart from them, of what was predicted, and their comparison."""
    measured = [target for target in targets if not target.is_predicted]
    predicted = [target for target in targets if target.is_predicted]
    if measured or not predicted:
        yield _rates_table("Percent of functions", measured, HOW_RATES, HOW_TIMES)
    if predicted:
        # Values are never predicted.
        title = "Percent of functions, predicted"
        yield _rates_table(title, predicted, f"{HOW_PREDICTED} {HOW_STATUSES}", has_values=False)
    yield from prediction_tables(found)


def _target(
    entry: TargetEntry,
    evidence: Evidence,
    strict: bool,
    predicted: Predicted,
    rates: Rates,
    causes: Sequence[Cause],
) -> TargetReport:
    named = [(_named(function), function) for function in entry["functions"]]
    failing = [found for found in named if found[1]["status"] in ("some_fail", "all_fail")]
    failing.sort(key=lambda found: (found[1]["status"], found[0]))
    key = TargetKey.of_entry(entry)
    side = Configuration(*key)
    is_cpu, is_predicted = side.device == "cpu", side.device in PREDICTED_DEVICES
    has_checks = any(function["tests_by_value_verdict"] for _, function in named)
    own = [function for _, function in named if function["successor_of"] is None]
    shown, note = functions.listed(named)
    is_large = len(named) > functions.MOST_LISTED
    return TargetReport(
        target=str(side.target)
        + (f" ({side.synchronization})" if side.synchronization else "")
        + (PREDICTED_MARK if is_predicted else ""),
        machine=side.machine,
        is_cpu=is_cpu,
        is_predicted=is_predicted,
        percent=rates.by_function.percent,
        counts=dict(rates.by_function.counts),
        removed=sum(functions.is_removed(function) for function in own),
        wrong=sum(bool(function["wrong_values"]) for function in own) if has_checks else None,
        functions=(
            functions.predicted(shown, predicted.get(side.key, {}), note)
            if is_predicted
            else functions.measured(shown, has_placement=not is_cpu, note=note)
        ),
        failures=tuple(
            failures.failure(name, function, evidence[place])
            for name, function in failing[: failures.SHOWN if is_large else None]
            if (place := (*key, function["name"], function["successor_of"] or "")) in evidence
        ),
        more_failures=max(0, len(failing) - failures.SHOWN) if is_large else 0,
        blame=failures.blamed(entry["functions"]),
        before=(
            *causes_of(side, causes, rates),
            *([modules_of(rates.by_module)] if is_large else []),
            *failures.wrong_values(named),
        ),
        after=(
            *failures.flaky(named),
            *failures.precision(named),
            *failures.gaps(named),
            *failures.missing(entry),
            *(() if is_cpu else placement.fallbacks(named, strict)),
            *cold_start.function_breakdown(named),
        ),
    )


def _named(function: FunctionEntry) -> str:
    former = function["successor_of"]
    return f"{function['name']} (successor of {former})" if former else function["name"]

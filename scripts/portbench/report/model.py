"""What a study says, ready to be printed: for each target on each machine its rates, functions, failures and gaps.

Decides what is shown and in which order; ``report_terminal`` and ``report_markdown`` only print it. All text comes
out of run files and is not trusted: printers escape it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from portbench.analysis.foretold import HOW_PREDICTED
from portbench.analysis.predictions import Predictions, predictions_of
from portbench.devices import PREDICTED_DEVICES, PREDICTED_MARK
from portbench.report import causes as report_causes
from portbench.report import cold_start as report_cold
from portbench.report import environment as report_drift
from portbench.report import failures as report_failures
from portbench.report import placement as report_placement
from portbench.report import predictions as report_foretold
from portbench.report import synchronization as report_sync
from portbench.report.failures import Failure
from portbench.study.model import Target
from portbench.study.open import Analysed
from portbench.study.summary import Row, fetch_dicts
from portbench.util.format import NOTHING, in_ms, in_us
from portbench.util.section import Section
from portbench.util.sql import load_sql

HOW_STATUSES = (
    "A function succeeds if every test that ran passed in every run, fails completely if none did, and else partially. "
    "Percentages are over the functions of which some test ran; 'none' counts the others. "
    "A successor is tried where a version lacks a function, and does not count."
)
HOW_RATES = f"{HOW_STATUSES} wrong: functions of which a test gave wrong values."
HOW_TIMES = (
    "cold: mean of all first calls, waiting included, over all runs of the passing tests (as published). "
    "steady: median over the passing tests of the median time of a call after the warm-up."
)
# Of each predicted side what was foretold of each function, by its name and what it succeeds.
Foretold = dict[tuple[str, ...], Mapping[tuple[str, str], Row]]

BY_THE_STUDYS_CLOCK = " (sync study)"
STRICT = "Strict placement: a test that passed, but not wholly on the device, counts as failed."


@dataclass(frozen=True)
class Function:
    """A row of a target's functions. ``ran`` and ``passed`` count tests; times are null where nothing was timed.
    ``foretold``: what was foretold of it, in tests and figures, where its target is predicted."""

    name: str
    status: str
    passed: int
    ran: int
    flaky: int
    ran_on: str
    cold_mean_ns: float | None
    steady_median_ns: float | None
    foretold: Row | None = None


@dataclass(frozen=True)
class TargetReport:
    """One target on one machine. ``percent`` is null where no function has a status, ``wrong`` where no values were
    judged; ``blame`` says how many failures are the device's doing."""

    target: str
    machine: str
    is_cpu: bool
    is_predicted: bool
    percent: dict[str, float] | None
    counts: dict[str, int]
    wrong: int | None
    functions: tuple[Function, ...]
    failures: tuple[Failure, ...]
    blame: str
    before: tuple[Section, ...]
    """What stands before the failures, and after them: the rest."""
    after: tuple[Section, ...]


@dataclass(frozen=True)
class Report:
    """The whole: headlines, sections about all targets, then one entry for each target on each machine.

    A target that ran by both clocks is told of by the complete wait, and sections put the study's beside it.
    ``summary`` is that of the study, judged in the same way.
    """

    summary: Row
    headlines: tuple[str, ...]
    sections: tuple[Section, ...]
    targets: tuple[TargetReport, ...]

    @property
    def is_strict(self) -> bool:
        """Whether tests that did not run wholly on the device count as failed."""
        return bool(self.summary["strict_placement"])

    @property
    def is_empty(self) -> bool:
        """Whether nothing ran on any target."""
        return all(entry["percent_of_rated_functions"] is None for entry in self.summary["targets"])


def report_of(study: Analysed, headlines: Sequence[str] = (), predictions: Predictions | None = None) -> Report:
    """What is to be shown of a study. ``headlines``: what it found, in sentences; ``predictions``: what it foretells,
    where that was computed already."""
    summary = study.summary
    found = predictions_of(study.connection) if predictions is None else predictions
    evidence = fetch_dicts(study.connection, load_sql("report", "evidence"))
    times = fetch_dicts(study.connection, load_sql("report", "synchronisation"))
    contaminated = fetch_dicts(study.connection, load_sql("report", "contaminated"))
    causes: dict[tuple[str, ...], list[Row]] = {}
    for row in evidence:
        key = (*(row[part] for part in ("framework", "version", "device", "machine", "sync", "function")),)
        causes.setdefault((*key, row["successor_of"]), []).append(row)
    complete = [entry for entry in summary["targets"] if entry["sync"] == "complete"]
    as_study = [entry for entry in summary["targets"] if entry["sync"] == "study"]
    known = [(entry["target"], entry["machine"]) for entry in complete]
    entries = [*complete, *(entry for entry in as_study if (entry["target"], entry["machine"]) not in known)]
    foretold: Foretold = {one.side.key: one.functions for one in found.foretold}
    targets = tuple(_target(entry, causes, bool(summary["strict_placement"]), foretold) for entry in entries)
    sections = (
        *_all_rates(targets, found),
        *report_drift.of_study(summary),
        *report_sync.not_proven(entries),
        *report_cold.of_targets(entries),
        *report_sync.side_by_side(complete, as_study, times),
        *report_causes.by_cause(summary),
        *report_causes.overruled(summary),
        *report_causes.contaminated(contaminated),
    )
    return Report(summary, tuple(headlines), sections, targets)


def _rates(targets: Sequence[TargetReport]) -> Section:
    """The rates of all targets; a dash where there is nothing to say."""
    rows = []
    for target in targets:
        rates = target.percent and [f"{target.percent[status]:.1f}" for status in ("pass", "partial", "complete")]
        counts = [str(sum(target.counts.values())), str(target.counts["none"])]
        wrong = NOTHING if target.wrong is None else str(target.wrong)
        rows.append((target.target, target.machine, *(rates or [NOTHING] * 3), *counts, wrong))
    numbers = ("success", "partial", "complete", "total", "none", "wrong")
    return Section(
        "Percent of functions", ("target", "machine"), numbers, (), tuple(rows), f"{HOW_RATES}\n\n{HOW_TIMES}"
    )


def _all_rates(targets: Sequence[TargetReport], found: Predictions) -> Iterator[Section]:
    """The rates of what was measured and, apart from them, of what is predicted, and how that holds."""
    measured = [target for target in targets if not target.is_predicted]
    predicted = [target for target in targets if target.is_predicted]
    if measured or not predicted:
        yield _rates(measured)
    if predicted:
        note = f"{HOW_PREDICTED} {HOW_STATUSES}"
        rates = _rates(predicted)
        # Values are never foretold.
        yield replace(
            rates,
            title="Percent of functions, predicted",
            numbers=rates.numbers[:-1],
            rows=tuple(row[:-1] for row in rates.rows),
            note=note,
        )
    yield from report_foretold.of_predictions(found)


def _target(
    entry: Row,
    causes: Mapping[tuple[str, ...], list[Row]],
    strict: bool,
    foretold: Foretold,
) -> TargetReport:
    functions = [(_named(function), function) for function in entry["functions"]]
    failing = [found for found in functions if found[1]["status"] in ("partial", "complete")]
    failing.sort(key=lambda found: (found[1]["status"], found[0]))
    is_cpu = entry["target"]["device"] == "cpu"
    is_predicted = entry["target"]["device"] in PREDICTED_DEVICES
    judged = any(function["tests_by_numbers"] for _, function in functions)
    own = [function for _, function in functions if function["successor_of"] is None]
    where = (*entry["target"].values(), entry["machine"], entry["sync"])
    own_figures = foretold.get(where, {})
    return TargetReport(
        target=str(Target(**entry["target"]))
        + ("" if entry["sync"] == "complete" else BY_THE_STUDYS_CLOCK)
        + (PREDICTED_MARK if is_predicted else ""),
        machine=entry["machine"],
        is_cpu=is_cpu,
        is_predicted=is_predicted,
        percent=entry["percent_of_rated_functions"],
        counts=entry["functions_by_status"],
        wrong=sum(bool(function["wrong_values"]) for function in own) if judged else None,
        functions=tuple(
            _function(name, function, own_figures.get((function["name"], function["successor_of"] or "")))
            for name, function in functions
        ),
        failures=tuple(
            report_failures.failure(name, function, causes[key])
            for name, function in failing
            if (key := (*where, function["name"], function["successor_of"] or "")) in causes
        ),
        blame=report_failures.blamed([function for _, function in functions]),
        before=tuple(report_failures.wrong_values(functions)),
        after=(
            *report_causes.flaky(functions),
            *report_failures.precision(functions),
            *report_failures.gaps(functions),
            *report_failures.missing(entry),
            *(() if is_cpu else report_placement.fallbacks(functions, strict)),
            *report_cold.of_functions(functions),
        ),
    )


def _function(name: str, function: Row, foretold: Row | None) -> Function:
    tests = function["tests_by_verdict"]
    return Function(
        name=name,
        status=function["status"],
        passed=tests["passed"],
        ran=tests["passed"] + tests["failed"] + tests["flaky"],
        flaky=tests["flaky"],
        ran_on=report_placement.ran_on(function),
        cold_mean_ns=function["cold_mean_ns"],
        steady_median_ns=function["steady_median_ns"],
        foretold=foretold,
    )


def _named(function: Row) -> str:
    former = function.get("successor_of")
    return f"{function['name']} (successor of {former})" if former else str(function["name"])


def figure_titles(target: TargetReport) -> tuple[str, ...]:
    """The titles of the figures of its functions."""
    if not target.is_predicted:
        return "tests passed", "cold ms", "steady µs"
    return report_foretold.FIGURES


def figures(function: Function) -> tuple[str, ...]:
    """How the figures of a function are shown, a dash where there is none: tests, cold time in ms and steady time in
    µs; of a predicted target what was foretold."""
    if function.foretold:
        return report_foretold.figures(function.foretold)
    tests = f"{function.passed}/{function.ran}" if function.ran else NOTHING
    flaky = f" ({function.flaky} flaky)" if function.flaky else ""
    return tests + flaky, in_ms(function.cold_mean_ns), in_us(function.steady_median_ns)

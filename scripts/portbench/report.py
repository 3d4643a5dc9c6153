"""What a study says, ready to be printed: for each target on each machine its rates, functions, failures and gaps.

Decides what is shown and in which order; ``report_terminal`` and ``report_markdown`` only print it. All text comes
out of run files and is not trusted: printers escape it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from portbench.analysis import Row, Target, rows_of, statements
from portbench.merge import merge
from portbench.study import Study, connect, is_study, read_study, show_tables

HOW_RATES = (
    "A function succeeds if every test that ran passed in every run, fails completely if none did, and else partially. "
    "Percentages are over the functions of which some test ran; 'none' counts the others. "
    "A successor is tried where a version lacks a function, and does not count."
)
HOW_TIMES = (
    "cold: mean of all first calls, waiting included, over all runs of the passing tests (as published). "
    "steady: median over the passing tests of the median time of a call after the warm-up."
)


@dataclass(frozen=True)
class Function:
    """A row of a target's functions. ``ran`` and ``passed`` count tests; times are null where nothing was timed."""

    name: str
    status: str
    passed: int
    ran: int
    flaky: int
    cold_mean_ns: float | None
    steady_median_ns: float | None


@dataclass(frozen=True)
class Failure:
    """The most frequent cause why a function's tests did not pass; ``others`` counts the causes beside it."""

    function: str
    status: str
    category: str
    evidence: str
    others: int


@dataclass(frozen=True)
class Gap:
    """Tests of a function that did not run, and why."""

    function: str
    tests: int
    reason: str


@dataclass(frozen=True)
class Fallback:
    """Tests of a function that passed, but ran elsewhere than on the device of the target."""

    function: str
    tests: int
    placement: str


@dataclass(frozen=True)
class TargetReport:
    """One target on one machine. ``percent`` is null where no function has a status."""

    target: str
    machine: str
    percent: dict[str, float] | None
    counts: dict[str, int]
    functions: tuple[Function, ...]
    failures: tuple[Failure, ...]
    gaps: tuple[Gap, ...]
    fallbacks: tuple[Fallback, ...]


@dataclass(frozen=True)
class Report:
    """The whole: one entry for each target on each machine."""

    run_files: int
    targets: tuple[TargetReport, ...]

    @property
    def is_empty(self) -> bool:
        """Whether nothing ran on any target."""
        return all(target.percent is None for target in self.targets)


@contextmanager
def study_of(paths: Sequence[str]) -> Iterator[Study]:
    """The study at a path, or else a temporary one of the run files that the paths hold."""
    if len(paths) == 1 and is_study(Path(paths[0])):
        yield read_study(Path(paths[0]))
    else:
        with tempfile.TemporaryDirectory(prefix="portbench-") as folder:
            yield merge(paths, Path(folder, "study")).study


def report_of(study: Study) -> Report:
    """Reads a study. Raises BadInput where its tables are missing or damaged."""
    with connect() as connection:
        show_tables(connection, study.tables)
        evidence = rows_of(connection, statements("evidence"))
    causes: dict[tuple[Target, str, str], list[Row]] = {}
    for row in evidence:
        target = Target(row["framework"], row["version"], row["device"])
        causes.setdefault((target, row["machine"], row["function"]), []).append(row)
    targets = [_target(entry, causes) for entry in study.summary["targets"]]
    return Report(len(study.summary["run_files"]), tuple(targets))


def _target(entry: Row, causes: dict[tuple[Target, str, str], list[Row]]) -> TargetReport:
    target, machine, functions = Target(**entry["target"]), entry["machine"], entry["functions"]
    failing = [function for function in functions if function["status"] in ("partial", "complete")]
    failing.sort(key=lambda function: (function["status"], function["name"]))
    return TargetReport(
        target=str(target),
        machine=machine,
        percent=entry["percent_of_rated_functions"],
        counts=entry["functions_by_status"],
        functions=tuple(_function(function) for function in functions),
        failures=tuple(
            _failure(function, causes[key])
            for function in failing
            if (key := (target, machine, function["name"])) in causes
        ),
        gaps=tuple(
            Gap(function["name"], gap["tests"], gap["reason"]) for function in functions for gap in function["skipped"]
        ),
        fallbacks=tuple(_fallbacks(functions)) if target.device != "cpu" else (),
    )


def _function(function: Row) -> Function:
    tests = function["tests_by_verdict"]
    return Function(
        name=_named(function),
        status=function["status"],
        passed=tests["passed"],
        ran=tests["passed"] + tests["failed"] + tests["flaky"],
        flaky=tests["flaky"],
        cold_mean_ns=function["cold_mean_ns"],
        steady_median_ns=function["steady_median_ns"],
    )


def _named(function: Row) -> str:
    former = function.get("successor_of")
    return f"{function['name']} (successor of {former})" if former else str(function["name"])


def _failure(function: Row, causes: Sequence[Row]) -> Failure:
    first = causes[0]
    what = first["what"].replace("_", " ") if first["what"] in ("timed_out", "crashed") else first["what"]
    lines = [line.strip() for line in first["message"].splitlines() if line.strip()]
    return Failure(
        function=function["name"],
        status=function["status"],
        category=first["category"],
        evidence=f"{what}: {lines[0]}" if lines else what,
        others=len(causes) - 1,
    )


def _fallbacks(functions: Sequence[Row]) -> Iterator[Fallback]:
    for function in functions:
        for placement, tests in function["tests_by_placement"].items():
            if placement in ("host", "mixed"):
                yield Fallback(function["name"], tests, placement)


def significant(value: float) -> str:
    """A number with three significant digits, or all digits before the point: 0.0123, 1.23, 12.3, 1,234."""
    for limit, decimals in ((100, 0), (10, 1), (1, 2), (0.1, 3), (0.01, 4), (0.001, 5)):
        if value >= limit:
            return f"{value:,.{decimals}f}"
    return f"{value:.2g}" if value else "0"


def figures(function: Function) -> tuple[str, str, str]:
    """How tests, cold time in ms and steady time in µs of a function are shown; a dash where there is none."""
    tests = f"{function.passed}/{function.ran}" if function.ran else "-"
    cold = "-" if function.cold_mean_ns is None else significant(function.cold_mean_ns / 1e6)
    steady = "-" if function.steady_median_ns is None else significant(function.steady_median_ns / 1e3)
    return tests + (f" ({function.flaky} flaky)" if function.flaky else ""), cold, steady


def percentages(target: TargetReport) -> tuple[str, str, str]:
    """How the rates of pass, partial and complete of a target are shown; a dash where nothing ran."""
    if target.percent is None:
        return "-", "-", "-"
    percent = target.percent
    return f"{percent['pass']:.1f}", f"{percent['partial']:.1f}", f"{percent['complete']:.1f}"

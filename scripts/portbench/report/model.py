"""A report as values: headlines, sections, and for each target on each machine its functions, failures and gaps.

``build`` makes it; ``terminal`` and ``markdown`` print it and decide nothing. Its text comes out of run files and is
not trusted: printers escape it.
"""

from __future__ import annotations

from dataclasses import dataclass

from portbench.analysis.predictions import PredictedFunction
from portbench.report import predictions
from portbench.report.failures import Failure
from portbench.study.summary import Row
from portbench.util.format import NOTHING, in_ms, in_us
from portbench.util.section import Section


@dataclass(frozen=True)
class Function:
    """A row of a target's functions. ``ran``, ``passed`` and ``flaky`` count tests; times are null where nothing was
    timed. ``prediction``: the predicted tests and figures, where its target is predicted."""

    name: str
    status: str
    passed: int
    ran: int
    flaky: int
    ran_on: str
    cold_mean_ns: float | None
    steady_median_ns: float | None
    prediction: PredictedFunction | None = None


@dataclass(frozen=True)
class TargetReport:
    """One target on one machine. ``percent`` is null where no function has a status, ``wrong`` where no values were
    checked; ``blame`` counts the failing tests by where they fail. The sections of ``before`` come before the failures,
    those of ``after`` follow them."""

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
    after: tuple[Section, ...]

    @property
    def is_timings_only(self) -> bool:
        """Whether there are times, and no outcome is known."""
        return self.percent is None and any(function.cold_mean_ns is not None for function in self.functions)


@dataclass(frozen=True)
class Report:
    """Headlines, sections on all targets, then one entry for each target on each machine.

    A target that ran with both synchronizations is reported with the complete wait; sections compare the other one.
    ``summary`` is that of the study, with the same placement rule.
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
        """Whether nothing ran on any target: there is no outcome and no time."""
        return all(
            entry["percent_of_rated_functions"] is None
            and all(function["cold_mean_ns"] is None for function in entry["functions"])
            for entry in self.summary["targets"]
        )


def figure_titles(target: TargetReport) -> tuple[str, ...]:
    """The titles of the figures of its functions."""
    if not target.is_predicted:
        return "tests passed", "first call ms", "steady state µs"
    return predictions.FIGURES


def figures(function: Function) -> tuple[str, ...]:
    """The figures of a function, a dash where there is none: tests, first call in ms and steady state in µs; of a
    predicted target the predicted figures."""
    if function.prediction:
        return predictions.figures(function.prediction)
    tests = f"{function.passed}/{function.ran}" if function.ran else NOTHING
    flaky = f" ({function.flaky} flaky)" if function.flaky else ""
    return tests + flaky, in_ms(function.cold_mean_ns), in_us(function.steady_median_ns)

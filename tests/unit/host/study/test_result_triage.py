"""Findings of a study in addition to outcomes and times: values, placement, devices at fault, parts of first calls."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from portbench.formats.documents import read_document
from portbench.report.build import build_report
from portbench.report.markdown import markdown
from portbench.report.model import Report
from portbench.study.document import StudySummary
from portbench.study.merge import merge
from portbench.study.open import analysed, study_of
from portbench.tables.model import Table
from tests.paths import EXAMPLES

Document = dict[str, Any]
Write = Callable[[str, Any], Path]
Make = Callable[..., Document]
Command = Callable[..., Result]

XLA = "torch-2.9.0-xla"
PASSED = {"outcome": "passed", "reason": None, "category": None, "error": None}
FAILED = {"outcome": "failed", "reason": None, "category": "other", "error": None}
SKIPPED = {"outcome": "skipped", "reason": "needs two devices", "category": None, "error": None}


@dataclass(frozen=True)
class ReportAndSummary(Report):
    """A report with the summary of its study."""

    summary: StudySummary = field(kw_only=True)


Reported = Callable[..., ReportAndSummary]

NO_TIMES = [{"cold": None, "steady": None, "observed": None}]


def proof(passed: bool, ratio: float = 4.0, reason: str | None = None) -> Document:
    """A synchronization check that passed, or not."""
    return {
        "passed": passed,
        "reason": reason,
        "units": 4,
        "base_ns": 1_000_000,
        "grown_ns": round(1_000_000 * ratio),
        "ratio": ratio,
        "left_ns": 0,
    }


def deviation(device: float | None, host: float | None = 1e-7) -> Document:
    return {"dtype": "float32", "device": device, "host": host, "other_seed": 0.0}


def placed(verdict: str, *host_operations: str) -> Document:
    return {"verdict": verdict, "evidence": [], "host_operations": list(host_operations)}


def cold(call_ns: int, **counters: int) -> Document:
    return {"cold": {"call_ns": call_ns, "wait_ns": 0, "counters": counters}, "steady": None, "observed": None}


@pytest.fixture
def reported(write: Write, make_run: Make, tmp_path: Path) -> Reported:
    """The report of run files, each given as (results, changes of the document), or as results of torch on xla."""

    def report(*runs: Any, strict: bool = False) -> ReportAndSummary:
        for number, run in enumerate(runs):
            results, changes = run if isinstance(run, tuple) else (run, {})
            write(f"runs/{number}.json", make_run(results, **{"target": XLA, **changes}))
        with study_of([str(tmp_path / "runs")]) as study:
            with analysed(study, strict) as shown:
                found = ReportAndSummary(**vars(build_report(shown)), summary=shown.summary)
            read_document(study.path / "study.json", "study")
        return found

    return report


def function(report: ReportAndSummary, name: str = "torch.cat") -> Document:
    """A function of the only target in the summary."""
    (target,) = report.summary["targets"]
    (found,) = [function for function in target["functions"] if function["name"] == name]
    return dict(found)


def table(tables: tuple[Table, ...], title: str) -> Table:
    (found,) = [table for table in tables if table.title.startswith(title)]
    return found


def shown(table: Table) -> tuple[tuple[str, ...], ...]:
    """The rows of a table as people see them."""
    return tuple(
        tuple(column.text(cell) for column, cell in zip(table.columns, row, strict=True)) for row in table.flat_rows
    )


def numbers(table: Table) -> tuple[str, ...]:
    """The titles of the columns of numbers."""
    return tuple(column.title for column in table.columns if column.shown)


def test_verdicts_on_values_are_counted_in_tests(reported: Reported, make_result: Make) -> None:
    report = reported(
        [
            make_result(test="a", run=1, value_verdict="equal"),
            make_result(test="a", run=2, outcome="failed", value_verdict="random", deviation=deviation(None)),
            make_result(test="b", value_verdict="equal"),
            make_result(test="c", outcome="failed", value_verdict="imprecise", deviation=deviation(0.01)),
            make_result(test="d"),
        ]
    )
    assert function(report)["tests_by_value_verdict"] == {"equal": 2, "imprecise": 1, "random": 1}
    assert report.targets[0].wrong == 0


def test_wrong_values_are_listed_with_their_greatest_deviation_and_counted_first(
    reported: Reported, make_result: Make
) -> None:
    def wrong(test: str, run: int, off: float | None, **facts: Any) -> Document:
        return make_result(
            test=test, run=run, outcome="failed", value_verdict="wrong", deviation=deviation(off), **facts
        )

    report = reported(
        [
            wrong("a", 1, 0.25, cpu_control=PASSED),
            wrong("a", 2, 0.5, cpu_control=PASSED),
            wrong("b", 1, 0.25, cpu_control=FAILED),
            wrong("b", 2, None, cpu_control=FAILED),
            make_result("torch.dot", value_verdict="equal"),
        ]
    )
    common = {"dtype": "float32", "deviation_on_host": 1e-7, "runs": 2}
    assert function(report)["wrong_values"] == [
        {"test": "a", "deviation_on_device": 0.5, "cpu_control": "only_on_device", **common},
        {"test": "b", "deviation_on_device": None, "cpu_control": "on_cpu_too", **common},
    ]
    assert report.targets[0].wrong == 1
    found = table(report.targets[0].before, "Wrong values")
    assert shown(found) == (
        ("torch.cat", "a", "0.500", "1e-07", "2", "float32", "only on the device"),
        ("torch.cat", "b", "not finite", "1e-07", "2", "float32", "on the CPU too"),
    )
    text = markdown(report)
    assert "| `torch-2.9.0-xla` | `box` | 50.0 | 0.0 | 50.0 | 2 | 0 | 0 | 1 |" in text
    assert text.index("### Wrong values") < text.index("### Why tests did not pass")


def test_without_verdicts_on_values_there_is_no_section_on_wrong_values(reported: Reported, make_result: Make) -> None:
    report = reported([make_result(value_verdict=None)])
    assert report.targets[0].wrong is None
    assert report.targets[0].before == ()


def test_failures_are_specific_to_the_device_or_not(reported: Reported, make_result: Make, portbench: Command) -> None:
    report = reported(
        [
            make_result(test="a", run=1, outcome="failed", cpu_control=PASSED),
            make_result(test="a", run=2, outcome="crashed", cpu_control=PASSED),
            make_result(test="b", outcome="timed_out", cpu_control=FAILED),
            make_result(test="c", outcome="failed", cpu_control=SKIPPED),
            make_result(test="d", outcome="failed", cpu_control=None),
            make_result(test="e"),
            make_result(test="f", outcome="skipped"),
            # On one machine it passed on the CPU, on another run it failed there: not the device's to answer for.
            make_result("torch.dot", run=1, outcome="failed", cpu_control=PASSED),
            make_result("torch.dot", run=2, outcome="failed", cpu_control=FAILED),
        ]
    )
    assert function(report)["tests_by_cpu_control"] == {"on_cpu_too": 1, "only_on_device": 1, "unknown": 2}
    assert function(report, "torch.dot")["tests_by_cpu_control"] == {"on_cpu_too": 1}
    (target,) = report.targets
    fails = {failure.function: failure.fails for failure in target.failures}
    assert fails["torch.dot"] == "on the CPU too"
    assert fails["torch.cat"] == "on the CPU too 1, only on the device 1, not run elsewhere 2"
    assert target.blame.startswith("Of 5 failing tests 1 fail only on the device, 2 on the CPU of the same version too")
    assert target.blame in markdown(report)


def test_on_the_cpu_no_fault_and_no_placement_is_shown(reported: Reported, make_result: Make) -> None:
    report = reported(([make_result(outcome="failed"), make_result("torch.dot")], {"target": "torch-2.9.0-cpu"}))
    assert function(report)["tests_by_cpu_control"] == {}
    assert report.targets[0].blame == ""
    assert "| function | status | tests passed |" in markdown(report)


def test_precision_failures_pass_in_strict_mode_or_not(reported: Reported, make_result: Make) -> None:
    def imprecise(test: str, strict: Document | None) -> Document:
        return make_result(test=test, outcome="failed", category="precision", full_precision=strict)

    report = reported(
        [
            imprecise("a", PASSED),
            imprecise("b", FAILED),
            imprecise("c", PASSED),
            imprecise("d", None),
            make_result(test="e", outcome="failed", full_precision=None),
        ]
    )
    assert function(report)["tests_by_full_precision"] == {"failed": 1, "passed": 2, "unknown": 1}
    found = table(report.targets[0].after, "Failed by precision")
    assert shown(found) == (("torch.cat", "4", "2", "1", "1"),)


MISPLACED = "Passed, but not on the device"


def test_placement_and_the_operations_that_ran_on_the_host(reported: Reported, make_result: Make) -> None:
    report = reported(
        [
            make_result(test="a", run=1, placement=placed("mixed", "aten::sort", "aten::nonzero")),
            make_result(test="a", run=2, placement=placed("mixed", "aten::sort")),
            make_result(test="b", placement=placed("host", "aten::sort")),
            make_result(test="c", placement=placed("device")),
            # What did not pass says nothing of where the function runs.
            make_result(test="d", outcome="failed", placement=placed("host", "aten::equal")),
        ]
    )
    assert function(report)["host_operations"] == [
        {"name": "aten::nonzero", "tests": 1},
        {"name": "aten::sort", "tests": 2},
    ]
    (target,) = report.targets
    ((_, status, ran_on, *_),) = shown(target.functions)
    assert (status, ran_on) == ("some fail", "device 1, host 1, mixed 1")
    found = table(target.after, MISPLACED)
    assert shown(found) == (("torch.cat", "2", "host 1, mixed 1", "aten::nonzero, aten::sort"),)


def test_strict_placement_counts_tests_that_ran_elsewhere_as_failed(
    make_result: Make, make_call: Make, write: Write, make_run: Make, portbench: Command, tmp_path: Path
) -> None:
    fast = [make_call(100, 0, (10,), 1)]
    found = [
        make_result("torch.a", "on-host", placement=placed("host", "aten::sort"), calls=fast),
        make_result("torch.b", "on-both", placement=placed("mixed", "aten::nonzero"), calls=fast),
        make_result("torch.b", "on-device", placement=placed("device")),
        make_result("torch.c", placement=placed("unknown")),
        make_result("torch.d"),
    ]
    write("runs/run.json", make_run(found, target=XLA))
    merge([str(tmp_path / "runs")], tmp_path / "study")

    lenient = json.loads(portbench("report", tmp_path / "study", "--json").stdout)
    assert lenient == json.loads((tmp_path / "study" / "study.json").read_text())
    assert lenient["strict_placement"] is False
    assert lenient["targets"][0]["percent_of_rated_functions"]["all_pass"] == 100

    result = portbench("report", tmp_path / "study", "--json", "--strict-placement", "-o", tmp_path / "out")
    summary = read_document(write("strict.json", result.stdout), "study").data
    assert summary["strict_placement"] is True
    (target,) = summary["targets"]
    assert [found["status"] for found in target["functions"]] == ["all_fail", "some_fail", "all_pass", "all_pass"]
    assert target["percent_of_rated_functions"] == {"all_pass": 50.0, "some_fail": 25.0, "all_fail": 25.0}
    # The time of a host is never taken for the device's.
    assert [found["cold_mean_ns"] for found in target["functions"]] == [None, 1_500_000, 1_500_000, 1_500_000]
    assert target["functions"][0]["tests_by_placement"] == {"host": 1}

    text = (tmp_path / "out" / "report.md").read_text()
    assert text.startswith("# Portability report, strict placement\n")
    assert f"### {MISPLACED} (counted as failed)" in text
    assert "| `torch.a` | all tests fail | placement | - | ran on the host: aten::sort |" in text
    assert "| `torch.b` | some fail | placement | - | ran partly on the host: aten::nonzero |" in text
    shown = portbench("report", tmp_path / "study", "--strict-placement").stdout
    assert "Strict placement: a test that passed, but not wholly on the device" in " ".join(shown.split())
    assert "Strict placement" not in portbench("report", tmp_path / "study").stdout
    assert json.loads((tmp_path / "study" / "study.json").read_text()) == lenient


def test_targets_that_failed_the_synchronization_check_are_listed_without_latencies(
    reported: Reported, make_result: Make
) -> None:
    bad = {"worker": 2, "calls": NO_TIMES}
    report = reported(
        [
            make_result(test="a", run=1, sync_check=proof(True)),
            make_result(test="a", run=2, sync_check=proof(True)),
            make_result("torch.dot", "b", sync_check=proof(False, 1.5, "1.5 times"), **bad),
            make_result("torch.dot", "c", sync_check=proof(False, 1.5, "1.5 times"), **bad),
            make_result("torch.dot", "d", sync_check=proof(False, 1.0, "1.0 times"), **(bad | {"worker": 3})),
            make_result("torch.dot", "e", outcome="crashed", sync_check=None),
        ]
    )
    (target,) = report.summary["targets"]
    assert target["sync_checks"] == {"passed": 1, "failed": 2, "reason": "1.0 times", "seen_fraction": 1.0}
    dot = function(report, "torch.dot")
    assert (dot["tests_with_failed_sync_check"], dot["cold_mean_ns"], dot["steady_median_ns"]) == (3, None, None)
    assert (function(report)["tests_with_failed_sync_check"], function(report)["cold_mean_ns"]) == (0, 1_500_000)
    found = table(report.tables, "Synchronization check failed: no latencies")
    assert shown(found) == ((XLA, "box", "2", "3", "1.0 times"),)


def test_passed_synchronization_checks_are_not_listed(reported: Reported, make_result: Make) -> None:
    report = reported([make_result(sync_check=proof(True))])
    assert len(report.tables) == 1
    assert report.summary["targets"][0]["sync_checks"] == {
        "passed": 1,
        "failed": 0,
        "reason": None,
        "seen_fraction": 1.0,
    }


def test_a_first_call_is_split_by_the_frameworks_counters(reported: Reported, make_result: Make) -> None:
    report = reported(
        [
            make_result(test="a", calls=[cold(1_000_000, trace_ns=100_000, compile_ns=600_000, executions=1)]),
            # A counter that did not rise is missing: it counts as zero, since the framework has it in other calls.
            make_result(test="b", calls=[cold(1_000_000, compile_ns=200_000)]),
            make_result(test="failed", outcome="failed", calls=[cold(1_000_000, compile_ns=900_000)]),
            make_result("torch.dot", calls=[cold(2_000_000)]),
        ]
    )
    assert function(report)["cold_split"] == {
        "calls": 2,
        "overlapping_calls": 0,
        "total_ns": 2_000_000,
        "rest_ns": 1_100_000,
        "parts_ns": {"trace": 100_000, "compile": 800_000},
    }
    assert function(report, "torch.dot")["cold_split"]["parts_ns"] == {"trace": 0, "compile": 0}
    overall = table(report.tables, "First-call time breakdown")
    assert numbers(overall) == ("calls", "mean ms", "trace", "compile", "rest", "overlapping")
    assert shown(overall) == ((XLA, "box", "3", "1.33", "2.5", "20.0", "77.5", "0"),)
    of_functions = table(report.targets[0].after, "First-call time breakdown")
    assert numbers(of_functions) == ("calls", "mean", "trace", "compile", "rest", "overlapping")
    assert shown(of_functions) == (
        ("torch.cat", "2", "1.00", "0.0500", "0.400", "0.550", "0"),
        ("torch.dot", "1", "2.00", "0", "0", "2.00", "0"),
    )


def test_of_many_functions_those_with_the_longest_first_calls_are_shown(
    reported: Reported, make_result: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portbench.report.cold_start.MOST_LISTED", 2)
    results = [
        make_result(f"torch.f{number}", calls=[cold(1_000_000 * ms, compile_ns=0)])
        for number, ms in enumerate((3, 1, 4, 2))
    ]
    of_functions = table(reported(results).targets[0].after, "First-call time breakdown")
    assert [row[0] for row in shown(of_functions)] == ["torch.f2", "torch.f0"]
    assert of_functions.notes == ("The 2 of 4 functions with the longest first calls.",)


def test_a_call_whose_parts_overlap_is_counted_and_not_split(reported: Reported, make_result: Make) -> None:
    nested = cold(1_000, trace_ns=800, compile_ns=300)
    report = reported(
        [
            make_result(test="a", calls=[nested, cold(1_000, trace_ns=400, compile_ns=600)]),
            make_result("torch.dot", calls=[nested]),
        ]
    )
    split = function(report)["cold_split"]
    assert (split["calls"], split["overlapping_calls"], split["total_ns"], split["rest_ns"]) == (1, 1, 1_000, 0)
    assert split["parts_ns"] == {"trace": 400, "compile": 600}
    (row,) = shown(table(report.tables, "First-call time breakdown"))
    assert row[4:] == ("40.0", "60.0", "0.0", "2")
    rows = shown(table(report.targets[0].after, "First-call time breakdown"))
    assert rows[1] == ("torch.dot", "0", "-", "-", "-", "-", "1")


def test_parts_that_a_framework_does_not_report_are_blank(reported: Reported, make_result: Make) -> None:
    report = reported(
        [make_result(calls=[cold(1_000, compile_ns=500)])],
        ([make_result("jax.f", calls=[cold(1_000, trace_ns=100, compile_ns=0)])], {"target": "jax-0.10.2-xla"}),
    )
    rows = shown(table(report.tables, "First-call time breakdown"))
    assert [row[4:7] for row in rows] == [("10.0", "0.0", "90.0"), ("", "50.0", "50.0")]


def test_a_framework_without_counters_has_no_split(reported: Reported, make_result: Make) -> None:
    report = reported([make_result(calls=[cold(1_000, executions=3)])])
    assert function(report)["cold_split"] is None
    assert len(report.tables) == 1


def times(make_result: Make, make_call: Make, name: str, cold_ns: int, steady_ns: int) -> Document:
    return make_result(name, calls=[make_call(cold_ns, 0, (steady_ns,), 1)])


def test_synchronizations_are_never_pooled_and_are_shown_side_by_side(
    reported: Reported, make_result: Make, make_call: Make
) -> None:
    complete = [
        times(make_result, make_call, "torch.a", 4_000_000, 2_000),
        times(make_result, make_call, "torch.b", 4_000_000, 2_000),
        times(make_result, make_call, "torch.c", 4_000_000, 2_000),
        make_result("torch.d", sync_check=proof(True) | {"left_ns": 1_000_000}),
    ]
    study = [
        times(make_result, make_call, "torch.a", 1_000_000, 1_000),
        times(make_result, make_call, "torch.b", 2_000_000, 200),
        times(make_result, make_call, "torch.c", 3_000_000, 1_600),
        make_result("torch.d", outcome="failed"),
        make_result("torch.e", sync_check=proof(False, 1.0, "it only starts the work") | {"left_ns": 3_000_000}),
    ]
    report = reported(complete, (study, {"sync": "as-published"}))
    apart = {entry["sync"]: entry for entry in report.summary["targets"]}
    assert sorted(apart) == ["as-published", "complete"]
    assert apart["complete"]["percent_of_rated_functions"]["all_pass"] == 100
    assert apart["as-published"]["percent_of_rated_functions"]["all_pass"] == 80
    assert [run["sync"] for run in report.summary["run_files"]].count("as-published") == 1

    (target,) = report.targets
    assert [row[-2] for row in shown(target.functions)] == ["4.00", "4.00", "4.00", "1.50"]
    assert not [part for part in report.tables if part.title.startswith("Synchronization check")]
    overall = table(report.tables, "Synchronization as published: median ratio")
    assert shown(overall) == ((XLA, "box", "3", "0.500", "0.500", "25.0", "80.0", "no: it only starts the work"),)
    of_functions = table(report.tables, f"Synchronization of {XLA} on box")
    assert shown(of_functions) == (
        ("torch.a", "4.00", "1.00", "0.250", "2.00", "1.00", "0.500"),
        ("torch.b", "4.00", "2.00", "0.500", "2.00", "0.200", "0.100"),
        ("torch.c", "4.00", "3.00", "0.750", "2.00", "1.60", "0.800"),
    )


def test_a_study_with_the_papers_synchronization_alone_is_marked(reported: Reported, make_result: Make) -> None:
    report = reported(([make_result()], {"sync": "as-published"}))
    assert [target.target for target in report.targets] == [f"{XLA} (synchronization as published)"]
    assert not report.is_empty
    assert not [part for part in report.tables if part.title.startswith("Synchronization")]


HOSTILE = "\x1b[2J\u202e[bold]x[/]|`<script>alert(1)</script>[b](https://evil.example)"


def test_hostile_text_reaches_neither_terminal_nor_markdown(
    write: Write, make_run: Make, make_result: Make, portbench: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    error = {"type": "Mismatch", "message": "wrong", "traceback": "", "causes": []}
    found = [
        make_result(HOSTILE, HOSTILE, outcome="failed", error=error, value_verdict="wrong", deviation=deviation(1.0)),
        make_result(HOSTILE, "b", placement=placed("host", HOSTILE), calls=[cold(1_000, compile_ns=1)]),
        make_result("torch.dot", "c", sync_check=proof(False, 1.0, HOSTILE), calls=NO_TIMES),
    ]
    found[0]["deviation"]["dtype"] = HOSTILE
    for sync in ("complete", "as-published"):
        write(f"runs/of-{sync}.json", make_run(found, target=XLA, machine=HOSTILE, sync=sync))
    monkeypatch.setenv("COLUMNS", "1000")
    arguments = ("report", tmp_path / "runs", "--strict-placement")
    shown = portbench(*arguments).stdout
    result = portbench(*arguments, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.exception
    text = (tmp_path / "out" / "report.md").read_text()
    assert all(line.isprintable() for line in [*shown.splitlines(), *text.splitlines()])
    assert "<script>" not in text and "https://" not in text and "[b](" not in text
    # Ten rows of sections and titles have it, some twice.
    assert shown.count("[bold]x[/]|`<script>") >= 10
    assert text.count("script&gt;alert") >= 10


def test_merge_marks_targets_with_the_papers_synchronization(
    write: Write, make_run: Make, portbench: Command, tmp_path: Path
) -> None:
    for sync in ("complete", "as-published"):
        write(f"runs/of-{sync}.json", make_run(sync=sync))
    done = portbench("merge", tmp_path / "runs", "-o", tmp_path / "study").stdout.splitlines()
    assert done[1:] == [
        "  torch-2.9.0-cpu on box: 1 function",
        "  torch-2.9.0-cpu on box, synchronization as published: 1 function",
    ]


def test_the_terminal_and_markdown_show_the_same_tables(portbench: Command, tmp_path: Path) -> None:
    example = EXAMPLES / "run" / "valid" / "second_opinions.json"
    portbench("report", example, "-o", tmp_path)
    shown = portbench("report", example).stdout
    text = (tmp_path / "report.md").read_text()
    for title in (
        "Synchronization check failed: no latencies",
        "First-call time breakdown, in percent",
        "Wrong values",
        "Failed by precision",
        MISPLACED,
        "First-call time breakdown, in ms",
    ):
        assert title in shown
        assert f"# {title}\n" in text
    assert "Of 4 failing tests 3 fail only on the device" in " ".join(shown.split())


def test_tests_contaminated_by_an_earlier_one_are_listed_with_their_first_outcome(
    reported: Reported, make_result: Make
) -> None:
    error = {"type": "RuntimeError", "message": "Error while\n lowering: cumprod", "traceback": "", "causes": []}
    first = {"outcome": "failed", "reason": None, "category": "not_implemented", "error": error}
    hung = {"outcome": "timed_out", "reason": "no result within 1 s", "category": "timeout", "error": None}
    report = reported(
        [
            make_result(test="a", run=1, contaminated=first),
            make_result(test="a", run=2, contaminated=first),
            make_result(test="b", outcome="failed", contaminated=hung),
            make_result(test="c", contaminated=None),
        ]
    )
    assert shown(table(report.tables, "Failed after")) == (
        (XLA, "box", "torch.cat", "a", "2", "failed", "not implemented", "Error while lowering: cumprod", "passed"),
        (XLA, "box", "torch.cat", "b", "1", "timed out", "timeout", "no result within 1 s", "failed"),
    )
    assert function(report)["tests_by_verdict"] == {"passed": 2, "failed": 1, "flaky": 0, "skipped": 0, "error": 0}


def test_tests_disturbed_from_outside_have_a_table_of_their_own(reported: Reported, make_result: Make) -> None:
    killed = {
        "outcome": "crashed", "reason": "the worker was ended by SIGKILL", "category": "crash", "error": None,
    }  # fmt: skip
    report = reported([make_result(test="a", disturbed=killed), make_result(test="b", disturbed=None)])
    assert shown(table(report.tables, "Disturbed from outside")) == (
        (XLA, "box", "torch.cat", "a", "1", "crashed", "crash", "the worker was ended by SIGKILL", "passed"),
    )
    assert not [found for found in report.tables if found.title.startswith("Failed after")]

"""What a report says about time: the timeline of a study of many days and versions, and what changed since."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from portbench.analysis.results import compute_results
from portbench.cli import cli
from portbench.errors import PortbenchError
from portbench.formats.documents import read_document
from tests.browser.studies import write_runs
from tests.unit.host.conftest import result_document, run_document, timed_call
from tests.unit.host.opened_study import opened

Document = dict[str, Any]
Outcomes = Mapping[str, list[str]]
Report = Callable[..., Result]

PASSED: Outcomes = {"torch.cat": ["passed", "passed"], "torch.dot": ["passed"], "torch.old": ["passed"]}
BROKEN: Outcomes = {**PASSED, "torch.cat": ["passed", "failed"]}


def night(day: str, functions: Outcomes, block_ns: int = 2_000_000, **changes: Any) -> Document:
    """The run file of a day: three runs of each test."""
    results = []
    for function, outcomes in functions.items():
        for place, outcome in enumerate(outcomes):
            for run in (1, 2, 3):
                facts = {"calls": [calls(block_ns, run)]} if outcome == "passed" else {}
                results.append(result_document(function, f"t{place}", run, outcome=outcome, **facts))
    return run_document(results, started_at=f"{day}T02:00:00Z", ended_at=f"{day}T02:10:00Z", **changes)


def calls(block_ns: int, run: int) -> Document:
    """Times that differ a little from run to run."""
    return timed_call(block_ns=tuple(block_ns + 1000 * run + 100 * place for place in range(6)))


NIGHTS = [
    night("2026-11-18", PASSED),
    night("2026-11-19", BROKEN),
    night("2026-11-20", PASSED),
    night("2026-11-21", {**BROKEN, "torch.new": ["passed"]}),
]


@pytest.fixture
def report(tmp_path: Path) -> Report:
    """Reports on run documents."""

    def make(documents: list[Document], *words: str) -> Result:
        runs = tmp_path / "runs"
        if not runs.exists():
            write_runs(documents, runs)
        return CliRunner().invoke(cli, ["report", str(runs), *words], env={"COLUMNS": "250"})

    return make


def changes(report: Report, documents: list[Document], since: str) -> Document:
    """What changed on the only target, as JSON."""
    result = report(documents, "--since", since, "--json")
    assert result.exit_code == 0, result.output
    (pair,) = json.loads(result.output)["pairs"]
    assert isinstance(pair, dict)
    return pair


def test_each_side_has_the_last_results_of_each_test_and_no_test_is_flaky(report: Report) -> None:
    pair = changes(report, NIGHTS, "2026-11-21")
    assert [(each["function"], each["test"]) for each in pair["new_failures"]] == [("torch.cat", "t1")]
    assert pair["flaky"] == []
    assert (pair["first_runs"], pair["second_runs"]) == (3, 3)


def test_a_function_that_passes_again_is_fixed(report: Report) -> None:
    result = report(NIGHTS[:3], "--since", "2026-11-20")
    assert re.search(r"torch\.cat +fixed +some fail +all tests pass +t1", result.output)


def test_a_change_that_was_taken_back_is_none(report: Report) -> None:
    assert changes(report, NIGHTS[:3], "2026-11-19")["functions"] == []
    result = report(NIGHTS[:3], "--since", "2026-11-19")
    assert "Nothing changed." in result.output


def test_an_instant_divides_a_day(report: Report) -> None:
    evening = night("2026-11-19", PASSED)
    evening |= {"started_at": "2026-11-19T20:00:00Z", "ended_at": "2026-11-19T20:10:00Z", "run_id": "e" * 32}
    documents = [*NIGHTS[:2], evening]
    assert [each["after"] for each in changes(report, documents, "2026-11-19T21:00+02:00")["functions"]] == ["all_pass"]


def test_tests_that_ran_on_another_day_than_others_count_with_their_own_last_day(report: Report) -> None:
    parts = [
        night("2026-11-18", {"torch.cat": ["passed"]}),
        night("2026-11-19", {"torch.dot": ["passed"]}),
        night("2026-11-20", {"torch.cat": ["failed"]}),
        night("2026-11-21", {"torch.dot": ["failed"]}),
    ]
    pair = changes(report, parts, "2026-11-20")
    assert [each["function"] for each in pair["functions"]] == ["torch.cat", "torch.dot"]


def test_the_terminal_and_the_files_begin_with_what_changed(report: Report, tmp_path: Path) -> None:
    result = report(NIGHTS, "--since", "2026-11-21", "-o", str(tmp_path / "out"))
    assert result.exit_code == 0, result.output
    markdown = (tmp_path / "out" / "report.md").read_text("utf-8")
    for text in (result.output, markdown):
        assert text.index("Changes since 2026-11-21") < text.index("Headlines")
        assert re.search(r"torch\.cat.*broke.*all tests pass.*some fail.*t1: RuntimeError: it does not work", text)
        assert re.search(r"torch\.new.*added.*not tested.*all tests pass", text)
        assert re.search(r"2026-11-20.*2026-11-21", text)
    page = (tmp_path / "out" / "index.html").read_text("utf-8")
    assert page.index("Changes since 2026-11-21") < page.index('id="findings"')
    assert "<td>torch.new</td>" in page


def test_a_slower_test_is_named_with_its_times(report: Report) -> None:
    nights = [night("2026-11-18", PASSED), night("2026-11-19", PASSED, block_ns=4_000_000)]
    result = report(nights, "--since", "2026-11-19")
    assert "Times that changed since 2026-11-19" in result.output
    assert re.search(r"torch\.dot.*t0.*slower, steady state +20\.\d.* +40\.\d", result.output)
    assert "Nothing changed" not in result.output


def test_a_new_version_is_compared_with_the_one_before_it(report: Report) -> None:
    removed: Outcomes = {**BROKEN, "torch.old": ["skipped"]}
    documents = [*NIGHTS[:1], night("2026-11-22", removed, target="torch-2.10.0-cpu")]
    result = report(documents, "--since", "2026-11-20")
    assert re.search(r"torch-2\.10\.0-cpu.*2\.9\.0, 2026-11-18.*2\.10\.0, 2026-11-22", result.output)
    assert re.search(r"torch\.old.*removed", result.output)


def test_since_a_version_is_what_changed_up_to_the_newest(report: Report) -> None:
    documents = [
        night("2026-11-18", PASSED, target="torch-2.8.0-cpu"),
        night("2026-11-18", BROKEN, target="torch-2.9.0-cpu"),
        night("2026-11-18", {**PASSED, "torch.dot": ["failed"]}, target="torch-2.10.0-cpu"),
        night("2026-11-18", PASSED, target="torch-2.8.0-xla"),
    ]
    result = report(documents, "--since", "2.8.0")
    assert result.exit_code == 0, result.output
    assert re.search(r"torch\.dot.*broke", result.output)
    assert not re.search(r"torch\.cat.*broke", result.output)
    assert re.search(r"torch-2\.8\.0-xla.*no newer version ran", result.output)
    assert report(documents, "--since", "torch-2.9.0").exit_code == 0


def test_targets_with_results_on_one_side_only_are_named(report: Report) -> None:
    documents = [*NIGHTS[:2], night("2026-11-18", PASSED, machine="old"), night("2026-11-19", PASSED, machine="new")]
    result = report(documents, "--since", "2026-11-19")
    assert re.search(r"torch-2\.9\.0-cpu on old +has no results since", result.output)
    assert re.search(r"torch-2\.9\.0-cpu on new +has no results before", result.output)


def test_the_comparison_as_json_fits_its_schema(report: Report, tmp_path: Path) -> None:
    (tmp_path / "since.json").write_text(report(NIGHTS, "--since", "2026-11-20", "--json").output, "utf-8")
    assert read_document(tmp_path / "since.json").kind == "comparison"


@pytest.mark.parametrize(
    ("since", "status", "message"),
    [
        ("2026-13-45", 2, "--since 2026-13-45 is no date: month must be in 1..12"),
        ("2026-11", 2, "--since 2026-11 is no date"),
        ("yesterday", 2, "--since yesterday is neither a date nor a version of this study"),
        ("2.9.1", 2, "neither a date nor a version of this study; did you mean 2.9.0"),
        ("", 2, "is neither a date nor a version"),
        ("2.9.0", 2, "no version that is newer than 2.9.0 ran"),
        ("2026-11-18", 2, "nothing ran before 2026-11-18, so nothing can have changed since: the first run file"),
        ("2026-12-24", 4, "nothing ran since 2026-12-24: the newest run file of this study is of 2026-11-21"),
    ],
)
def test_what_is_no_moment_of_the_study_is_an_error_that_says_why(
    report: Report, since: str, status: int, message: str
) -> None:
    result = report(NIGHTS, "--since", since)
    assert isinstance(result.exception, PortbenchError)
    assert message in str(result.exception)
    assert result.exception.remedy
    assert result.exception.exit_status == status


def test_the_timeline_has_each_day_and_the_last_result_of_what_did_not_run(tmp_path: Path) -> None:
    part = night("2026-11-22", {"torch.dot": ["failed"]})
    lines = compute_results(opened([*NIGHTS, part], tmp_path)).timeline.by_date
    points = [(point.place, point.counts["all_pass"], point.rated) for point in lines[0].points]
    assert points == [
        ("2026-11-18", 3, 3),
        ("2026-11-19", 2, 3),
        ("2026-11-20", 3, 3),
        ("2026-11-21", 3, 4),
        ("2026-11-22", 2, 4),
    ]
    assert len(lines) == 1


def test_the_timeline_by_version_has_the_rates_of_the_report(tmp_path: Path) -> None:
    documents = [
        night("2026-11-18", PASSED, target="torch-2.8.0-cpu"),
        night("2026-11-18", BROKEN, target="torch-2.10.0-cpu"),
        night("2026-11-18", PASSED, target="torch-2.9.0-cpu"),
        night("2026-11-18", PASSED, target="torch-2.8.0-xla"),
    ]
    results = compute_results(opened(documents, tmp_path))
    (line,) = results.timeline.by_version
    points = [(point.place, round(point.percent)) for point in line.points]
    assert points == [("2.8.0", 100), ("2.9.0", 100), ("2.10.0", 67)]
    assert results.timeline.by_date == ()


def test_a_study_of_many_days_has_a_timeline_in_text_figure_and_page(report: Report, tmp_path: Path) -> None:
    other = night("2026-11-21", PASSED, target="torch-2.10.0-cpu")
    result = report([*NIGHTS, other], "-o", str(tmp_path / "out"))
    assert re.search(
        r"torch-2\.9\.0-cpu +box +4 +2026-11-18 +100\.0 +2026-11-21 +75\.0 +66\.7 +2026-11-19", result.output
    )
    figures = {path.name for path in (tmp_path / "out" / "figures").glob("timeline*.svg")}
    assert figures == {"timeline-by-date.svg", "timeline-by-version.svg"}
    captions = (tmp_path / "out" / "figures" / "README.md").read_text("utf-8")
    assert "100.0 % of 3 functions (2026-11-18) to 75.0 % of 4 (2026-11-21) over 4 points" in captions
    page = (tmp_path / "out" / "index.html").read_text("utf-8")
    assert page.count('class="chart"') == 2
    assert "torch: percent of functions whose tests all pass, by date (UTC)" in page


def test_a_study_of_one_day_and_version_has_no_timeline(report: Report, tmp_path: Path) -> None:
    result = report(NIGHTS[:1], "-o", str(tmp_path / "out"))
    assert "Functions that pass, by date" not in result.output
    assert 'id="timeline"' not in (tmp_path / "out" / "index.html").read_text("utf-8")
    assert "no target ran on several days" in (tmp_path / "out" / "report.md").read_text("utf-8")

"""``portbench report``: what a reader sees on the terminal, in Markdown and as JSON."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from markdown_it import MarkdownIt

from portbench.errors import BadInput, NothingRan, StorageFailed
from portbench.formats.documents import read_document
from portbench.report.build import build_report
from portbench.report.markdown import markdown
from portbench.study.merge import merge
from portbench.study.open import analysed, study_of
from portbench.util.format import significant
from portbench.util.text import escape_control

Document = dict[str, Any]
Write = Callable[[str, Any], Path]
Make = Callable[..., Document]
Command = Callable[..., Result]

NAME = "torch.nn.Conv2d"


@pytest.fixture
def results(write: Write, make_run: Make, make_result: Make, make_call: Make) -> Path:
    """A folder of run files: one target where all passes, one where a function has each status."""
    write("results/cpu.json", make_run([make_result(NAME), make_result("torch.cat")]))
    error = {"type": "ValueError", "message": "\nfirst line\nsecond line", "traceback": "", "causes": []}
    on_host = {"verdict": "host", "evidence": [], "host_operations": ["aten::sort", "aten::nonzero"]}
    found = [
        make_result("torch.cat", "a", 1, calls=[make_call(12_345_678, 0, (1_234_567,), 1)], placement=on_host),
        make_result("torch.dot", "a", 1),
        make_result("torch.dot", "b", 1, outcome="failed", error=error, category="type"),
        make_result("torch.dot", "c", 1),
        make_result("torch.dot", "c", 2, outcome="crashed"),
        make_result(NAME, "a", 1, outcome="timed_out"),
        make_result("torch.new", "a", 1, outcome="skipped"),
    ]
    return write("results/xla.json", make_run(found, target="torch-2.9.0-xla")).parent


def test_the_markdown_in_full(results: Path, portbench: Command, tmp_path: Path) -> None:
    result = portbench("report", results, "-o", tmp_path / "new" / "report")
    assert result.exit_code == 0, result.output
    text = (tmp_path / "new" / "report" / "report.md").read_text("utf-8")
    tables = [line for line in text.splitlines() if line.startswith(("|", "#"))]
    assert re.sub(r"`[0-9a-f]{12}`", "`<fingerprint>`", "\n".join(tables)) == (
        "# Portability report\n"
        "## Findings\n"
        "## Headlines\n"
        "## Files\n"
        "## Percent of functions\n"
        "| target | machine | all pass | some fail | all fail | total | not testable | removed | wrong |\n"
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        "| `torch-2.9.0-cpu` | `box` | 100.0 | 0.0 | 0.0 | 2 | 0 | 0 | - |\n"
        "| `torch-2.9.0-xla` | `box` | 33.3 | 33.3 | 33.3 | 4 | 0 | 1 | - |\n"
        "## Functions left out of all percentages: not testable\n"
        "| target | machine | which | reason | functions |\n"
        "| --- | --- | --- | --- | ---: |\n"
        "| `torch-2.9.0-xla` | `box` | torch.new | removed: the function is not in this version | 1 |\n"
        "## Failures by cause\n"
        "| fingerprint | category | cause | tests | functions | targets |\n"
        "| --- | --- | --- | ---: | ---: | ---: |\n"
        "| `<fingerprint>` | `crash` | torch: SIGSEGV: torch.dot | 1 | 1 | 1 |\n"
        "| `<fingerprint>` | `type` | torch: ValueError: first line | 1 | 1 | 1 |\n"
        "| `<fingerprint>` | `timeout` | torch: timed out in call: torch.nn.Conv2d | 1 | 1 | 1 |\n"
        "## `torch-2.9.0-cpu` on `box`\n"
        "| function | status | tests passed | first call ms | steady state µs |\n"
        "| --- | --- | ---: | ---: | ---: |\n"
        "| `torch.cat` | all tests pass | 1/1 | 1.50 | 20.0 |\n"
        "| `torch.nn.Conv2d` | all tests pass | 1/1 | 1.50 | 20.0 |\n"
        "## `torch-2.9.0-xla` on `box`\n"
        "| function | status | ran on | tests passed | first call ms | steady state µs |\n"
        "| --- | --- | --- | ---: | ---: | ---: |\n"
        "| `torch.cat` | all tests pass | host | 1/1 | 12.3 | 1,235 |\n"
        "| `torch.dot` | some fail | device | 1/3 (1 flaky) | 1.50 | 20.0 |\n"
        "| `torch.new` | removed | - | - | - | - |\n"
        "| `torch.nn.Conv2d` | all tests fail | - | 0/1 | - | - |\n"
        "### Why tests did not pass\n"
        "| function | status | category | fails | evidence |\n"
        "| --- | --- | --- | --- | --- |\n"
        "| `torch.nn.Conv2d` | all tests fail | timeout | - | timed out: no result within 900 s |\n"
        "| `torch.dot` | some fail | crash | - | crashed: the worker was ended by SIGSEGV (and 1 more) |\n"
        "### Flaky tests\n"
        "| function | test | category | runs passed |\n"
        "| --- | --- | --- | ---: |\n"
        "| `torch.dot` | `c` | crash | 1/2 |\n"
        "### Did not run\n"
        "| function | reason | tests |\n"
        "| --- | --- | ---: |\n"
        "| `torch.new` | torch.new is not in this version | 1 |\n"
        "### Passed, but not on the device\n"
        "| function | ran on | on the host | tests |\n"
        "| --- | --- | --- | ---: |\n"
        "| `torch.cat` | host | aten::nonzero, aten::sort | 1 |"
    )


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_terminal_shows_all_within_its_width(
    results: Path, width: int, portbench: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    shown = portbench("report", results).stdout
    # A command is on one line, to be copied.
    assert max(len(line) for line in shown.splitlines() if not line.startswith("next: ")) <= width
    for part in (
        "torch-2.9.0-xla on box",
        "1/3 (1 flaky)",
        "timed out: no result within 900 s",
        "(and 1 more) crashed: the worker was ended",
        "Did not run",
        "Passed, but not on the device",
        "paper's method",
    ):
        assert part in " ".join(shown.split())
    if width < 120:
        return  # Figures are below the names there.
    rows = {tuple(line.split()) for line in shown.splitlines()}
    assert ("torch-2.9.0-xla", "box", "33.3", "33.3", "33.3", "4", "0", "1", "-") in rows
    assert ("torch.cat", "all", "tests", "pass", "host", "1/1", "12.3", "1,235") in rows


def test_a_large_api_has_a_table_by_module_and_lists_what_does_not_pass(
    write: Write, make_run: Make, make_result: Make, portbench: Command, tmp_path: Path
) -> None:
    found = [make_result(f"torch.f{number}") for number in range(200)]
    found += [make_result(f"torch.nn.functional.g{number}") for number in range(101)]
    found.append(make_result("torch.nn.Bad", outcome="failed", category="type"))
    runs = write("results/cpu.json", make_run(found)).parent
    printed = portbench("report", runs, "-o", tmp_path / "report").output
    written = (tmp_path / "report" / "report.md").read_text("utf-8")
    assert (
        "| `torch` | 200 | 200 | 0 | 0 | 0 | 100.0 |\n"
        "| `torch.nn.functional` | 101 | 101 | 0 | 0 | 0 | 100.0 |\n"
        "| `torch.nn` | 1 | 0 | 0 | 1 | 0 | 0.0 |\n"
    ) in written
    for text in (printed, written):
        assert "301 functions more, whose tests all pass: the page lists them." in " ".join(text.split())
        assert "torch.nn.Bad" in text
        assert "torch.f7" not in text


def test_the_evidence_is_the_first_line_with_text(write: Write, make_run: Make, make_result: Make) -> None:
    error = {"type": "ValueError", "message": "\n  first line\nsecond line", "traceback": "", "causes": []}
    path = write("run.json", make_run([make_result(outcome="failed", error=error, category="type")]))
    with study_of([str(path)]) as study, analysed(study) as shown:
        (failure,) = build_report(shown).targets[0].failures
    assert (failure.category, failure.evidence, failure.others) == ("type", "ValueError: first line", 0)


def test_a_study_and_its_run_files_give_the_same_report(results: Path, portbench: Command, tmp_path: Path) -> None:
    merge([str(results)], tmp_path / "study")
    files = sorted(results.iterdir())
    shown = [portbench("report", *given).stdout for given in ([tmp_path / "study"], [results], files)]
    # What to type next names the study.
    assert len({text.partition("next: ")[0] for text in shown}) == 1


def test_json_is_the_summary(results: Path, portbench: Command, tmp_path: Path) -> None:
    result = portbench("report", results, "--json", "-o", tmp_path / "out")
    path = tmp_path / "summary.json"
    path.write_text(result.stdout)
    assert len(read_document(path, "study").data["targets"]) == 2
    assert (tmp_path / "out" / "report.md").exists()


def test_without_an_output_folder_nothing_is_written(
    results: Path, portbench: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    portbench("report", results)
    assert sorted(tmp_path.rglob("*")) == before


HOSTILE = (
    "\x1b[2J\u202e[bold]x[/]|`<script>alert(1)</script>![a](https://evil.example)[b](c)*d* _e_ ~~f~~\n"
    "next &lt; last www.evil.example"
)


def test_hostile_text_reaches_neither_terminal_nor_markdown(
    write: Write, make_run: Make, make_result: Make, portbench: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = {"type": HOSTILE, "message": HOSTILE, "traceback": "", "causes": []}
    found = [
        make_result(HOSTILE, outcome="failed", error=error),
        make_result("torch.new", outcome="skipped", reason=HOSTILE),
        make_result("torch.cat"),
    ]
    path = write("run.json", make_run(found, machine=HOSTILE))
    monkeypatch.setenv("COLUMNS", "400")
    shown = portbench("report", path).stdout
    # Machine three times, in two headlines and a finding, function twice and in a command, reason twice, and evidence
    # and cause with type and message.
    assert shown.count("[bold]x[/]|`<script>") == 15
    assert all(line.isprintable() for line in shown.splitlines())
    with study_of([str(path)]) as study, analysed(study) as found_again:
        text = markdown(build_report(found_again))
    assert "\\x1b" in text
    assert all(line.isprintable() for line in text.splitlines())
    assert "https://" not in text and "www.evil" not in text  # GitHub makes links of these
    page = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)
    allowed = {"h1", "h2", "h3", "p", "table", "thead", "tbody", "tr", "th", "td", "code"}
    assert set(re.findall(r"<(\w+)", page)) == allowed
    cells = [html.unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", page)]
    assert escape_control(HOSTILE) in cells


def test_where_nothing_ran_the_report_says_why_and_fails(
    write: Write, make_run: Make, make_result: Make, portbench: Command
) -> None:
    result = portbench("report", write("run.json", make_run([make_result(outcome="skipped")])))
    assert isinstance(result.exception, NothingRan)
    assert "torch.cat is not in this version" in " ".join(result.stdout.split())
    assert "100.0" not in result.stdout
    assert "0.0" not in result.stdout


def test_a_study_without_tables_is_refused(results: Path, portbench: Command, tmp_path: Path) -> None:
    study = merge([str(results)], tmp_path / "study").study
    shutil.rmtree(study.tables / "samples")
    assert isinstance(portbench("report", study.path).exception, BadInput)


def test_an_output_that_cannot_be_written_is_an_error(results: Path, portbench: Command, write: Write) -> None:
    result = portbench("report", results, "-o", write("file", "") / "report")
    assert isinstance(result.exception, StorageFailed)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (0.000123456, "0.00012"),
        (0.0123456, "0.0123"),
        (0.00123456, "0.00123"),
        (0.123456, "0.123"),
        (1.23456, "1.23"),
        (12.3456, "12.3"),
        (123.456, "123"),
        (1234567.8, "1,234,568"),
    ],
)
def test_numbers_have_sensible_digits(value: float, shown: str) -> None:
    assert significant(value) == shown


@pytest.mark.parametrize(("command", "status"), [("report", 2), ("merge", 2), ("validate", 2)])
def test_a_mistake_is_one_message_and_no_traceback(command: str, status: int, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{")
    arguments = [command, "bad.json", *(["-o", "study"] if command == "merge" else [])]
    script = "from portbench.cli import main; main()"
    environment = {**os.environ, "COLUMNS": "80"}
    ended = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    said = ended.stdout + ended.stderr
    assert ended.returncode == status
    assert "bad.json: line 1, column 2: not JSON" in said
    assert "Fix the file" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("command", ["validate", "merge", "report"])
def test_help_has_an_example(command: str, portbench: Command) -> None:
    shown = portbench(command, "--help").stdout
    assert f"portbench {command} " in shown.partition("Examples:")[2]
    assert json.dumps(shown).isascii()


def test_a_target_that_ran_with_the_papers_synchronization_only_is_reported(
    write: Write, make_run: Make, portbench: Command
) -> None:
    runs = [make_run(), make_run(sync="as-published"), make_run(target="torch-2.9.0-xla", sync="as-published")]
    files = [write(f"runs/{number}.json", document) for number, document in enumerate(runs)]
    shown = portbench("report", *files).stdout
    assert "torch-2.9.0-xla (synchronization as published) on box" in shown
    assert "torch-2.9.0-cpu on box" in shown
    assert "torch-2.9.0-cpu (synchronization as published) on box ─" not in shown


def test_tests_of_which_nothing_was_recorded_are_distinguished_from_skipped_ones(
    write: Write, make_run: Make, make_result: Make, portbench: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    stratum = {"decile": None, "uses": None, "top20": None, "listed_as": None}
    listed = [{"name": name, "tests": 3, **stratum} for name in ("torch.cat", "torch.dot", "torch.sum")]
    document = make_run([make_result("torch.cat", "a"), make_result("torch.dot", "a", outcome="skipped")])
    document["manifest"]["functions"] = listed
    shown = portbench("report", write("run.json", document)).stdout
    missing = shown.partition("Missing: nothing was recorded")[2].splitlines()
    rows = {tuple(line.split()) for line in missing}
    assert {("torch.cat", "2"), ("torch.dot", "2"), ("torch.sum", "all")} <= rows
    assert "In all 7 tests of the manifest. They count in no rate." in missing
    assert "Did not run" in shown

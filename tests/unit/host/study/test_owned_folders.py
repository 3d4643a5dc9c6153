"""Merge and report write only into folders of their own, and remove only what they wrote."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.paths import ROOT

Write = Callable[[str, Any], Path]
Make = Callable[..., dict[str, Any]]
Command = Callable[..., Result]

OLDER = ROOT / "tests" / "unit" / "host" / "older_studies" / "version_4"


@pytest.fixture
def run_file(write: Write, make_run: Make) -> Path:
    return write("run.json", make_run())


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_merge_removes_its_own_tables_and_no_other_folder(
    run_file: Path, write: Write, make_run: Make, portbench: Command, tmp_path: Path
) -> None:
    study = tmp_path / "study"
    assert portbench("merge", run_file, "-o", study).exit_code == 0
    mine = ["tables-of-mine", "tables-0123456789abcdef", ".merging-mine", ".writing-0123456789abcdef"]
    for name in mine:
        (study / name).mkdir()
        (study / name / "kept").write_text("")
    assert portbench("merge", write("2.json", make_run(machine="b")), "-o", study).exit_code == 0
    assert all((study / name / "kept").exists() for name in mine)
    assert len(names(study)) == len(mine) + 3


@pytest.mark.parametrize("entry", ["tables-of-mine", "tables-0123456789abcdef", ".merging-mine", "notes.md"])
@pytest.mark.parametrize("command", ["merge", "report"])
def test_a_folder_of_somebody_else_is_refused(
    command: str, entry: str, run_file: Path, portbench: Command, tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    (folder / entry).mkdir(parents=True)
    result = portbench(command, run_file, "-o", folder)
    assert "portbench wrote nor empty" in str(result.exception)
    assert names(folder) == {entry}


def test_a_report_replaces_what_an_earlier_one_wrote_and_nothing_else(
    run_file: Path, portbench: Command, tmp_path: Path
) -> None:
    report = tmp_path / "report"
    assert portbench("report", run_file, "-o", report).exit_code == 0
    first = {path.relative_to(report) for path in report.rglob("*")}
    marker = json.loads((report / ".portbench.json").read_text())
    marker["written"] += ["figures/times-9.svg"]
    (report / ".portbench.json").write_text(json.dumps(marker))
    (report / "figures" / "times-9.svg").write_text("of an earlier study")
    (report / "figures" / "times-8.svg").write_text("mine")
    (report / "notes.md").write_text("mine")
    assert portbench("report", run_file, "-o", report).exit_code == 0
    left = {path.relative_to(report) for path in report.rglob("*")}
    assert left == first | {Path("figures/times-8.svg"), Path("notes.md")}


def test_a_file_with_a_name_of_the_report_is_never_overwritten(
    run_file: Path, portbench: Command, tmp_path: Path
) -> None:
    report = tmp_path / "report"
    report.mkdir()
    (report / ".portbench.json").write_text('{"schema": "portbench/folder", "kind": "report", "written": []}')
    (report / "index.html").write_text("mine")
    result = portbench("report", run_file, "-o", report)
    assert "index.html was not written by portbench, and stays as it is" in str(result.exception)
    assert (report / "index.html").read_text() == "mine"
    assert names(report) == {"index.html"}


def test_a_report_does_not_go_into_a_study(run_file: Path, portbench: Command, tmp_path: Path) -> None:
    study = tmp_path / "study"
    assert portbench("merge", run_file, "-o", study).exit_code == 0
    before = names(study)
    assert "is not a report" in str(portbench("report", study, "-o", study).exception)
    assert names(study) == before


def test_a_marker_of_a_stranger_removes_nothing_outside(
    run_file: Path, write: Write, make_run: Make, portbench: Command, tmp_path: Path
) -> None:
    study, outside = tmp_path / "study", tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("")
    assert portbench("merge", run_file, "-o", study).exit_code == 0
    marker = json.loads((study / ".portbench.json").read_text())
    (study / "tables-ffffffffffffffff").symlink_to(outside)
    marker["written"] += ["../outside", str(outside), "tables-ffffffffffffffff", "tables-ffffffffffffffff/kept", "."]
    (study / ".portbench.json").write_text(json.dumps(marker))
    assert portbench("merge", write("2.json", make_run(machine="b")), "-o", study).exit_code == 0
    assert (outside / "kept").exists()


@pytest.mark.parametrize("content", ["{", "[]", '{"schema": "portbench/folder", "kind": "study", "written": 7}'])
def test_a_damaged_marker_is_one_message(content: str, run_file: Path, portbench: Command, tmp_path: Path) -> None:
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / ".portbench.json").write_text(content)
    result = portbench("merge", run_file, "-o", tmp_path / "study")
    assert result.exception.exit_status == 2
    assert ".portbench.json" in str(result.exception)


def test_a_study_of_an_older_version_is_replaced(run_file: Path, portbench: Command, tmp_path: Path) -> None:
    study = tmp_path / "study"
    shutil.copytree(OLDER, study)
    tables = json.loads((study / "study.json").read_text())["tables"]
    (study / "tables-of-mine").mkdir()
    assert portbench("merge", run_file, "-o", study).exit_code == 0
    assert not (study / tables).exists()
    assert (study / "tables-of-mine").exists()
    assert len(names(study)) == 4

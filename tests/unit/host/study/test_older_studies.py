"""Studies of older versions of portbench (older_studies/) can be read, reported and merged into."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from portbench.formats.documents import read_document
from portbench.study.merge import merge
from portbench.study.store import read_study
from tests.paths import OLDER_STUDIES

STUDIES = OLDER_STUDIES
Make = Callable[..., dict[str, Any]]


@pytest.fixture(params=[1, 2, 3])
def study(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of one: torch 2.9.0 on xla, where torch.dot passes one of two tests."""
    return Path(shutil.copytree(STUDIES / f"version_{request.param}", tmp_path / "study"))


def test_an_older_study_is_reported(
    study: Path, portbench: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert read_study(study).summary["schema_version"] in (1, 2, 3)
    shown = portbench("report", study)
    assert shown.exit_code == 0, shown.output
    rows = {tuple(line.split()) for line in shown.stdout.splitlines()}
    assert ("torch-2.9.0-xla", "box", "50.0", "50.0", "0.0", "3", "1", "-") in rows
    assert ("torch.cat", "all", "tests", "pass", "device", "1/1", "2.50", "20.0") in rows
    assert ("torch.dot", "some", "fail", "device", "1/2", "1.50", "20.0") in rows
    for unknown in ("Wrong values", "Synchronization", "First-call time breakdown"):
        assert unknown not in shown.stdout


def test_its_summary_as_json_has_the_present_version(
    study: Path, portbench: Callable[..., Result], tmp_path: Path
) -> None:
    path = tmp_path / "summary.json"
    path.write_text(portbench("report", study, "--json").stdout)
    summary = read_document(path, "study").data
    assert summary["schema_version"] == 4
    (target,) = summary["targets"]
    assert target["sync"] == "complete"
    assert target["functions"][1]["tests_by_cpu_control"] == {"unknown": 1}


def test_a_merge_into_an_older_study_writes_the_present_version(
    study: Path, make_run: Make, make_result: Make, make_call: Make, write: Callable[[str, Any], Path]
) -> None:
    before = read_study(study).summary["run_files"]
    # With another synchronization, so it must not be pooled with the results of the study.
    calls = [make_call(1, 1) | {"observed": {"counters": {"kernel_ns": 7}}}]
    run = make_run([make_result(calls=calls, value_verdict="equal")], target="torch-2.9.0-xla", sync="as-published")
    merged = merge([str(write("run.json", run))], study).study
    assert (merged.summary["schema_version"], merged.tables.name) == (4, merged.summary["tables"])
    assert [entry["sync"] for entry in merged.summary["targets"]] == ["complete", "as-published"]
    cat = merged.summary["targets"][0]["functions"][0]
    assert (cat["cold_mean_ns"], cat["tests_by_value_verdict"]) == (2_500_000, {})
    assert {file["run_id"] for file in before} < {file["run_id"] for file in merged.summary["run_files"]}
    assert json.loads((study / "study.json").read_text()) == merged.summary
    assert len([path for path in study.iterdir() if path.is_dir()]) == 1


def test_a_merge_that_adds_nothing_does_not_change_an_older_study(
    study: Path, portbench: Callable[..., Result]
) -> None:
    before = (study / "study.json").read_bytes()
    done = portbench("merge", STUDIES / "run.json", "-o", study)
    assert done.exit_code == 0, done.exception
    assert "0 run files added, 1 already there" in done.stdout
    assert "torch-2.9.0-xla on box: 3 functions" in done.stdout
    assert (study / "study.json").read_bytes() == before


def test_an_older_study_and_its_run_file_give_the_same_report(study: Path, portbench: Callable[..., Result]) -> None:
    assert portbench("report", study).stdout == portbench("report", STUDIES / "run.json").stdout

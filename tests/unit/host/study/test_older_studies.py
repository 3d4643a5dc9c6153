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
PRESENT = 5
Make = Callable[..., dict[str, Any]]


@pytest.fixture(params=[1, 2, 3, 4])
def study(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of one: torch 2.9.0 on xla, where torch.dot passes one of two tests."""
    return Path(shutil.copytree(STUDIES / f"version_{request.param}", tmp_path / "study"))


@pytest.fixture
def second_opinions(tmp_path: Path) -> Path:
    """A copy of a study of version 4, of two run files of version 3: complete synchronization, and as published."""
    return Path(shutil.copytree(STUDIES / "version_4_second_opinions", tmp_path / "study"))


SECOND_OPINIONS = [STUDIES / "second_opinions_run_3.json", STUDIES / "second_opinions_as_published_run_3.json"]


def test_an_older_study_is_reported(
    study: Path, portbench: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert json.loads((study / "study.json").read_text())["schema_version"] < PRESENT
    shown = portbench("report", study)
    assert shown.exit_code == 0, shown.output
    rows = {tuple(line.split()) for line in shown.stdout.splitlines()}
    assert ("torch-2.9.0-xla", "box", "50.0", "50.0", "0.0", "3", "0", "1", "-") in rows
    assert ("torch.cat", "all", "tests", "pass", "device", "1/1", "2.50", "20.0") in rows
    assert ("torch.dot", "some", "fail", "device", "1/2", "1.50", "20.0") in rows
    for unknown in ("Wrong values", "Synchronization", "First-call time breakdown"):
        assert unknown not in shown.stdout


def test_its_summary_as_json_has_the_present_version(
    study: Path, portbench: Callable[..., Result], tmp_path: Path
) -> None:
    path = tmp_path / "summary.json"
    path.write_text(portbench("report", study, "--json").stdout)
    assert json.loads(path.read_text())["schema_version"] == PRESENT
    (target,) = read_document(path, "study").data["targets"]
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
    assert (merged.summary["schema_version"], merged.tables.name) == (PRESENT, merged.summary["tables"])
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
    shown = [portbench("report", path).stdout.replace(str(path), "STUDY") for path in (study, STUDIES / "run.json")]
    assert shown[0] == shown[1]


@pytest.mark.parametrize("command", [["report"], ["report", "--json"], ["explain"]])
def test_renamed_facts_of_an_older_study_are_those_of_its_run_files(
    second_opinions: Path, portbench: Callable[..., Result], tmp_path: Path, command: list[str]
) -> None:
    new = merge([str(path) for path in SECOND_OPINIONS], tmp_path / "new").study
    name, *options = command
    function = ["torch.cat"] if name == "explain" else []
    shown = [portbench(name, path, *function, *options) for path in (second_opinions, new.path)]
    assert [each.exit_code for each in shown] == [0, 0], shown
    old, present = (
        each.stdout.replace(str(path), "") for each, path in zip(shown, (second_opinions, new.path), strict=True)
    )
    assert "as-published" in old or "as published" in old
    if "--json" in options:
        summaries = [json.loads(text) for text in (old, present)]
        for summary in summaries:
            del summary["tables"]
        assert summaries[0] == summaries[1]
        functions = summaries[0]["targets"][0]["functions"]
        assert functions[0]["tests_by_value_verdict"]["wrong"] == 1
    else:
        assert old == present


def test_results_of_older_and_present_run_files_are_merged_into_one_target(
    second_opinions: Path, make_run: Make, make_result: Make, write: Callable[[str, Any], Path]
) -> None:
    check = {
        "passed": False,
        "reason": "no growth",
        "units": 1,
        "base_ns": 2,
        "grown_ns": 2,
        "ratio": 1.0,
        "left_ns": 9,
    }
    result = make_result(test="unchecked", calls=[], sync_check=check, value_verdict="equal")
    run = make_run([result], target="torch-2.9.0-xla", sync="as-published")
    summary = merge([str(write("run.json", run))], second_opinions, allow_drift=True).study.summary
    complete, published = summary["targets"]
    assert (complete["sync"], published["sync"]) == ("complete", "as-published")
    assert published["sync_checks"]["failed"] == complete["sync_checks"]["failed"] + 1
    (cat,) = published["functions"]
    assert cat["tests_by_value_verdict"]["equal"] == complete["functions"][0]["tests_by_value_verdict"]["equal"] + 1
    assert cat["tests_by_value_verdict"]["wrong"] == complete["functions"][0]["tests_by_value_verdict"]["wrong"]


def test_an_older_study_is_merged_into_another(study: Path, make_run: Make, tmp_path: Path) -> None:
    known = read_study(study).summary["run_files"]
    run = tmp_path / "run.json"
    run.write_text(json.dumps(make_run(machine="another")))
    merged = merge([str(study), str(run)], tmp_path / "both")
    found = {entry["run_id"] for entry in merged.study.summary["run_files"]}
    assert merged.added == len(known) + 1
    assert found > {entry["run_id"] for entry in known}
    functions = [each for target in merged.study.summary["targets"] for each in target["functions"]]
    assert ("torch.dot", "some_fail") in {(each["name"], each["status"]) for each in functions}

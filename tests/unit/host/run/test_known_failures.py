"""`portbench run --check`, through the command line, with the real runner on the fake framework."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from portbench.run.known_failures import check_run, read_known_failures
from tests.unit.host.clones import COMMAND, REPOSITORY

TESTS = [
    {"id": "passes", "case": "fake.behaviours:passes"},
    {"id": "fails", "case": "fake.behaviours:fails"},
    {"id": "raises", "case": "fake.behaviours:raises", "grid": {"n": ["x", "y"]}, "params": {"message": "$n"}},
    {"id": "skips", "case": "fake.behaviours:skips"},
]
KNOWN = [
    {"function": "fake.identity", "test": "fails", "category": "other", "reason": "it never did"},
    {"function": "fake.identity", "test": "raises[n=x]", "category": "other", "reason": "x"},
    {"function": "fake.identity", "test": "raises[n=y]", "category": "other", "reason": "y"},
    {"function": "fake.gone", "test": "*", "category": "removed", "reason": "it is gone"},
]


def checked(folder: Path, known: Any, *options: str, **changes: Any) -> subprocess.CompletedProcess[str]:
    manifest = {"schema": "portbench/manifest", "schema_version": 2, "name": "m", "framework": "fake"}
    functions = [{"function": "fake.identity", "tests": TESTS}, {"function": "fake.gone", "tests": TESTS[:1]}]
    path = folder / "fake.json"
    path.write_text(json.dumps({**manifest, "functions": functions}))
    if known is not None:
        (folder / "expected").mkdir(exist_ok=True)
        head = {"schema": "portbench/expected", "schema_version": 1, "manifest": "m", "framework": "fake"}
        document = {**head, "device": "cpu", "versions": {"1.0.0": known}, **changes}
        (folder / "expected" / "fake-cpu.json").write_text(json.dumps(document))
    command = [
        *COMMAND,
        "run",
        "fake-cpu",
        "--manifest",
        str(path),
        "--backend",
        "current",
        "--out",
        str(folder / "out"),
    ]
    command += ["--runs", "1", "--protocol", "cold", "--check", *options]
    environment = {**os.environ, "PORTBENCH_PYTHON": sys.executable, "COLUMNS": "120"}
    return subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=120)


def check_of(done: subprocess.CompletedProcess[str]) -> Any:
    (target,) = json.loads(done.stdout)["targets"]
    assert target["exit_status"] == 0
    return target["check"]


def test_only_known_failures_give_exit_status_0(tmp_path: Path) -> None:
    done = checked(tmp_path, KNOWN)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "fake-1.0.0-cpu: 4 tests failed as known, 0 new failures, 0 unexpected passes" in done.stdout


def test_a_new_failure_is_named_and_makes_the_command_fail(tmp_path: Path) -> None:
    done = checked(tmp_path, KNOWN[1:3])
    assert done.returncode == 1
    assert "2 tests failed as known, 2 new failures" in done.stdout
    assert "New failures\n  other  fake.identity fails: expected 2, got 1\n  removed  fake.gone passes" in done.stdout


def test_a_known_failure_that_passes_makes_the_command_fail(tmp_path: Path) -> None:
    passes = {"function": "fake.identity", "test": "passes", "category": "crash", "reason": "it crashed once"}
    done = checked(tmp_path, [*KNOWN, passes])
    assert done.returncode == 1
    assert "0 new failures, 1 unexpected pass" in done.stdout
    assert "  crash  fake.identity passes: it crashed once" in done.stdout


def test_json_has_every_difference(tmp_path: Path) -> None:
    entries = [
        {"function": "fake.*", "test": "fails", "category": "precision", "reason": "a"},
        {"function": "fake.identity", "test": "raises[*]", "category": "other", "reason": "b"},
        {"function": "fake.identity", "test": "pass?s", "category": "other", "reason": "c"},
        {"function": "fake.identity", "test": "skips", "category": "other", "reason": "skipped: counts as neither"},
        {"function": "fake.identity", "test": "renamed", "category": "other", "reason": "d", "link": "https://e.org"},
    ]
    done = checked(tmp_path, entries, "--json")
    found = check_of(done)
    assert done.returncode == 1
    assert (found["clean"], found["as_known"], found["version"], found["version_is_stated"]) == (
        False,
        2,
        "1.0.0",
        True,
    )
    new = {failure["test"]: (failure["category"], failure["known"]) for failure in found["new"]}
    assert new == {"fails": ("other", ["precision"]), "passes": ("removed", [])}
    assert [entry["test"] for entry in found["passing"]] == ["passes"]
    assert [entry["test"] for entry in found["unmatched"]] == ["renamed"]


def test_a_selection_does_not_report_tests_that_were_not_selected_as_unmatched(tmp_path: Path) -> None:
    done = checked(tmp_path, KNOWN, "--test", "raises[n=x]", "--json")
    assert done.returncode == 0, done.stderr
    assert check_of(done)["as_known"] == 1


@pytest.mark.parametrize("changes", [{"known": None}, {"versions": {"2.0.0": KNOWN}}])
def test_without_an_entry_for_the_version_every_failure_is_new(tmp_path: Path, changes: Any) -> None:
    done = checked(tmp_path, **{"known": KNOWN, **changes})
    assert done.returncode == 1
    assert "expected/fake-cpu.json does not list version 1.0.0: every failure is new." in done.stdout
    assert "0 tests failed as known, 4 new failures" in done.stdout


def test_a_finished_run_is_checked_again_with_resume(tmp_path: Path) -> None:
    assert checked(tmp_path, KNOWN).returncode == 0
    done = checked(tmp_path, KNOWN[1:], "--resume")
    assert done.returncode == 1
    assert "was complete already" in done.stdout
    assert "3 tests failed as known, 1 new failure" in done.stdout


@pytest.mark.parametrize(
    ("known", "changes", "message"),
    [
        ([{"function": "f"}], {}, '$.versions["1.0.0"][0]'),
        ([KNOWN[0], KNOWN[0]], {}, "is a duplicate"),
        (KNOWN, {"manifest": "other"}, '$.manifest: found "other", expected "m"'),
        (KNOWN, {"device": "gpu"}, '$.device: found "gpu", expected "cpu"'),
    ],
)
def test_a_wrong_file_is_one_error_before_anything_runs(tmp_path: Path, known: Any, changes: Any, message: str) -> None:
    done = checked(tmp_path, known, **changes)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_the_known_failures_of_the_paper_name_functions_of_its_manifests() -> None:
    study = REPOSITORY / "manifests" / "study"
    for path in sorted((study / "expected").glob("*.json")):
        framework, device = path.stem.split("-", 1)
        manifest = study / f"{framework}.json"
        entries = json.loads(manifest.read_text("utf-8"))["functions"]
        names = {name for entry in entries for name in (entry["function"], *entry.get("successors", ()))}
        expected = read_known_failures(path, manifest, framework, device)
        assert {known.function for entries in expected.versions.values() for known in entries} <= names


def test_run_files_of_other_machines_are_checked_too(
    portbench: Any, make_run: Any, make_result: Any, write: Any
) -> None:
    gelu = ("torch.nn.GELU", "infinity[dtype=float32,approximate=none]")
    expected = json.loads((REPOSITORY / "manifests" / "study" / "expected" / "torch-cpu.json").read_text("utf-8"))
    listed = [(each["function"], each["test"]) for each in expected["versions"]["2.9.0"]]
    assert gelu in listed
    known = write("runs/known.json", make_run([make_result(*each, outcome="failed") for each in listed]))
    done = portbench("check", known)
    assert done.exit_code == 0, done.output
    assert f"known.json, torch-2.9.0-cpu: {len(listed)} tests failed as known, 0 new failures" in done.output
    write("runs/passes.json", make_run([make_result(*gelu)], machine="another"))
    write("runs/sub/tpu.json", make_run([make_result(*gelu, outcome="crashed")], target="torch-2.9.0-tpu"))
    done = portbench("check", known.parent, "--json")
    assert done.exit_code == 1
    clean = {Path(row["run_file"]).name: row["clean"] for row in json.loads(done.stdout)["run_files"]}
    assert clean == {"known.json": True, "passes.json": False, "tpu.json": False}


def test_a_folder_without_run_files_is_an_error(portbench: Any, write: Any, manifest: Any) -> None:
    folder = write("folder/manifest.json", manifest).parent
    error = portbench("check", folder).exception
    assert "no run file in this folder" in str(error)
    assert "is a manifest, not a run file" in str(portbench("check", folder / "manifest.json").exception)


def test_one_failing_run_of_three_is_a_failure(make_run: Any, make_result: Any) -> None:
    results = [make_result(run=run, outcome=outcome) for run, outcome in enumerate(("passed", "failed", "passed"), 1)]
    none = read_known_failures(Path("no-such-file"), Path("m"), "torch", "cpu")
    (failure,) = check_run(make_run(results), none).new
    assert (failure.function, failure.test, failure.category, failure.runs) == ("torch.cat", "rows", "other", 1)

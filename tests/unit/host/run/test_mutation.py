"""`portbench mutation-test`, through the command line, with the real runner on the fake framework."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.unit.host.clones import COMMAND, REPOSITORY

TENSOR = {"tensor": {"values": [1.0, 2.0, 4.0], "dtype": "float64"}}
GOOD = {"id": "good", "case": "call", "args": [TENSOR, 3.0], "expect": {"numpy": "multiply", "dtype": "float64"}}
BLIND = {"id": "blind", "case": "call", "args": [TENSOR, 3.0], "expect": {"value": 12.0, "output": [2]}}
WRONG = {"id": "wrong", "case": "call", "args": [TENSOR, 3.0], "expect": {"value": 1.0}}
SKIPPED = {"id": "skipped", "case": "fake.behaviours:skips"}
CHECKS_NOTHING = {"id": "checks-nothing", "case": "fake.behaviours:checks_nothing"}
REASON = "only the last element is looked at"


def mutated(
    folder: Path, *tests: Any, survivors: Any = None, version: int = 3, options: Any = ()
) -> subprocess.CompletedProcess[str]:
    manifest = {"schema": "portbench/manifest", "schema_version": 2, "name": "m", "framework": "fake"}
    path = folder / "fake.json"
    path.write_text(json.dumps({**manifest, "functions": [{"function": "fake.scale", "tests": list(tests)}]}))
    if survivors is not None:
        (folder / "survivors").mkdir(exist_ok=True)
        head = {"schema": "portbench/survivors", "schema_version": version, "manifest": "m"}
        (folder / "survivors" / "fake.json").write_text(json.dumps({**head, "survivors": survivors}))
    command = [*COMMAND, "mutation-test", str(path), "--target", "fake-cpu", "--backend", "current", *options]
    environment = {**os.environ, "PORTBENCH_PYTHON": sys.executable, "COLUMNS": "120"}
    return subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=120)


def survivor(test: str, mutant: str, reason: str = REASON) -> dict[str, str]:
    return {"function": "fake.scale", "test": test, "mutant": mutant, "reason": reason}


def test_a_manifest_whose_tests_notice_everything_is_clean(tmp_path: Path) -> None:
    done = mutated(tmp_path, GOOD, SKIPPED, options=["--json"])
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["clean"], found["applicable"], found["noticed"], found["percent_noticed"]) == (True, 7, 7, 100)
    (function,) = found["functions"]
    assert function["tests"] == 2
    assert function["mutants"]["zeroed"] == {"applicable": 1, "noticed": 1}
    assert len(function["mutants"]) == 7
    assert [entry["test"] for entry in found["skipped"]] == ["skipped"]


def test_a_survivor_is_named_and_makes_the_command_fail(tmp_path: Path) -> None:
    done = mutated(tmp_path, GOOD, BLIND, options=["--mutant", "wrong-dtype", "--mutant", "scaled"])
    assert done.returncode == 1
    assert "3 of 4 mutants: 75.0 % noticed" in done.stdout
    assert "Survived, without a reason\n  fake.scale blind: wrong-dtype" in done.stdout
    assert "wrong-dtype       1/2" in done.stdout


def test_a_survivor_with_a_reason_is_accepted(tmp_path: Path) -> None:
    options = ["--mutant", "wrong-dtype"]
    done = mutated(tmp_path, GOOD, BLIND, survivors=[survivor("blind", "wrong-dtype")], options=options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"Survived, with a reason\n  fake.scale blind: wrong-dtype: {REASON}" in done.stdout


def test_a_reason_is_for_all_tests_of_a_glob_and_each_mutant_of_a_list(tmp_path: Path) -> None:
    options = ["--mutant", "wrong-dtype", "--mutant", "scaled", "--json"]
    reason = {"function": "fake.scale", "test": "bl*", "mutant": ["wrong-dtype", "scaled"], "reason": REASON}
    done = mutated(tmp_path, GOOD, BLIND, survivors=[reason], options=options)
    found = json.loads(done.stdout)
    assert [entry["reason"] for entry in found["survivors"]] == [REASON]
    assert [(entry["test"], entry["mutant"]) for entry in found["stale_explanations"]] == [("bl*", "scaled")]
    reason["mutant"] = "wrong-dtype"
    older = mutated(tmp_path, GOOD, BLIND, survivors=[reason], version=2, options=options)
    assert json.loads(older.stdout)["survivors"][0]["reason"] is None, "a glob in version 2 is a name"


def test_mutants_are_counted_by_class(tmp_path: Path) -> None:
    options = ["--mutant", "wrong-dtype", "--mutant", "scaled", "--mutant", "nothing", "--mutant", "float32"]
    found = json.loads(mutated(tmp_path, GOOD, BLIND, options=[*options, "--json"]).stdout)
    assert found["classes"] == [
        {"class": "value", "noticed": 4, "applicable": 4, "functions": {"noticed": 2, "applicable": 2}},
        {"class": "dtype", "noticed": 1, "applicable": 2, "functions": {"noticed": 1, "applicable": 1}},
    ]
    lines = [line.split() for line in mutated(tmp_path, GOOD, BLIND, options=options).stdout.splitlines()]
    assert ["dtype", "1/2", "50.0", "1/1", "100.0"] in lines
    assert ["all", "5/6", "83.3", "3/3", "100.0"] in lines


def test_a_fine_mutant_needs_a_reason_only_where_no_test_of_the_function_notices_it(tmp_path: Path) -> None:
    first = {"id": "first", "case": "call", "args": [TENSOR, 3.0], "expect": {"value": 3.0, "output": [0]}}
    options = ["--mutant", "last-element", "--json"]
    noticed = mutated(tmp_path, GOOD, first, options=options)
    assert noticed.returncode == 0, noticed.stdout
    assert [(entry["test"], entry["reason"]) for entry in json.loads(noticed.stdout)["survivors"]] == [("first", None)]
    assert mutated(tmp_path, first, options=options).returncode == 1


def test_a_known_failure_of_the_version_is_no_fault_of_the_test(tmp_path: Path) -> None:
    options = ["--mutant", "scaled", "--json"]
    (tmp_path / "expected").mkdir()
    entry = {"function": "fake.scale", "test": "wrong", "category": "other", "reason": "a fault of this version"}
    known = {"schema": "portbench/expected", "schema_version": 1, "manifest": "m", "framework": "fake", "device": "cpu"}
    path = tmp_path / "expected" / "fake-cpu.json"
    path.write_text(json.dumps({**known, "versions": {"1.0.0": [entry]}}))
    done = mutated(tmp_path, GOOD, WRONG, options=options)
    assert (done.returncode, json.loads(done.stdout)["failing"]) == (0, []), done.stdout
    path.unlink()
    assert mutated(tmp_path, GOOD, WRONG, options=options).returncode == 1


def test_a_mutant_that_no_test_of_a_function_notices_is_not_noticed_of_the_function(tmp_path: Path) -> None:
    found = json.loads(mutated(tmp_path, BLIND, options=["--mutant", "wrong-dtype", "--json"]).stdout)
    assert [entry["functions"] for entry in found["classes"]] == [{"noticed": 0, "applicable": 1}]


def test_a_time_budget_names_how_many_tests_it_did_not_allow(tmp_path: Path) -> None:
    options = ["--mutant", "scaled", "--time-budget", "0.000001"]
    found = json.loads(mutated(tmp_path, GOOD, BLIND, options=[*options, "--json"]).stdout)
    assert (found["not_tried"], found["applicable"]) == (2, 0)
    assert "2 tests were not tried" in mutated(tmp_path, GOOD, BLIND, options=options).stdout
    enough = json.loads(mutated(tmp_path, GOOD, options=["--mutant", "scaled", "--time-budget", "60", "--json"]).stdout)
    assert (enough["not_tried"], enough["applicable"]) == (0, 1)


def test_a_reason_for_a_noticed_mutant_or_a_missing_test_is_out_of_date(tmp_path: Path) -> None:
    reasons = [survivor("good", "scaled"), survivor("gone", "scaled"), survivor("good", "zeroed")]
    done = mutated(tmp_path, GOOD, survivors=reasons, options=["--mutant", "scaled", "--json"])
    found = json.loads(done.stdout)
    assert done.returncode == 1
    assert [entry["test"] for entry in found["stale_explanations"]] == ["good", "gone"]


def test_a_function_whose_tests_notice_nothing_is_named_even_with_a_reason(tmp_path: Path) -> None:
    options = ["--mutant", "wrong-dtype", "--json"]
    done = mutated(tmp_path, BLIND, survivors=[survivor("blind", "wrong-dtype")], options=options)
    assert done.returncode == 1
    assert json.loads(done.stdout)["blind_functions"] == ["fake.scale"]


@pytest.mark.parametrize("bad", [WRONG, CHECKS_NOTHING])
def test_a_test_that_fails_with_the_real_function_is_named_and_not_mutated(tmp_path: Path, bad: Any) -> None:
    done = mutated(tmp_path, GOOD, bad, options=["--mutant", "scaled", "--json"])
    found = json.loads(done.stdout)
    assert done.returncode == 1
    assert [entry["test"] for entry in found["failing"]] == [bad["id"]]
    assert found["applicable"] == 1


@pytest.mark.parametrize(
    ("survivors", "message"),
    [
        ([{"function": "f"}], "$.survivors[0]"),
        ([survivor("a", "scaled"), survivor("a", "scaled")], "is a duplicate"),
    ],
)
def test_a_wrong_file_of_survivors_is_one_error_before_anything_runs(
    tmp_path: Path, survivors: Any, message: str
) -> None:
    done = mutated(tmp_path, GOOD, survivors=survivors)
    assert done.returncode == 2
    assert message in done.stderr and "Traceback" not in done.stderr
    assert done.stdout == ""


def test_an_unknown_mutant_is_wrong_usage(tmp_path: Path) -> None:
    done = mutated(tmp_path, GOOD, options=["--mutant", "halved"])
    assert done.returncode == 2
    assert "'halved' is not one of scaled, shifted" in done.stderr

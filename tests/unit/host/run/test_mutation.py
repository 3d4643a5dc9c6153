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


def mutated(folder: Path, *tests: Any, survivors: Any = None, options: Any = ()) -> subprocess.CompletedProcess[str]:
    manifest = {"schema": "portbench/manifest", "schema_version": 2, "name": "m", "framework": "fake"}
    path = folder / "fake.json"
    path.write_text(json.dumps({**manifest, "functions": [{"function": "fake.scale", "tests": list(tests)}]}))
    if survivors is not None:
        (folder / "survivors").mkdir(exist_ok=True)
        head = {"schema": "portbench/survivors", "schema_version": 1, "manifest": "m"}
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

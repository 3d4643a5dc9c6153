"""`portbench mutation-test --mutants`, through the command line, with the real runner on the fake framework."""

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

MUTANTS = """
import contextlib
from runners.fake import library

def first_lost(scale):
    def mutated(tensor, factor):
        made = scale(tensor, factor)
        made.values[0] = 0.0
        return made
    return mutated

@contextlib.contextmanager
def tensors_forget(scale):
    real = library.Tensor.__init__
    def forgetting(self, values, dtype="float32"):
        real(self, [0.0 for _ in values], dtype)
    library.Tensor.__init__ = forgetting
    try:
        yield scale
    finally:
        library.Tensor.__init__ = real

def mutant(name, mutate, kind="value", function="fake.scale"):
    return {"function": function, "name": name, "class": kind, "what": name + " is wrong", "mutate": mutate}

MUTANTS = [
    mutant("first-lost", first_lost),
    mutant("equal", lambda scale: lambda *args: scale(*args), "nothing"),
    mutant("forgets", tensors_forget),
]
"""


def tried(folder: Path, *tests: Any, source: str = MUTANTS, options: Any = ()) -> subprocess.CompletedProcess[str]:
    manifest = {"schema": "portbench/manifest", "schema_version": 2, "name": "m", "framework": "fake"}
    path = folder / "fake.json"
    path.write_text(json.dumps({**manifest, "functions": [{"function": "fake.scale", "tests": list(tests)}]}))
    (folder / "mine.py").write_text(source)
    command = [*COMMAND, "mutation-test", str(path), "--target", "fake-cpu", "--backend", "current"]
    command += ["--mutants", str(folder / "mine.py"), *options]
    environment = {**os.environ, "PORTBENCH_PYTHON": sys.executable, "COLUMNS": "120"}
    return subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=120)


def test_a_mutant_is_tried_until_a_test_notices_it(tmp_path: Path) -> None:
    done = tried(tmp_path, BLIND, GOOD, options=["--json"])
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert (found["noticed"], found["applicable"]) == (2, 3)
    outcomes = {each["name"]: (each["noticed_by"], each["tests"]) for each in found["mutants"]}
    assert outcomes == {"equal": (None, 2), "first-lost": ("good", 2), "forgets": ("blind", 1)}
    assert found["classes"] == [
        {"class": "nothing", "noticed": 0, "applicable": 1},
        {"class": "value", "noticed": 2, "applicable": 2},
    ]
    assert "expected" in next(each["reason"] for each in found["mutants"] if each["name"] == "first-lost")


def test_what_no_test_notices_is_named_with_what_is_wrong(tmp_path: Path) -> None:
    shown = tried(tmp_path, BLIND).stdout
    assert "fake-1.0.0-cpu, m: 1 of 3 mutants noticed" in shown
    assert "No test notices\n  fake.scale equal: equal is wrong (tests: 1)" in shown
    assert "  fake.scale first-lost: first-lost is wrong (tests: 1)" in shown


def test_a_file_whose_mutants_are_all_noticed_is_no_error(tmp_path: Path) -> None:
    assert (
        tried(tmp_path, GOOD, source=MUTANTS.replace('"equal", lambda', '"equal", lambda *_: lambda')).returncode == 0
    )


def test_no_mutant_is_tried_in_a_test_that_fails_with_the_real_function(tmp_path: Path) -> None:
    done = tried(tmp_path, WRONG)
    assert done.returncode == 1
    assert "0 of 3 mutants noticed" in done.stdout
    assert "first-lost is wrong (no test passes with the real function)" in done.stdout
    assert "fake.scale wrong: " in done.stdout


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("MUTANTS = [", "MUTANTS = 1 + ["), "mine.py cannot be imported: TypeError: "),
        (("MUTANTS = [", "OTHERS = ["), "mine.py: expected a list MUTANTS with 1 to 500 mutants"),
        (('"forgets"', '"equal"'), "MUTANTS[2]: the name equal is that of another mutant"),
        (('"forgets"', '"For gets"'), "MUTANTS[2]: name: expected lower-case words joined by '-', found 'For gets'"),
        (('"mutate": mutate', '"mutate": 3'), "MUTANTS[0]: mutate: expected a function, found int"),
        (
            ('"what": name', '"why": name'),
            "MUTANTS[0]: found function, name, class, why, mutate; expected a dictionary",
        ),
        (('function="fake.scale"', 'function="fake.add"'), "MUTANTS[0]: fake.add is no function of the manifest"),
        (("lambda scale: lambda *args: scale(*args)", "lambda scale: scale.x"), "MUTANTS[1]: mutate failed: Attribute"),
        (
            ("lambda scale: lambda *args: scale(*args)", "lambda scale: 3"),
            "MUTANTS[1]: mutate failed: TypeError: it re",
        ),
    ],
)
def test_a_mistake_in_the_file_is_said_and_nothing_is_tried(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    assert change[0] in MUTANTS
    done = tried(tmp_path, GOOD, source=MUTANTS.replace(*change))
    assert (done.returncode, done.stdout) == (2, ""), done.stdout
    assert said in done.stderr
    assert "manifests/README.md describes files of mutants." in done.stderr
    assert "Traceback" not in done.stderr


def test_a_selection_leaves_out_the_mutants_of_other_functions(tmp_path: Path) -> None:
    source = MUTANTS.replace('lambda scale: lambda *args: scale(*args), "nothing"', "first_lost, 'value', 'fake.add'")
    done = tried(tmp_path, GOOD, source=source, options=["--function", "fake.scale", "--json"])
    assert [each["name"] for each in json.loads(done.stdout)["mutants"]] == ["first-lost", "forgets"]
    none = tried(tmp_path, GOOD, source=MUTANTS.replace('"fake.scale"', '"fake.add"'), options=["--function", "fake.*"])
    assert none.returncode == 2
    assert "it has no mutant of the functions that are selected" in none.stderr


@pytest.mark.parametrize("option", [["--fine"], ["--mutant", "scaled"], ["--time-budget", "3"], ["--survivors", "x"]])
def test_options_of_the_built_in_mutants_do_not_fit(tmp_path: Path, option: list[str]) -> None:
    done = tried(tmp_path, GOOD, options=option)
    assert done.returncode == 2
    assert "--mutants tries a file alone: without --mutant, --fine, --survivors and --time-budget" in done.stderr


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    done = tried(tmp_path, GOOD, options=["--mutants", str(tmp_path / "none.py")])
    assert done.returncode == 2
    assert "none.py' does not exist" in done.stderr

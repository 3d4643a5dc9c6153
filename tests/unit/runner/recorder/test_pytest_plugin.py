"""``pytest --portbench-record``: test suites of the fake framework, in pytest processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.paths import ROOT

CONFTEST = """
from portbench_recorder import hooks
hooks.RECORDERS["runners.fake.library"] = "tests.unit.runner.fake_calls"
"""
TESTS = """
import os
import pytest
from runners.fake import library as fake

@pytest.mark.parametrize("factor", range(8))
def test_scale(factor):
    assert fake.scale(fake.Tensor([1.0]), 2.0)[0] == 2.0

def test_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fake.noise(fake.Tensor([1.0, 2.0]))

def test_fails():
    fake.refuse(1.0)
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(TESTS)
    return tmp_path


def pytest_in(folder: Path, *options: str, startup: str = "", **variables: str) -> Any:
    path = os.pathsep.join(filter(None, (startup, str(ROOT / "runners" / "recorder"), str(ROOT))))
    # These tests may run in a worker of pytest-xdist, whose variables the inner pytest inherits.
    environment = dict(os.environ, PYTEST_XDIST_WORKER="gw0", PYTHONPATH=path, PYTHONDONTWRITEBYTECODE="1", **variables)
    command = [sys.executable, "-m", "pytest", "-p", "portbench_recorder.pytest_plugin", "-p", "no:cacheprovider"]
    return subprocess.run(
        [*command, "--rootdir", ".", *options],
        cwd=str(folder),
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


def calls(folder: Path) -> dict[str, int]:
    manifest = json.loads((folder / "fake.json").read_text())
    return {
        entry["function"]: sum(test["weight"]["calls"] for test in entry["tests"]) for entry in manifest["functions"]
    }


EXPECTED = {"fake.scale": 8, "fake.noise": 1, "fake.refuse": 1}


def test_a_suite_is_recorded(suite: Path) -> None:
    done = pytest_in(suite, "--portbench-record=rec")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 9 passed" in done.stdout
    assert f"portbench: recorded {suite / 'rec' / 'fake.json'}" in done.stdout
    assert calls(suite / "rec") == EXPECTED


def test_workers_of_xdist_are_recorded_together(suite: Path) -> None:
    done = pytest_in(suite, "--portbench-record=rec", "-n", "2")
    assert "1 failed, 9 passed" in done.stdout, done.stdout + done.stderr
    assert calls(suite / "rec") == EXPECTED
    assert len(list((suite / "rec" / "parts").glob("*.json"))) == 2


def test_without_the_option_nothing_is_recorded(suite: Path) -> None:
    done = pytest_in(suite)
    assert "portbench" not in done.stdout
    assert sorted(path.name for path in suite.iterdir()) == ["conftest.py", "test_it.py"]


def test_a_second_recording_replaces_the_first(suite: Path) -> None:
    pytest_in(suite, "--portbench-record=rec")
    pytest_in(suite, "--portbench-record=rec", "-k", "elsewhere")
    assert calls(suite / "rec") == {"fake.noise": 1}


def test_a_folder_of_somebody_else_stays_as_it_is(suite: Path) -> None:
    (suite / "rec" / "parts").mkdir(parents=True)
    (suite / "rec" / "parts" / "mine").write_text("mine")
    done = pytest_in(suite, "--portbench-record=rec")
    assert done.returncode == 4
    assert "rec is neither a recording nor empty" in done.stderr
    assert "Traceback" not in done.stderr
    assert (suite / "rec" / "parts" / "mine").exists()


def test_a_suite_that_calls_no_framework(suite: Path) -> None:
    done = pytest_in(suite, "--portbench-record=rec", "-k", "nothing")
    assert "no call of a framework was recorded" in done.stdout
    assert not (suite / "rec" / "fake.json").exists()


def test_two_recorders_at_once_are_refused(suite: Path) -> None:
    startup = str(ROOT / "runners" / "recorder" / "startup")
    done = pytest_in(suite, "--portbench-record=rec", startup=startup, PORTBENCH_RECORD=str(suite / "outer"))
    assert done.returncode == 4
    assert "records these tests already" in done.stderr

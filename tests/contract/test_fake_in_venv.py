"""The whole way, from `portbench run` to run files, in a real environment of the oldest Python, with no framework."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from portbench.targets.pythons import find_python
from tests.paths import ROOT

pytestmark = pytest.mark.skipif(find_python("3.8") is None, reason="no Python 3.8 on this machine")


def run(out: Path, *arguments: str) -> dict[str, Any]:
    """The final object of ``portbench run fake-cpu`` in its pinned environment."""
    command = [sys.executable, "-m", "portbench", "run", "fake-cpu", "--backend", "venv", "--manifest", "faults"]
    done = subprocess.run([*command, "--out", str(out), "--json", *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (target,) = json.loads(done.stdout)["targets"]
    return dict(target)


def test_every_way_to_end_is_counted_as_the_run_file_has_it(tmp_path: Path) -> None:
    target = run(tmp_path, "--runs", "2")
    document = json.loads(Path(target["run_file"]).read_text())
    assert document["environment"]["python"].startswith("3.8.")
    counted = Counter(
        "removed" if result["category"] == "removed" else result["outcome"] for result in document["results"]
    )
    assert target["outcomes"] == counted
    assert counted["removed"] == 2
    assert set(target["outcomes"]) == {"passed", "failed", "crashed", "skipped", "removed"}
    assert target["backend"] == "venv"


def test_what_is_complete_is_not_run_again(tmp_path: Path) -> None:
    first = run(tmp_path, "--runs", "1")
    again = run(tmp_path, "--runs", "1", "--resume")
    assert again["run_file"] == first["run_file"]
    assert len(list(tmp_path.iterdir())) == 1


def test_a_selection_of_functions_is_what_runs(tmp_path: Path) -> None:
    target = run(tmp_path, "--runs", "1", "--function", "fake.sc*")
    document = json.loads(Path(target["run_file"]).read_text())
    assert {result["function"] for result in document["results"]} == {"fake.scale"}
    assert document["manifest"]["selection"] == ["fake.sc*"]


def test_an_interrupted_run_is_finished_by_the_same_command_with_resume(tmp_path: Path) -> None:
    manifest = tmp_path / "hang.json"
    tests = [{"id": id, "case": f"fake.behaviours:{id}"} for id in ("passes", "hangs_on_request")]
    document = {"schema": "portbench/manifest", "schema_version": 1, "name": "hang", "framework": "fake"}
    manifest.write_text(json.dumps({**document, "functions": [{"function": "fake.identity", "tests": tests}]}))
    command = [sys.executable, "-m", "portbench", "run", "fake-cpu", "--backend", "venv", "--manifest", str(manifest)]
    command += ["--out", str(tmp_path / "out"), "--runs", "1"]
    env = {**os.environ, "FAKE_HANGS": "1"}
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert any("0/2" in line for line in process.stderr)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "--resume" in stderr
    (journal,) = (tmp_path / "out").iterdir()
    assert journal.name.endswith(".journal.jsonl")
    done = subprocess.run([*command, "--resume"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0
    assert "2 passed" in done.stdout

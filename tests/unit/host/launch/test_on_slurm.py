"""`launch slurm` on a real Slurm of one node with two slots: a killed task is requeued, the study that of one run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.slurm_node import missing, slurm_node
from tests.unit.host.clones import COMMAND
from tests.unit.host.launch.sharded import OPTIONS, TESTS, facts, killed_runner, write_manifest

pytestmark = [pytest.mark.skipif(bool(missing()), reason=missing()), pytest.mark.xdist_group("slurm")]


def test_a_killed_task_is_requeued_and_the_study_is_that_of_one_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PORTBENCH_PYTHON", sys.executable)
    monkeypatch.setenv("FAKE_ONCE", str(tmp_path / "once"))
    write_manifest(tmp_path)
    words = ["launch", "slurm", "fake-cpu", *OPTIONS, "--shards", "2", "--results", "results", "-o", "jobs"]
    with slurm_node(tmp_path / "slurm") as environment:
        launched = portbench(tmp_path, *words, "--submit", environment=environment)
        assert launched.returncode == 0, launched.stderr
        assert "Submitted batch job" in launched.stdout
        killed_runner(tmp_path / "results")
        _await_end(environment)
        jobs = subprocess.run(["scontrol", "show", "jobs"], env=environment, capture_output=True, text=True).stdout
    assert sorted(re.findall(r"Restarts=(\d)", jobs)) == ["0", "1"], jobs
    assert re.findall(r"JobState=(\w+)", jobs) == ["COMPLETED", "COMPLETED"], jobs
    logs = [path.read_text() for path in (tmp_path / "jobs").glob("*.log")]
    assert sum("ended by a signal (137): requeued" in log for log in logs) == 1, logs
    parts = sorted((tmp_path / "results").glob("fake-cpu/*/*.json"))
    assert sum(len(json.loads(path.read_text())["results"]) for path in parts) == TESTS and len(parts) == 2

    monkeypatch.setenv("PORTBENCH_MACHINE", "slurm")
    whole = portbench(tmp_path, "run", "fake-cpu", *OPTIONS, "--out", "whole")
    assert whole.returncode == 0, whole.stderr
    assert facts(tmp_path / "results", tmp_path) == facts(tmp_path / "whole", tmp_path)


def portbench(
    folder: Path, *arguments: str, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], cwd=folder, env=environment, capture_output=True, text=True)


def _await_end(environment: dict[str, str]) -> None:
    """Waits until the queue is empty. A requeued task need not wait for its two minutes."""
    released = set()
    while True:
        queue = subprocess.run(["squeue", "-h", "-r", "-o", "%i %T"], env=environment, capture_output=True, text=True)
        states = [line.split() for line in queue.stdout.splitlines()]
        if not states:
            return
        for job, state in states:
            if state == "PENDING" and job not in released:
                now = ["scontrol", "update", f"JobId={job}", "StartTime=now+2seconds"]
                if subprocess.run(now, env=environment, capture_output=True).returncode == 0:
                    released.add(job)
        time.sleep(0.1)

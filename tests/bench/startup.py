"""CPU time that a command takes to start: help, version, the list of targets, and one function of a study.

Run by ``make bench``. The benchmark creates a study with results of three frameworks (see many_run_files). The CPU time
of a command includes the processes that it starts. ``python -c pass`` runs in turn with the commands, so that the
ratios hold on a machine whose speed drifts. ``--quick`` measures one round.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.many_run_files import write_run_files
from tests.paths import ROOT

ROUNDS = 5
FILES = 20
RESULTS = 450
FUNCTION = "torch.linalg.operation_0"
PYTHON = "python -c pass"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.startup", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one round instead of five")
    rounds = 1 if parser.parse_args().quick else ROUNDS
    with tempfile.TemporaryDirectory(prefix="portbench-bench-") as folder:
        study = make_study(Path(folder))
        portbench = [sys.executable, "-m", "portbench"]
        commands = {
            PYTHON: [sys.executable, "-c", "pass"],
            "portbench --version": [*portbench, "--version"],
            "portbench --help": [*portbench, "--help"],
            "portbench targets": [*portbench, "targets"],
            "portbench explain": [*portbench, "explain", str(study), FUNCTION],
        }
        wanted_s = {
            "portbench --version": 0.4,
            "portbench --help": 0.4,
            "portbench targets": 1.0,
            "portbench explain": 2.0,
        }
        for command in commands.values():
            cpu_seconds(command)  # fills the caches of files and bytecode
        measured = [{name: cpu_seconds(command) for name, command in commands.items()} for _ in range(rounds)]
    print(f"CPU time of a whole command, median (least to most) of {rounds} rounds")
    for name in commands:
        values = [each[name] for each in measured]
        median = statistics.median(values)
        ratio = statistics.median(each[name] / each[PYTHON] for each in measured)
        line = f"  {name:20} {median:5.2f} s ({min(values):.2f} to {max(values):.2f})  {ratio:5.1f} times python"
        if name in wanted_s:
            verdict = "met" if median <= wanted_s[name] else "MISSED"
            line += f"; wanted: at most {wanted_s[name]} s: {verdict}"
        print(line)


def make_study(folder: Path) -> Path:
    """Merges run files of three frameworks and returns the study's folder."""
    write_run_files(folder / "runs", FILES, RESULTS)
    study = folder / "study"
    merge = [sys.executable, "-m", "portbench", "merge", str(folder / "runs"), "-o", str(study)]
    subprocess.run(merge, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return study


def cpu_seconds(command: list[str]) -> float:
    """User and system seconds of a command and the processes that it starts. Raises where the command fails."""
    # As at a user's terminal, where the bytecode of every module is kept.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=ROOT, env=env, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


if __name__ == "__main__":
    main()

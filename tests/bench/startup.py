"""CPU time of each command on a study of three frameworks, and the time from ``portbench run`` to the first result.

Run by ``make bench``. The benchmark creates a study with results of three frameworks (see many_run_files). The CPU time
of a command includes the processes that it starts. ``python -c pass`` runs in turn with the commands, so that the
ratios hold on a machine whose speed drifts. ``--quick`` measures one round of a small study; its figures say nothing.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.harness import write_manifest
from tests.bench.many_run_files import write_run_files
from tests.paths import ROOT

ROUNDS = 5
FILES = 20
RESULTS = 450
TESTS = 100
PAIR = ("torch-1.12.0-cpu", "torch-1.12.0-gpu")
FUNCTION = "torch.linalg.operation_0"
PYTHON = "python -c pass"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.startup", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one round instead of five")
    rounds = 1 if parser.parse_args().quick else ROUNDS
    with tempfile.TemporaryDirectory(prefix="portbench-bench-") as folder:
        work = Path(folder)
        study = make_study(work, *((3, 20) if rounds == 1 else (FILES, RESULTS)))
        runs, manifest = work / "runs", write_manifest(work, TESTS)
        portbench = [sys.executable, "-m", "portbench"]
        commands = {
            PYTHON: [sys.executable, "-c", "pass"],
            "portbench --version": [*portbench, "--version"],
            "portbench --help": [*portbench, "--help"],
            "portbench targets": [*portbench, "targets"],
            "portbench explain": [*portbench, "explain", str(study), FUNCTION],
            "portbench validate": [*portbench, "validate", str(next(runs.iterdir()))],
            "portbench merge": [*portbench, "merge", str(runs), "-o", str(work / "merged")],
            "portbench report": [*portbench, "report", str(study), "-o", str(work / "report")],
            "portbench compare": [*portbench, "compare", *PAIR, "--study", str(study)],
        }
        wanted_s = {
            "portbench --version": 0.4,
            "portbench --help": 0.4,
            "portbench targets": 1.0,
            "portbench explain": 2.0,
        }
        for name in commands:
            measure(name, commands, work)  # fills the caches of files and bytecode
        first = [seconds_to_first_result(manifest, work) for _ in range(rounds)]
        bare = [seconds([sys.executable, "-c", "pass"]) for _ in range(rounds)]
        measured = [{name: measure(name, commands, work) for name in commands} for _ in range(rounds)]
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

    ratio = statistics.median(own / python for own, python in zip(first, bare, strict=True))
    print(f"from the start of portbench run to the first result, median of {rounds} rounds")
    print(f"  fake-cpu             {statistics.median(first):5.2f} s  {ratio:5.1f} times the start of a bare Python")


def measure(name: str, commands: dict[str, list[str]], work: Path) -> float:
    """CPU seconds of a command. A merge begins with an empty study."""
    if name == "portbench merge":
        shutil.rmtree(work / "merged", ignore_errors=True)
    return cpu_seconds(commands[name])


def seconds_to_first_result(manifest: Path, work: Path) -> float:
    """Seconds until the journal of a run of the framework fake has a result after its first line."""
    out = Path(tempfile.mkdtemp(dir=work))
    command = [sys.executable, "-m", "portbench", "run", "fake-cpu", "--backend", "current", "--runs", "1"]
    env = {**os.environ, "PORTBENCH_PYTHON": sys.executable}
    begin = time.perf_counter()
    with subprocess.Popen(
        [*command, "--manifest", str(manifest), "--out", str(out)],
        cwd=ROOT,
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        while not any(path.read_bytes().count(b"\n") > 1 for path in out.glob("*.journal.jsonl")):
            if process.poll() is not None:
                raise SystemExit(f"the run ended with exit status {process.returncode} before its first result")
            time.sleep(0.002)
        return time.perf_counter() - begin


def seconds(command: list[str]) -> float:
    """Seconds that a command takes."""
    begin = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - begin


def make_study(folder: Path, files: int, results: int) -> Path:
    """Merges run files of three frameworks and returns the study's folder."""
    write_run_files(folder / "runs", files, results)
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

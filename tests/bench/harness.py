"""What isolation, journal and checking cost a test: 1,000 tests that do nothing, under portbench and under pytest.

Run by ``make bench``; ``--quick`` shows that it runs, and its figures say nothing. For portbench the time inside the
cases is taken off the whole process's time; for pytest the whole is the overhead, since its tests are empty. All of
them in one run, in turn, so that the ratios hold on a machine whose speed drifts.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.paths import ROOT

TESTS = 1000
ROUNDS = 5
WANTED_MS = 1.5

PYTEST_FILE = """
import pytest

@pytest.mark.parametrize("number", range({tests}))
def test_nothing(number):
    pass
"""


def main() -> None:
    tests, repeats = (20, 1) if "--quick" in sys.argv else (TESTS, ROUNDS)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / "test_nothing.py").write_text(PYTEST_FILE.format(tests=tests))
        manifest = write_manifest(work, tests)
        pytest = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-c",
            "/dev/null",
            "--rootdir",
            folder,
        ]
        contestants = {
            "portbench": lambda: portbench_ms(manifest, work, tests),
            "pytest -n1": lambda: process_ms([*pytest, "-n1", folder], tests),
            "pytest --forked": lambda: process_ms([*pytest, "--forked", folder], tests),
        }
        rounds: dict[str, list[float]] = {name: [] for name in contestants}
        for _ in range(repeats):
            for name, measure in contestants.items():
                rounds[name].append(measure())
    ours = rounds["portbench"]
    print(f"overhead of one of {tests} empty tests, median (least to most) of {repeats} rounds")
    for name, values in rounds.items():
        ratio = statistics.median(other / own for other, own in zip(values, ours, strict=True))
        spread = f"({min(values):.2f} to {max(values):.2f})"
        print(f"  {name:16} {statistics.median(values):6.2f} ms {spread:18} {ratio:5.2f} times portbench's")
    verdict = "met" if statistics.median(ours) <= WANTED_MS else "MISSED"
    print(f"  wanted of portbench: at most {WANTED_MS} ms: {verdict}")


def write_manifest(folder: Path, tests: int) -> Path:
    """A manifest of so many tests that do nothing, each written out as in a sweep."""
    case = "fake.behaviours:sees_its_number"
    listed = [{"id": f"t-{number}", "case": case, "params": {"number": number}} for number in range(tests)]
    functions = [{"function": "fake.identity", "tests": listed}]
    document = {"schema": "portbench/manifest", "schema_version": 1, "name": "empty", "framework": "fake"}
    path = folder / "manifest.json"
    path.write_text(json.dumps({**document, "functions": functions}))
    return path


def portbench_ms(manifest: Path, folder: Path, tests: int) -> float:
    out = Path(tempfile.mkdtemp(dir=folder))
    command = [sys.executable, "-m", "runners", "--framework", "fake", "--device", "cpu", "--manifest", str(manifest)]
    whole = process_ms([*command, "--out", str(out), "--runs", "1", "--protocol", "cold", "--progress", "none"], tests)
    document = json.loads(next(out.glob("*.json")).read_text())
    return whole - sum(result["case_ns"] for result in document["results"]) / 1e6 / tests


def process_ms(command: list[str], tests: int) -> float:
    """Milliseconds of the command, for one of its tests."""
    begin = time.perf_counter()
    subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return (time.perf_counter() - begin) * 1e3 / tests


if __name__ == "__main__":
    main()

"""Real frameworks run out of time or memory, or their worker is killed: the run file says so, and loses nothing."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest

from runners.core.process import processes
from runners.core.result import PHASES
from tests.contract.contracts import ROOT, VERSIONS

pytestmark = [pytest.mark.frameworks, pytest.mark.slow]

Run = Callable[..., dict[str, Any]]
ONES = {"torch": "torch.ones", "tensorflow": "tf.ones", "jax": "jax.numpy.ones"}
EIGENVALUES = {
    "torch": "torch.linalg.eigvals",
    "tensorflow": "tf.linalg.eigvals",
    "jax": "jax.numpy.linalg.eigvals",
}
PRODUCT = {"torch": "torch.matmul", "tensorflow": "tf.linalg.matmul", "jax": "jax.numpy.matmul"}
FRAMEWORKS = sorted(VERSIONS)
WORKING = ("call", "wait")


def matrix(size: int) -> dict[str, Any]:
    return {"tensor": {"shape": [size, size], "dtype": "float32", "seed": 1}}


def endless_and_after(framework: str) -> list[dict[str, Any]]:
    """The eigenvalues of 10,000 rows, which take over a minute on two quiet cores, and a small product after them."""
    endless = {"id": "endless", "case": "call", "args": [matrix(10_000)], "expect": {"numpy": "linalg.eigvals"}}
    return [{"function": EIGENVALUES[framework], "tests": [endless]}, after(framework)]


def after(framework: str) -> dict[str, Any]:
    small = {"id": "after", "case": "call", "args": [matrix(8), matrix(8)], "expect": {"numpy": "matmul"}}
    return {"function": PRODUCT[framework], "tests": [small]}


def manifest(path: Path, framework: str, functions: list[dict[str, Any]]) -> Path:
    document = {"schema": "portbench/manifest", "schema_version": 2, "name": "faults", "framework": framework}
    path.write_text(json.dumps({**document, "functions": functions}), "utf-8")
    return path


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_what_takes_too_much_memory_is_ended_and_the_rest_goes_on(
    framework: str, run_manifest: Run, tmp_path: Path
) -> None:
    large = {"id": "large", "case": "call", "args": [[2_000_000_000]], "expect": {"numpy": "ones"}}
    functions = [
        {"function": ONES[framework], "tests": [large, dict(large, id="small", args=[[8]])]},
        after(framework),
    ]
    path = manifest(tmp_path / "memory.json", framework, functions)
    document = run_manifest(framework, VERSIONS[framework][1], path, runs=1, protocol="cold", memory="3G")
    found = {result["test"]: result for result in document["results"]}
    assert {test: result["outcome"] for test, result in found.items()} == {
        "large": "crashed",
        "small": "passed",
        "after": "passed",
    }
    assert (found["large"]["category"], found["large"]["phase"]) == ("memory", "call")
    assert "more than the limit of 3.22 GB" in found["large"]["reason"]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_kernel_that_does_not_come_back_in_time_is_ended(framework: str, run_manifest: Run, tmp_path: Path) -> None:
    path = manifest(tmp_path / "time.json", framework, endless_and_after(framework))
    document = run_manifest(framework, VERSIONS[framework][1], path, runs=1, protocol="cold", timeout=20)
    endless, small = document["results"]
    assert (endless["outcome"], endless["category"], endless["phase"] in WORKING) == ("timed_out", "timeout", True)
    assert small["outcome"] == "passed"


@pytest.mark.parametrize(
    ("framework", "number"), zip(FRAMEWORKS, (signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL), strict=True)
)
def test_a_worker_that_dies_while_it_computes(
    framework: str, number: signal.Signals, environment_python: Callable[[str], Path], tmp_path: Path
) -> None:
    path = manifest(tmp_path / "death.json", framework, endless_and_after(framework))
    python = environment_python(f"{framework}-{VERSIONS[framework][1]}-cpu")
    arguments = ["--framework", framework, "--device", "cpu", "--manifest", path, "--out", tmp_path / "out"]
    arguments += ["--runs", "1", "--protocol", "cold", "--progress", "json"]
    (tmp_path / "temporary").mkdir()
    surroundings = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    running = subprocess.Popen(
        [python, "-m", "runners", *arguments], cwd=ROOT, env=surroundings, stdout=subprocess.PIPE, text=True
    )
    try:
        # A death may come from outside of the test, so the test runs again. Only what repeats is a finding.
        dead = {worker_at_work(running, tmp_path / "temporary")}
        os.kill(*dead, number)
        for _ in range(2 if number == signal.SIGKILL else 1):
            again = worker_at_work(running, tmp_path / "temporary", dead)
            os.kill(again, number)
            dead.add(again)
        said, _ = running.communicate()
    finally:
        running.kill()
        running.wait()
    assert running.returncode == 0, said[-2000:]
    (run_file,) = (tmp_path / "out").glob("*.json")
    deadly, small = json.loads(run_file.read_text("utf-8"))["results"]
    assert (deadly["outcome"], deadly["category"]) == ("crashed", "crash")
    assert deadly["phase"] in WORKING
    assert deadly["exit"]["signal"] == number.name
    assert small["outcome"] == "passed"
    assert list((tmp_path / "temporary").iterdir()) == []


def worker_at_work(supervisor: subprocess.Popen[str], folder: Path, dead: Collection[int] = ()) -> int:
    """The process of the worker, once it has computed for a second in a phase of WORKING; the computation takes over a
    minute. ``folder`` is that of temporary files."""
    ticks = os.sysconf("SC_CLK_TCK")
    before: dict[int, int] = {}
    while supervisor.poll() is None:
        for process in processes.below(supervisor.pid):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if process not in dead and phase_of(process, folder) in WORKING:
                    fields = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()
                    used = int(fields[11]) + int(fields[12])
                    if used - before.setdefault(process, used) > ticks:
                        return process
        with contextlib.suppress(subprocess.TimeoutExpired):
            supervisor.wait(timeout=0.5)
    raise AssertionError("it ended before its worker had done anything")


def phase_of(process: int, folder: Path) -> str:
    """The phase of a worker, which is the byte in a file of its own without a name; empty for other processes."""
    for link in Path(f"/proc/{process}/fd").iterdir():
        target = str(link.readlink())
        if target.startswith(f"{folder}/") and target.endswith(" (deleted)") and link.stat().st_size == 1:
            return PHASES[link.read_bytes()[0]]
    return ""

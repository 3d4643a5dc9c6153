"""How the cost of each command grows with the number of results, or of tests: time, CPU time and memory.

Run by ``make bench``; ``--largest 1000000`` takes some minutes more. Nothing may grow faster than linearly: where a
size has ten times as many as the one before, the CPU time may be at most twelve times as long. Prints a table and draws
build/bench/growth.svg.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from pathlib import Path

from tests.bench.harness import write_manifest
from tests.bench.many_run_files import run_file, write_run_files
from tests.bench.measured import Cost, measure
from tests.paths import ROOT

SMALLEST = 10_000
RESULTS_OF_A_FILE = 500
TESTS = (30, 300, 3_000, 30_000)
STEEPEST = 1.2
FIGURE = ROOT / "build" / "bench" / "growth.svg"

Costs = dict[str, dict[int, Cost]]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.growth", description=__doc__)
    parser.add_argument("--largest", type=int, default=100_000, help="most results (default: 100000)")
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it runs, its figures say nothing")
    options = parser.parse_args()
    sizes = [SMALLEST * 10**power for power in range(9) if SMALLEST * 10**power <= options.largest]
    tests = TESTS
    if options.quick:
        sizes, tests = [500, 1000], (2, 4)
    of_results: Costs = {}
    of_tests: Costs = {}
    with tempfile.TemporaryDirectory(prefix="portbench-bench-") as folder:
        for size in tests:
            measure_tests(Path(folder, f"tests-{size}"), size, of_tests)
        for size in sizes:
            measure_results(Path(folder, f"results-{size}"), size, of_results)
    print(f"{len(os.sched_getaffinity(0))} cores; load of the machine {os.getloadavg()[0]:.1f}")
    show("results", of_results)
    show("tests", of_tests)
    draw({"results": of_results, "tests": of_tests})


def measure_results(work: Path, size: int, costs: Costs) -> None:
    """Adds the cost of the commands for a study of ``size`` results in files of 500."""
    files = size // RESULTS_OF_A_FILE
    write_run_files(work / "runs", files, RESULTS_OF_A_FILE)
    more = work / "more.json"
    more.write_text(run_file(("torch", "2.9.0", "gpu"), files, RESULTS_OF_A_FILE, random.Random("more")), "utf-8")
    portbench = [sys.executable, "-m", "portbench"]
    study = str(work / "study")
    commands = {
        "merge": ["merge", str(work / "runs"), "-o", study],
        "merge of one more file": ["merge", str(more), "-o", study],
        "explain one function": ["explain", study, "torch.linalg.operation_0"],
        "report": ["report", study, "-o", str(work / "report")],
    }
    for name, command in commands.items():
        costs.setdefault(name, {})[size] = measure([*portbench, *command])


def measure_tests(work: Path, size: int, costs: Costs) -> None:
    """Adds the cost of a run of ``size`` empty tests."""
    work.mkdir()
    manifest = write_manifest(work, size)
    run = [sys.executable, "-m", "runners", "--framework", "fake", "--device", "cpu", "--manifest", str(manifest)]
    options = ["--out", str(work / "out"), "--runs", "1", "--protocol", "cold", "--progress", "none"]
    costs.setdefault("run", {})[size] = measure([*run, *options])


def show(what: str, costs: Costs) -> None:
    """Prints the costs, and whether each grows at most linearly between the two largest sizes."""
    for name, by_size in costs.items():
        for size, cost in by_size.items():
            per_item = 1e6 * cost.cpu_s / size
            print(
                f"  {name:24} {size:9,} {what:9} {cost.seconds:7.1f} s {cost.cpu_s:7.1f} s of CPU "
                f"{per_item:10,.1f} us each {cost.peak_bytes / 1e9:6.2f} GB"
            )
        *_, (small, before), (large, after) = by_size.items()
        steepness = (after.cpu_s / before.cpu_s) / (large / small)
        verdict = "met" if steepness <= STEEPEST else "MISSED"
        print(f"    CPU time of one at the largest over the size before: {steepness:.2f}, wanted {STEEPEST}: {verdict}")


def draw(costs: dict[str, Costs]) -> None:
    """Draws CPU time and memory against size, both axes logarithmic."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, len(costs), figsize=(9, 7), sharex="col", sharey="row")
    for column, (what, of_commands) in enumerate(costs.items()):
        for name, by_size in of_commands.items():
            sizes = list(by_size)
            axes[0][column].loglog(sizes, [cost.cpu_s for cost in by_size.values()], marker="o", label=name)
            axes[1][column].loglog(sizes, [cost.peak_bytes / 1e6 for cost in by_size.values()], marker="o", label=name)
        axes[0][column].set_ylabel("CPU time (s)")
        axes[1][column].set_ylabel("memory (MB)")
        axes[1][column].set_xlabel(f"number of {what}")
        axes[0][column].legend()
    figure.tight_layout()
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURE, metadata={"Date": None})
    print(FIGURE.relative_to(ROOT))


if __name__ == "__main__":
    main()

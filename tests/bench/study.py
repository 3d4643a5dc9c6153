"""Where the time of a run of the study's manifests goes: first calls once on the CPU, in each framework's old version.

Run by ``make bench``. The paper's authors' own suites took 75 ms a test for PyTorch (279 tests in 20.8 s), 105 ms for
TensorFlow (1,143 in 119.6 s) and 55 ms for JAX (1,192 in 65.3 s) on a machine with two cores; these suites are not part
of portbench, so that they are not measured again here. Draws build/bench/study.svg.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from portbench.targets.catalog import find_targets
from portbench.targets.environments import create_environment
from portbench.util.repository import find_checkout
from tests.bench.measured import measure
from tests.paths import ROOT

TARGETS = ("torch-1.12.0-cpu", "tensorflow-2.11.0-cpu", "jax-0.4.13-cpu")
SUITES_MS = {"torch": 20_800 / 279, "tensorflow": 119_600 / 1143, "jax": 65_300 / 1192}
FIGURE = ROOT / "build" / "bench" / "study.svg"
PARTS = ("first calls: compile", "first calls: rest", "rest of the tests", "outside of the tests")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.study", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="one function: shows that it runs, its figures say nothing"
    )
    options = parser.parse_args()
    targets, chosen = (TARGETS[:1], ["--function", "torch.sum"]) if options.quick else (TARGETS, [])
    shares: dict[str, list[float]] = {}
    for target in targets:
        (found,) = find_targets([target], find_checkout())
        create_environment(found, lambda line: print(line, file=sys.stderr))
        with tempfile.TemporaryDirectory(prefix="portbench-bench-") as folder:
            run = [sys.executable, "-m", "portbench", "run", target, "--protocol", "cold", "--runs", "1", *chosen]
            cost = measure([*run, "--out", folder])
            (file,) = Path(folder).rglob("*.json")
            document = json.loads(file.read_bytes())
        tests = len(document["results"])
        shares[target] = list(parts_s(document))
        suite_ms = SUITES_MS[document["target"]["framework"]]
        print(
            f"  {target:22} {tests:5,} tests  {cost.seconds:6.1f} s  {1e3 * cost.seconds / tests:6.1f} ms each  "
            f"{cost.peak_bytes / 1e9:.2f} GB  (the authors' suite: {suite_ms:.0f} ms each, elsewhere)"
        )
        for name, seconds in zip(PARTS, shares[target], strict=True):
            print(f"    {name:22} {seconds:6.1f} s")
    draw(shares)


def parts_s(run: Any) -> tuple[float, ...]:
    """The seconds of a run by ``PARTS``. Outside of the tests are the second, traced pass of each test, the
    synchronization check, second opinions about failures, new workers and the journal."""
    begin, end = (datetime.datetime.fromisoformat(run[name]) for name in ("started_at", "ended_at"))
    cold = [call["cold"] for result in run["results"] for call in result["calls"] if call["cold"]]
    calls = sum(each["call_ns"] + (each["wait_ns"] or 0) for each in cold) / 1e9
    compiled = sum(each["counters"].get("compile_ns", 0) for each in cold) / 1e9
    inside = sum(result["case_ns"] or 0 for result in run["results"]) / 1e9
    return compiled, calls - compiled, inside - calls, (end - begin).total_seconds() - inside


def draw(shares: dict[str, list[float]]) -> None:
    """Draws a bar for each target, with the parts of its time."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 1.2 + 0.6 * len(shares)))
    left = [0.0] * len(shares)
    for place, name in enumerate(PARTS):
        widths = [parts[place] for parts in shares.values()]
        axes.barh(list(shares), widths, left=left, label=name)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    axes.invert_yaxis()
    axes.set_xlabel("seconds")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.3), ncols=2, frameon=False)
    figure.tight_layout()
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURE, metadata={"Date": None})
    print(FIGURE.relative_to(ROOT))


if __name__ == "__main__":
    main()

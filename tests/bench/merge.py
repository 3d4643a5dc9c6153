"""How long a merge of 2,000 run files with 1,000,000 results takes, checks included, and another one of one more file.

Run by ``make bench``. For comparison, a plain loop over the same files: json, a list of results, a frame, unchecked.
Each in a process of its own, one after the other, all in one run; memory is the most that a process and those that it
started held together, looked at every twentieth of a second.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from pathlib import Path

from tests.bench.many_run_files import run_file, write_run_files
from tests.bench.measured import measure

FILES = 2000
RESULTS = 500
WANTED_S = 30
WANTED_AGAIN_S = 3
WANTED_BYTES = 2_000_000_000

PLAIN = """
import json, sys
from pathlib import Path
import pandas
rows = []
for path in sorted(Path(sys.argv[1]).glob("*.json")):
    document = json.loads(path.read_text())
    for result in document["results"]:
        row = {key: value for key, value in result.items() if not isinstance(value, (dict, list))}
        cold = result["calls"][0]["cold"] if result["calls"] else None
        rows.append({**document["target"], **row, "cold_ns": cold and cold["call_ns"] + cold["wait_ns"]})
frame = pandas.DataFrame(rows)
passed = frame.assign(passed=frame.outcome == "passed")
keys = ["framework", "version", "device", "function"]
print(len(passed.groupby(keys).agg({"passed": "mean", "cold_ns": "mean"})))
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.merge", description=__doc__)
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--quick", action="store_true", help="few files: shows that it runs, its figures say nothing")
    options = parser.parse_args()
    files, results = (20, 20) if options.quick else (options.files, RESULTS)
    with tempfile.TemporaryDirectory(prefix="portbench-bench-") as folder:
        work = Path(folder)
        size = write_run_files(work / "runs", files, results)
        one_more = work / "more.json"
        one_more.write_text(run_file(("torch", "2.9.0", "gpu"), files, results, random.Random("one more")))
        portbench = [sys.executable, "-m", "portbench", "merge"]
        study = ["-o", str(work / "study")]
        measured = {
            "merge": measure([*portbench, str(work / "runs"), *study]),
            "one more file": measure([*portbench, str(one_more), *study]),
            "json + pandas": measure([sys.executable, "-c", PLAIN, str(work / "runs")]),
        }
    plain_s, plain_cpu_s, _ = measured["json + pandas"]
    print(
        f"{files:,} run files, {files * results:,} results, {size / 1e9:.2f} GB; {len(os.sched_getaffinity(0))} cores"
    )
    for name, (seconds, cpu_s, peak) in measured.items():
        ratios = f"{seconds / plain_s:5.2f} times json + pandas, {cpu_s / plain_cpu_s:5.2f} times its CPU time"
        print(f"  {name:14} {seconds:7.1f} s  {cpu_s:7.1f} s of CPU  {peak / 1e9:5.2f} GB  {ratios}")
    (merge_s, _, merge_bytes), (again_s, _, again_bytes) = measured["merge"], measured["one more file"]
    met = merge_s < WANTED_S and again_s < WANTED_AGAIN_S and max(merge_bytes, again_bytes) < WANTED_BYTES
    wanted = f"under {WANTED_S} s and {WANTED_BYTES / 1e9:.0f} GB, under {WANTED_AGAIN_S} s for one more"
    print(f"  wanted: {wanted}: {'met' if met else 'MISSED'}; load of the machine {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()

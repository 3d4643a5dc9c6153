"""``make storm``: faults of every kind, one after the other, chosen by a seed; counts what they do to the results.

A fault has a number. It chooses the same again with the same seed: ``--only 17``. The moment at which a signal arrives
depends on the machine, too. Exit status 1 if anything was lost, doubled, invented, left behind or ended in a traceback.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import count
from pathlib import Path
from random import Random

from tests.storm import faults, studies
from tests.storm.faults import Fault
from tests.storm.runs import Target, fake, real
from tests.storm.scene import Scene

_OF_RUNS: dict[str, Fault] = {
    "signals": faults.signalled,
    "all killed": faults.whole_group,
    "journal damaged": faults.journal,
    "files limited": faults.file_limit,
    "disk full": faults.full_disk,
    "no folder": faults.no_folder,
    "clock jumps": faults.clock,
    "runs at once": faults.at_once,
}
_OF_STUDIES: dict[str, Fault] = {
    "merge killed": studies.killed,
    "merge without space": studies.no_space,
    "merges at once": studies.at_once,
    "study damaged": studies.study,
}
_WEIGHTS = {"signals": 6, "journal damaged": 5, "study damaged": 4, "merge killed": 3}
_COUNTED = ("lost", "doubled", "invented", "processes", "folders", "tracebacks", "hung")


def main() -> None:
    """Runs faults until their number, or the time, is used up, and prints the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.storm", description=__doc__)
    parser.add_argument("--minutes", type=float, default=math.inf, metavar="M")
    parser.add_argument("--faults", type=int, metavar="N", help="how many (default: until the minutes are over)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, metavar="NUMBER", help="this fault alone")
    parser.add_argument("--kind", help="only faults of this kind")
    parser.add_argument("--target", default="fake", help="fake, or a target whose environment exists: torch-cpu")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="how many at once (default: 2)")
    options = parser.parse_args()
    if options.faults is None and options.only is None and options.minutes == math.inf:
        parser.error("give --minutes, --faults or --only")
    with tempfile.TemporaryDirectory(prefix="portbench-storm-") as folder:
        target = fake(Path(folder)) if options.target == "fake" else real(options.target)
        target.learn()
        totals = _storm(options, target)
    _print(totals, options.seed)
    sys.exit(any(total[name] for total in totals.values() for name in _COUNTED))


def _storm(options: argparse.Namespace, target: Target) -> dict[str, Counter[str]]:
    end = time.monotonic() + options.minutes * 60
    numbers: Iterator[int] = iter([options.only]) if options.only is not None else count(1)
    totals: dict[str, Counter[str]] = defaultdict(Counter)
    running: set[Future[None]] = set()
    started = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for number in numbers:
            random = Random(f"{options.seed} {number}")
            kind, fault = _chosen(random, target)
            if options.kind and kind != options.kind:
                continue
            if time.monotonic() >= end or (options.faults is not None and started >= options.faults):
                break
            started += 1
            running.add(pool.submit(_one, number, kind, fault, target, random, totals))
            if len(running) >= options.jobs:
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                for each in finished:
                    each.result()
        for each in running:
            each.result()
    return totals


def _chosen(random: Random, target: Target) -> tuple[str, Fault]:
    kinds = {**_OF_RUNS, **(_OF_STUDIES if target.runner else {})}
    names = list(kinds)
    (name,) = random.choices(names, [_WEIGHTS.get(name, 1) for name in names])
    return name, kinds[name]


def _one(number: int, kind: str, fault: Fault, target: Target, random: Random, totals: dict[str, Counter[str]]) -> None:
    scene = Scene()
    try:
        fault(scene, target, random)
        if kind in _OF_RUNS:
            scene.check_processes()
            # A run that was killed in whole leaves its folder to the next, which removes it.
            scene.run(*target.command(scene, "--list"))
            scene.check_folders()
    finally:
        scene.close()
    totals[kind] += Counter(faults=1) + scene.found
    if any(scene.found[name] for name in _COUNTED):
        print(f"fault {number}, {kind}: {dict(scene.found)}", *scene.notes, sep="\n  ", flush=True)


def _print(totals: dict[str, Counter[str]], seed: int) -> None:
    columns = ("faults", *_COUNTED, "refused")
    totals["all"] = sum(totals.values(), Counter())
    print(f"{'':20}" + "".join(f"{name:>11}" for name in columns))
    for kind, total in totals.items():
        print(f"{kind:20}" + "".join(f"{total[name]:>11}" for name in columns))
    print(f"seed {seed}: {totals['all']['faults']} faults, findings {sum(totals['all'][name] for name in _COUNTED)}")


if __name__ == "__main__":
    main()

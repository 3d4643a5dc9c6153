"""What a command costs: its time, its CPU time and the most memory that it and its processes hold together."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from pathlib import Path
from typing import NamedTuple

from tests.paths import ROOT


class Cost(NamedTuple):
    """Seconds, seconds of CPU time, and bytes of memory."""

    seconds: float
    cpu_s: float
    peak_bytes: int


def measure(command: list[str]) -> Cost:
    """The cost of a command and its processes. Memory is looked at every twentieth of a second, or less often
    where a look takes long. Raises SystemExit if the command fails."""
    before = os.times()
    begin = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    ended = threading.Event()
    peak = 0

    def watch() -> None:
        nonlocal peak
        pause_s = 0.05
        while not ended.wait(pause_s):
            look = time.perf_counter()
            peak = max(peak, held_bytes(process.pid))
            pause_s = max(0.05, 19 * (time.perf_counter() - look))

    watcher = threading.Thread(target=watch)
    watcher.start()
    status = process.wait()
    seconds = time.perf_counter() - begin
    ended.set()
    watcher.join()
    if status:
        raise SystemExit(f"{' '.join(command)}: exit status {status}")
    after = os.times()
    cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
    return Cost(seconds, cpu_s, peak)


def held_bytes(pid: int) -> int:
    """Memory of a process and its descendants, what they share counted once."""
    try:
        tasks = Path(f"/proc/{pid}/task").iterdir()
        children = [int(child) for task in tasks for child in (task / "children").read_text().split()]
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0
    own = next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)
    return own + sum(map(held_bytes, children))

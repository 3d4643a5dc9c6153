"""The descendants of a process: which they are, how much memory they hold, and how to end all of them.

On Linux a *subreaper* inherits descendants that lose their parent, whatever session or process group they are in.
Supervisor and zygote are subreapers, so nothing that a test starts can escape from both.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from pathlib import Path
from typing import Collection, Iterable

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None)
_PAGE = os.sysconf("SC_PAGE_SIZE")


def adopt_orphans() -> None:
    """Makes this process a subreaper."""
    if sys.platform == "linux":
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def signal_at_death_of(parent: int, number: int) -> None:
    """Makes the kernel send this process a signal when its parent dies; sends it now if the parent is dead already."""
    if sys.platform == "linux":
        _libc.prctl(_PR_SET_PDEATHSIG, number)
        if os.getppid() != parent:
            os.kill(os.getpid(), number)


def end_children(but: Collection[int] = ()) -> None:
    """Kills and reaps all children of this process, and those that it inherits by that, until there are none."""
    while True:
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        found = [process for process, parent in _parents() if parent == os.getpid() and process not in but]
        if not found:
            return
        for process in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        for process in found:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process, 0)


def below(ancestor: int) -> list[int]:
    """All descendants of a process."""
    children: dict[int, list[int]] = {}
    for process, parent in _parents():
        children.setdefault(parent, []).append(process)
    found: list[int] = []
    left = [ancestor]
    while left:
        next_ones = children.get(left.pop(), [])
        found += next_ones
        left += next_ones
    return found


def held_bytes(processes: Iterable[int], limit: int) -> int:
    """The memory in bytes that processes hold together.

    A quick count is never too low. Only if it exceeds the limit is the memory counted exactly, with shared pages once.
    """
    processes = list(processes)
    quick = sum(map(_resident_bytes, processes))
    return quick if quick <= limit else sum(map(_proportional_bytes, processes))


def end_all_with(variable: str) -> None:
    """Kills every process of this user that was started with ``NAME=value`` in its environment."""
    wanted = variable.encode()
    for process in _all():
        with contextlib.suppress(OSError):
            if process != os.getpid() and wanted in Path(f"/proc/{process}/environ").read_bytes().split(b"\0"):
                os.kill(process, signal.SIGKILL)


def _all() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - twice as fast
    except OSError:
        return []


def _parents() -> Iterable[tuple[int, int]]:
    for process in _all():
        try:
            yield process, int(Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[1])
        except (OSError, IndexError):
            continue


def _resident_bytes(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def _proportional_bytes(process: int) -> int:
    try:
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    # The process has ended, access is denied, or the kernel is older than 4.14.
    return _resident_bytes(process)

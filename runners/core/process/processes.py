"""The descendants of a process: which they are, how much memory they hold, and how to end all of them.

On Linux a *subreaper* inherits descendants that lose their parent, whatever session or process group they are in.
Supervisor and zygote are subreapers, so nothing that a test starts can escape from both.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import stat
import sys
import threading
from pathlib import Path
from typing import Collection, Iterable

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None)
_TICKS = os.sysconf("SC_CLK_TCK")
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
        found = [process for process in children(os.getpid()) if process not in but]
        if not found:
            return
        for process in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        for process in found:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process, 0)


def children(parent: int) -> list[int]:
    """The processes that a process has started, or inherited, and that it did not reap."""
    return [process for process, of in _parents() if of == parent]


def below(ancestor: int) -> list[int]:
    """All descendants of a process."""
    started: dict[int, list[int]] = {}
    for process, parent in _parents():
        started.setdefault(parent, []).append(process)
    found: list[int] = []
    left = [ancestor]
    while left:
        next_ones = started.get(left.pop(), [])
        found += next_ones
        left += next_ones
    return found


def signal_when_unread(descriptor: int, number: int) -> None:
    """Makes a thread send this process a signal as soon as nobody can read a pipe any more. Does nothing for others."""
    if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        return

    def watch() -> None:
        poll = select.poll()
        # An error is reported even if nothing is asked for.
        poll.register(descriptor, 0)
        poll.poll()
        os.kill(os.getpid(), number)

    threading.Thread(target=watch, daemon=True).start()


def resident_bytes(process: int) -> int:
    """The memory in bytes that a process holds, with pages that it shares; 0 without /proc."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def held_bytes(processes: Iterable[int], limit: int) -> int:
    """The memory in bytes that processes hold together.

    A quick count is never too low. Only if it exceeds the limit is the memory counted exactly, with shared pages once.
    """
    processes = list(processes)
    quick = sum(map(resident_bytes, processes))
    return quick if quick <= limit else sum(map(_proportional_bytes, processes))


def end_all_with(variable: str) -> None:
    """Kills every process of this user that was started with ``NAME=value`` in its environment."""
    wanted = variable.encode()
    for process in _all():
        with contextlib.suppress(OSError):
            if process != os.getpid() and wanted in Path(f"/proc/{process}/environ").read_bytes().split(b"\0"):
                os.kill(process, signal.SIGKILL)


def cpu_seconds(processes: Iterable[int]) -> float:
    """The CPU time that processes have used, and those of their children whose end they have noticed."""
    return sum(map(_cpu_ticks, processes)) / _TICKS


def is_alive(process: object) -> bool:
    """Whether a process of this number exists and is no zombie. Without /proc, every number of a process may be one."""
    if not isinstance(process, int) or process <= 0:
        return False
    try:
        return Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return not Path("/proc/self").exists()


def command_of(process: int) -> str:
    """The beginning of a process's command line, as ' (python -m runners ...)'; empty if it is not known."""
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
    except OSError:
        return ""
    program, *arguments = words
    text = "".join(c for c in " ".join([Path(program).name, *arguments]).strip() if c.isprintable())
    return f" ({text if len(text) <= 80 else text[:80] + '...'})" if text else ""


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


def _cpu_ticks(process: int) -> int:
    try:
        fields = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return 0
    # User and system, of itself and of its children.
    return sum(map(int, fields[11:15]))


def _proportional_bytes(process: int) -> int:
    try:
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    # The process has ended, access is denied, or the kernel is older than 4.14.
    return resident_bytes(process)

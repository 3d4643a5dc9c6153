"""Locks the journal, so that one runner writes to it, and says which process holds the lock.

The lock is flock's, which the kernel releases at the end of a process. A file system without flock (some of those over
a network) gets a lock file beside the journal instead, with its owner and a heartbeat: the time of its last change. It
is stale if its owner has ended, as far as that can be seen from here, or has not changed it for a minute.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import platform
import tempfile
import threading
import uuid
from pathlib import Path
from typing import Any, Callable

from runners.core.errors import StorageFailed
from runners.core.process import processes

HEARTBEAT_S = 10.0
STALE_AFTER_S = 60.0

_BUSY = (errno.EWOULDBLOCK, errno.EACCES)

Flock = Callable[[int, int], Any]


class Busy(Exception):
    """Another process holds the lock; the message names it as far as that is known."""


class Lock:
    """A lock of the file ``path``, which is open as ``descriptor``. Raises Busy, and OSError if it cannot be locked.

    ``wait``: until another process, which only looks at a new file, releases it. ``flock`` locks a descriptor; it is
    an argument for tests.
    """

    def __init__(self, path: Path, descriptor: int, wait: bool = False, flock: Flock = fcntl.flock) -> None:
        self._soft: _LockFile | None = None
        try:
            flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _BUSY:
                raise Busy(_holder(descriptor)) from error
            self._soft = _LockFile(path.with_name(path.name + ".lock"))

    def move(self, descriptor: int, flock: Flock = fcntl.flock) -> None:
        """Locks the file that is about to replace the locked one. Raises OSError."""
        if self._soft is None:
            flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def check(self) -> None:
        """Raises StorageFailed if another runner took the lock over, since this process was stopped for too long."""
        if self._soft is not None:
            self._soft.check()

    def release(self) -> None:
        """Removes the lock file, if there is one. The lock of flock ends with its descriptor."""
        if self._soft is not None:
            self._soft.release()


class _LockFile:
    """A lock file of this process, changed every ``HEARTBEAT_S`` by a thread. Raises Busy and OSError."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._owner = {"process": os.getpid(), "machine": platform.node(), "token": uuid.uuid4().hex}
        _remove_stale(path)
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        except FileExistsError:
            raise Busy(_described(_owner_of(path))) from None
        try:
            os.write(descriptor, json.dumps(self._owner).encode())
        finally:
            os.close(descriptor)
        self._released = threading.Event()
        threading.Thread(target=self._beat, daemon=True).start()

    def check(self) -> None:
        if _owner_of(self._path).get("token") != self._owner["token"]:
            raise StorageFailed(
                f"{self._path}: another runner has taken over, since this one did not run for {STALE_AFTER_S:g} s",
                "Nothing is lost: the other runner continues.",
            )

    def release(self) -> None:
        self._released.set()
        if _owner_of(self._path).get("token") == self._owner["token"]:
            with contextlib.suppress(OSError):
                self._path.unlink()

    def _beat(self) -> None:
        while not self._released.wait(HEARTBEAT_S):
            with contextlib.suppress(OSError):
                os.utime(self._path)


def _remove_stale(path: Path) -> None:
    """Removes a lock file whose owner is gone."""
    owner = _owner_of(path)
    with contextlib.suppress(FileNotFoundError):
        is_gone = owner.get("machine") == platform.node() and not processes.is_alive(owner.get("process"))
        if is_gone or _age_s(path) > STALE_AFTER_S:
            path.unlink()


def _age_s(path: Path) -> float:
    """The time since a file was changed, by the clock of its file system."""
    with tempfile.NamedTemporaryFile(dir=str(path.parent), prefix=path.name + ".") as now:
        return os.fstat(now.fileno()).st_mtime - path.stat().st_mtime


def _owner_of(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _described(owner: dict[str, Any]) -> str:
    return f"process {owner.get('process', '(unknown)')} on {owner.get('machine', 'an unknown machine')}"


def _holder(descriptor: int) -> str:
    """The process that holds flock's lock of this file, by /proc/locks. That knows no processes of other machines and
    of other containers."""
    wanted = os.fstat(descriptor).st_ino
    try:
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        # 1: FLOCK  ADVISORY  WRITE 1234 00:2d:5678 0 EOF; a line with '->' waits for the lock.
        fields = line.split()
        if len(fields) > 5 and fields[1] == "FLOCK" and fields[5].rpartition(":")[2] == str(wanted):
            process = int(fields[4])
            if process > 0:
                return f"process {process}{processes.command_of(process)}"
    return "a process of another container or machine"

"""The folder in which workers work, and its removal by whoever is left to do it.

``portbench-run-*/lock`` is locked as long as the run's supervisor lives; ``portbench-run-*/work`` is the working and
temporary folder of the workers. Where the lock can be taken, the run is over however it ended: the zygote removes the
folder when its supervisor was killed, and the next supervisor where the zygote was killed too. A folder without a lock
is one whose owner was killed while it made or removed it, unless it is being made right now.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

from runners.core.errors import StorageFailed
from runners.core.process import processes

_PREFIX = "portbench-run-"
# Between making a folder and locking it lie microseconds.
_ABANDONED_AFTER_S = 60


class Scratch:
    """A new folder of this process. ``work`` is for the workers. Raises StorageFailed."""

    def __init__(self) -> None:
        folder = None
        try:
            folder = self._folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
            self.work = folder / "work"
            self.work.mkdir()
            new = folder / "new"
            self._descriptor = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            # There is no moment in which a lock is there and free while this process lives.
            new.replace(folder / "lock")
        except OSError as error:
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
            raise StorageFailed(f"no temporary folder can be made: {error}", "Make room, or set TMPDIR.") from error

    def remove(self) -> None:
        """Removes it with all that tests and frameworks left behind there."""
        shutil.rmtree(self._folder, ignore_errors=True)
        os.close(self._descriptor)


def sweep() -> None:
    """Removes the folders of runs that were killed, and ends what these left running."""
    for folder in Path(tempfile.gettempdir()).glob(_PREFIX + "*"):
        if (folder / "lock").exists():
            remove_stale(folder / "work", end_processes=True)
        else:
            _remove_abandoned(folder)


def remove_stale(work: Path, end_processes: bool = False) -> None:
    """Removes the folder of a run that is over, given its ``work``; leaves that of a living one alone."""
    with contextlib.suppress(OSError):
        descriptor = os.open(work.parent / "lock", os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if end_processes:
                processes.end_all_with(f"TMPDIR={work}")
            shutil.rmtree(work.parent, ignore_errors=True)
        finally:
            os.close(descriptor)


def _remove_abandoned(folder: Path) -> None:
    with contextlib.suppress(OSError):
        if time.time() - folder.stat().st_mtime > _ABANDONED_AFTER_S:
            shutil.rmtree(folder)

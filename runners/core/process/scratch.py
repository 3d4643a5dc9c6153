"""The folder in which workers work, and its removal even if processes of the run are killed.

``portbench-run-*/lock`` is locked as long as the run's supervisor lives; ``portbench-run-*/work`` is the working and
temporary folder of the workers. If the lock can be taken, the run is over: the zygote removes the folder if its
supervisor was killed, and the next supervisor does if the zygote was killed too. If a folder has no lock, its owner was
killed while it created or removed the folder, or is creating it now.
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
# Creating a folder and locking it takes microseconds.
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
            # At no moment is there a lock that is free while this process lives.
            new.replace(folder / "lock")
        except OSError as error:
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
            raise StorageFailed(f"no temporary folder can be created: {error}", "Make room, or set TMPDIR.") from error

    def remove(self) -> None:
        """Removes the folder with everything that tests and frameworks left in it."""
        shutil.rmtree(self._folder, ignore_errors=True)
        os.close(self._descriptor)


def sweep() -> None:
    """Removes the folders of runs that were killed, and ends processes that these left running."""
    for folder in Path(tempfile.gettempdir()).glob(_PREFIX + "*"):
        if (folder / "lock").exists():
            remove_stale(folder / "work", end_processes=True)
        else:
            _remove_abandoned(folder)


def remove_stale(work: Path, end_processes: bool = False) -> None:
    """Removes the folder of a run that is over, given its ``work``; does nothing if the run is alive."""
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

"""Temporary folders that do not stay: the next command removes those of commands that were killed.

``portbench-host-*/lock`` is locked as long as the command lives. A folder without a lock is new, or its command was
killed in the moment in which it was created; after a minute it is removed, too.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from portbench.errors import StorageFailed

_PREFIX = "portbench-host-"
_ABANDONED_AFTER_S = 60


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """A new folder, which is removed at the end. Raises StorageFailed where none can be created."""
    try:
        sweep()
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    except OSError as error:
        raise StorageFailed(f"no temporary folder can be created: {error}", "Make room, or set TMPDIR.") from error
    try:
        with (folder / "new").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # At no moment is there a lock that is free while this process lives.
            (folder / "new").replace(folder / "lock")
            inner = folder / "files"
            inner.mkdir()
            yield inner
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sweep() -> None:
    """Removes the folders of commands that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if (folder / "lock").exists():
                with (folder / "lock").open("rb") as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(folder, ignore_errors=True)
            elif folder.stat().st_uid == os.geteuid() and time.time() - folder.stat().st_mtime > _ABANDONED_AFTER_S:
                shutil.rmtree(folder, ignore_errors=True)

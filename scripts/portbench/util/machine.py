"""What portbench asks of the machine it runs on: commands, files under /proc, /sys and /dev, disks, processes.

All checks look through this one object, so that a test can describe a machine that it does not have. Nothing here
raises: what cannot be seen is None, and a command that cannot be started is one that failed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from portbench.util import processes

TIMEOUT_S = 20


@dataclass(frozen=True)
class Process:
    """A process and the files that it has open; ``files`` None: not permitted to see."""

    pid: int
    command: str
    files: frozenset[str] | None


class Machine:
    """This machine."""

    @property
    def user(self) -> int:
        """The effective user id of this process."""
        return os.geteuid()

    def find(self, command: str) -> str | None:
        """Where a command lies on PATH."""
        return shutil.which(command)

    def run(
        self,
        command: Sequence[str],
        folder: Path | None = None,
        env: Mapping[str, str] | None = None,
        input: str | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command to its end, or to the end of its time; ``told`` is what it reads from stdin."""
        try:
            return processes.run_captured(command, cwd=folder, env=env, input=input, timeout_s=timeout_s)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, 124, "", f"no answer within {timeout_s:g} s")
        except OSError as error:
            return subprocess.CompletedProcess(command, 127, "", str(error))

    def paths(self, pattern: str) -> list[str]:
        """The files and folders that match an absolute pattern, sorted."""
        return sorted(str(path) for path in Path("/").glob(pattern.lstrip("/")))

    def read(self, path: str | Path) -> str | None:
        """The text of a small file."""
        try:
            return Path(path).read_text(errors="replace")
        except OSError:
            return None

    def exists(self, path: str | Path) -> bool:
        """Whether the path is there and can be seen."""
        try:
            return Path(path).exists()
        except OSError:
            return False

    def owner(self, path: str | Path) -> int | None:
        """The user id that a file belongs to."""
        try:
            return Path(path).stat().st_uid
        except OSError:
            return None

    def may_write(self, folder: Path) -> bool:
        """Whether a file can be made in the folder, or the folder itself where it is not there yet."""
        there = _nearest(folder)
        return there.is_dir() and os.access(there, os.W_OK | os.X_OK)

    def may_use(self, path: str | Path) -> bool:
        """Whether a file or device can be opened for reading and writing."""
        return os.access(path, os.R_OK | os.W_OK)

    def free_bytes(self, path: Path) -> int | None:
        """What this user can still write on the disk where the path lies, or would lie."""
        try:
            return shutil.disk_usage(_nearest(path)).free
        except OSError:
            return None

    def processes(self) -> Iterator[Process]:
        """All processes but this one."""
        for folder in Path("/proc").glob("[0-9]*"):
            if int(folder.name) != os.getpid():
                command = (self.read(folder / "cmdline") or "").replace("\0", " ").strip()
                command = command or (self.read(folder / "comm") or "").strip()
                yield Process(int(folder.name), command, _open_files(folder / "fd"))


def _nearest(path: Path) -> Path:
    path = path.absolute()
    for each in (path, *path.parents):
        with contextlib.suppress(OSError):
            if each.exists():
                return each
    return Path("/")


def _open_files(folder: Path) -> frozenset[str] | None:
    files = set()
    try:
        for link in folder.iterdir():
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                files.add(str(link.readlink()))
    except PermissionError:
        return None
    except OSError:  # ended meanwhile
        return frozenset()
    return frozenset(files)

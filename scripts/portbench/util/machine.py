"""Reads the state of this machine: commands, files under /proc, /sys and /dev, disks, processes.

All checks use one Machine object, so that a test can describe another machine. No method raises: a fact that cannot be
read is None, and a command that cannot be started has a non-zero exit status.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from portbench.util import processes

TIMEOUT_S = 20


@dataclass(frozen=True)
class Process:
    """A process and its open files. ``files`` is None where this user may not see them."""

    pid: int
    command: str
    files: frozenset[str] | None


class Machine:
    """The machine that this process runs on."""

    @property
    def user(self) -> int:
        """The effective user id of this process."""
        return os.geteuid()

    def find(self, command: str) -> str | None:
        """The path of a command on PATH, or None."""
        return shutil.which(command)

    def run(
        self,
        command: Sequence[str],
        folder: Path | None = None,
        env: Mapping[str, str] | None = None,
        input: str | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command in ``folder`` and captures its output. The command reads ``input`` from stdin.

        Exit status 124: it was stopped after ``timeout_s``. Exit status 127: it could not be started.
        """
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
        """Whether the path exists and this user can see it."""
        try:
            return Path(path).exists()
        except OSError:
            return False

    def owner(self, path: str | Path) -> int | None:
        """The user id of a file's owner, or None."""
        try:
            return Path(path).stat().st_uid
        except OSError:
            return None

    def may_write(self, folder: Path) -> bool:
        """Whether files can be created in the folder. A missing folder counts as one that would be created."""
        existing = _nearest(folder)
        return existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)

    def may_use(self, path: str | Path) -> bool:
        """Whether a file or device can be opened for reading and writing."""
        return os.access(path, os.R_OK | os.W_OK)

    def free_bytes(self, path: Path) -> int | None:
        """The free space, for this user, of the disk that holds the path or would hold it."""
        try:
            return shutil.disk_usage(_nearest(path)).free
        except OSError:
            return None

    def unreachable(self, address: str, timeout_s: float = 10) -> str | None:
        """Why an http(s) address cannot be downloaded from here, or None. Asks for its head alone."""
        request = urllib.request.Request(address, method="HEAD")
        try:
            urllib.request.urlopen(request, timeout=timeout_s).close()
        except urllib.error.HTTPError as error:
            # A server that only refuses to show a head may still serve the file.
            return f"its server has no such file (status {error.code})" if error.code in (404, 410) else None
        except (OSError, http.client.HTTPException, ValueError) as error:
            return str(getattr(error, "reason", error)) or type(error).__name__
        return None

    def processes(self) -> Iterator[Process]:
        """All processes except this one."""
        for folder in Path("/proc").glob("[0-9]*"):
            if int(folder.name) != os.getpid():
                command = (self.read(folder / "cmdline") or "").replace("\0", " ").strip()
                command = command or (self.read(folder / "comm") or "").strip()
                yield Process(int(folder.name), command, _open_files(folder / "fd"))


class CachedMachine(Machine):
    """Runs each command once and repeats its result. For a single look at many targets."""

    def __init__(self) -> None:
        self._results: dict[object, subprocess.CompletedProcess[str]] = {}

    def run(
        self,
        command: Sequence[str],
        folder: Path | None = None,
        env: Mapping[str, str] | None = None,
        input: str | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> subprocess.CompletedProcess[str]:
        """The result of the first run of this command with this folder, environment and input."""
        key = (tuple(command), folder, frozenset(env.items()) if env is not None else None, input)
        if key not in self._results:
            self._results[key] = super().run(command, folder, env, input, timeout_s)
        return self._results[key]


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
            with contextlib.suppress(FileNotFoundError):  # was closed in between
                files.add(str(link.readlink()))
    except PermissionError:
        return None
    except OSError:  # ended in between
        return frozenset()
    return frozenset(files)

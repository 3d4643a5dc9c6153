"""One fault has one scene: folders of its own, the processes that it starts, and what these leave behind."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.paths import ROOT

_LIMIT_S = 240
_GRACE_S = 20
_TOKEN = "PORTBENCH_STORM"

# What no program may say, and no program may end with: 1 is Python's own status for an exception.
_TRACEBACK = re.compile(r"Traceback \(most recent call last\)|^Exception ignored|^\w+Error: ", re.MULTILINE)

# Ctrl-C while Python itself starts, before it runs any of our code, or imports it.
_WHILE_STARTING = re.compile(r"(_find_and_load|site\.py|encodings|runpy)(?s:.*)^KeyboardInterrupt$", re.MULTILINE)


@dataclass(frozen=True)
class Ended:
    """How a program ended, and what it said."""

    status: int
    out: str
    said: str


class Scene:
    """``found`` counts what is wrong by its name; ``notes`` say more."""

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="portbench-storm-"))
        self.out = self.home / "out"
        self.tmp = self.home / "tmp"
        self.tmp.mkdir()
        self._token = secrets.token_hex(8)
        self.environment = {**os.environ, _TOKEN: self._token, "TMPDIR": str(self.tmp), "PORTBENCH_MACHINE": "storm"}
        self.found: Counter[str] = Counter()
        self.notes: list[str] = []

    def note(self, what: str, text: str, count: int = 1) -> None:
        """Counts something that is wrong."""
        if count:
            self.found[what] += count
            self.notes.append(f"{what}: {text}")

    def start(self, *words: str | Path, limit: Callable[[], None] | None = None) -> subprocess.Popen[str]:
        """Starts a module of Python in a session of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", *map(str, words)],
            cwd=ROOT,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            preexec_fn=limit,
            start_new_session=True,
        )

    def end(self, process: subprocess.Popen[str]) -> Ended:
        """Waits for the end of a program. One that hangs, or shows a traceback, is counted."""
        try:
            out, said = process.communicate(timeout=_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.note("hung", f"{process.args!r}")
            self.kill_all()
            out, said = process.communicate()
        # Tracebacks of tests are data of the events; those of a program stand on stderr.
        if _TRACEBACK.search(said) and not _WHILE_STARTING.search(said):
            self.note("tracebacks", said[-1500:])
        return Ended(process.returncode, out, said)

    def run(self, *words: str | Path, limit: Callable[[], None] | None = None) -> Ended:
        """Runs a program to its end."""
        return self.end(self.start(*words, limit=limit))

    def processes(self) -> list[int]:
        """All processes that descend from this scene, by the environment that they inherit."""
        marks = f"{_TOKEN}={self._token}".encode()
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdecimal():
                with contextlib.suppress(OSError):
                    if marks in (folder / "environ").read_bytes() and not _is_zombie(folder):
                        found.append(int(folder.name))
        return sorted(found)

    def kill_all(self) -> None:
        """Kills every process of the scene."""
        for process in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def check_processes(self) -> None:
        """Counts processes that outlive the programs. They get a while: a killed one is cleaned up after by others."""
        end = time.monotonic() + _GRACE_S
        while (left := self.processes()) and time.monotonic() < end:
            time.sleep(0.05)
        self.note("processes", f"{[_command(process) for process in left]}", len(left))
        self.kill_all()

    def check_folders(self, folders: Sequence[Path] = ()) -> None:
        """Counts what is left in the folder for temporary files, and hidden files in others."""
        self._sweep()
        left = [str(path) for path in self.tmp.iterdir()]
        for folder in folders:
            left += [str(path) for path in folder.iterdir() if path.name.startswith((".writing-", ".merging-"))]
        self.note("folders", f"{left}", len(left))

    def _sweep(self) -> None:
        """What a process that was killed within microseconds leaves is removed by the next one, after a minute."""
        left = list(self.tmp.iterdir())
        for path in left:
            os.utime(path, (0, 0))
        if left:
            modules = "from runners.core.process import scratch; from portbench.util import temporary; scratch.sweep()"
            command = [sys.executable, "-c", f"{modules}; temporary.sweep()"]
            subprocess.run(command, cwd=ROOT, env=self.environment, check=True)

    def close(self) -> None:
        """Removes the scene."""
        self.kill_all()
        shutil.rmtree(self.home, ignore_errors=True)


def _is_zombie(folder: Path) -> bool:
    return (folder / "stat").read_text().rpartition(")")[2].split()[0] in "ZX"


def _command(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")[:200]
    except OSError:
        return "gone"


def children(parent: int) -> list[int]:
    """The processes that a process has started, directly."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with contextlib.suppress(OSError, IndexError):
                if int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == parent:
                    found.append(int(folder.name))
    return sorted(found)

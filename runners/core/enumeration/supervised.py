"""Supervises a process that imports a framework and goes through it step by step: a step may hang or kill it.

A step that does so is left out in the next try. Nothing that the process starts or writes stays: it has an empty folder
as home and temporary folder, and is ended with everything it started.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any, Callable, Mapping, NamedTuple, Tuple

from runners.core import environment
from runners.core.errors import FrameworkFailed
from runners.core.failure import clipped
from runners.core.process import processes, scratch
from runners.core.process.channel import Channel

START_LIMIT_S = 600.0
"""For the process to start and to import the framework: a cold disk takes minutes."""

MOST_TRIES = 25
"""Each try after the first leaves out one more step that killed the process."""

_Tried = Tuple["dict[str, Any]", str, str]
"""The reply or an empty one, the step that was entered last, and how the process ended."""


class Child(NamedTuple):
    """A process to be started as ``python -m MODULE DESCRIPTOR``, with a socket under that descriptor.

    It gets its task in one message, with the steps to leave out under ``skip`` and the reason of each, reports each
    step before it enters it, and ends with ``done`` or ``broken``. ``first`` is the step that imports the framework; it
    has START_LIMIT_S, any other ``limit_s``. ``variables`` are set before. ``entering`` gets each message about a step.
    """

    module: str
    first: str
    variables: Mapping[str, str]
    limit_s: float
    entering: Callable[[Mapping[str, Any]], None] = lambda message: None

    def answer(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """What the process sends as ``done``. Raises FrameworkFailed."""
        processes.adopt_orphans()
        folder = scratch.Scratch()
        scratch.sweep()
        skip: dict[str, str] = {}
        try:
            for _ in range(MOST_TRIES):
                answer, entering, ending = self._try({**asked, "skip": skip}, folder.work)
                if "done" in answer:
                    found: dict[str, Any] = answer["done"]
                    return found
                if "broken" in answer:
                    raise FrameworkFailed("{}: {type}: {message}".format(self.first, **answer["broken"]))
                if entering in ("", self.first) or entering in skip:
                    raise FrameworkFailed(f"{self.first} cannot be listed: the process {ending}")
                skip[entering] = f"the process {ending.splitlines()[0]}"
            raise FrameworkFailed(f"{self.first}: more than {MOST_TRIES - 1} steps ended the process: {sorted(skip)}")
        finally:
            processes.end_children()
            folder.remove()

    def _try(self, asked: Mapping[str, Any], work: Path) -> _Tried:
        ours, theirs = socket.socketpair()
        channel = Channel(ours)
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen(
                [sys.executable, "-W", "ignore", "-m", self.module, str(theirs.fileno())],
                cwd=environment.ROOT,
                env=_environment(self.variables, work),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
            theirs.close()
            entering = ""
            try:
                channel.send(dict(asked))
                patience_s = START_LIMIT_S
                while True:
                    if not channel.pending and not select.select([channel], [], [], patience_s)[0]:
                        return {}, entering, f"did not finish it within {patience_s:g} s"
                    message = channel.receive()
                    if message is None:
                        return {}, entering, _ending(process, said)
                    if "entering" not in message:
                        return message, entering, ""
                    entering = message["entering"]
                    self.entering(message)
                    patience_s = START_LIMIT_S if entering == self.first else self.limit_s
            except OSError:
                return {}, entering, _ending(process, said)
            finally:
                channel.close()
                _kill(process)


def _environment(variables: Mapping[str, str], work: Path) -> dict[str, str]:
    folder = str(work)
    return {
        **os.environ,
        **variables,
        **environment.FIXED,
        # No .pyc files are left behind.
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONWARNINGS": "ignore",
        "HOME": folder,
        "TMPDIR": folder,
        "XDG_CACHE_HOME": folder,
        "XDG_CONFIG_HOME": folder,
    }


def _ending(process: subprocess.Popen[bytes], said: IO[bytes]) -> str:
    code = process.wait()
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit status {code}"
    said.seek(0)
    text = said.read().decode("utf-8", "replace").strip()
    return f"{how}\n{clipped(text, 2000)}" if text else how


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    # Descendants in sessions of their own are now children of this process.
    processes.end_children()

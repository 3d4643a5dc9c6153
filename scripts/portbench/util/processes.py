"""Child processes that never outlive their caller: each leads its own process group, which is killed as a whole."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
import sys
import termios
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from types import FrameType

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LINES_KEPT = 200


class Killable:
    """What some threads run. Ctrl-C reaches only the main thread, which ends the processes of the others with ``kill``.

    ``running`` starts processes of a thread within ``entered`` on behalf of this object.
    """

    def __init__(self) -> None:
        self.is_killed = False
        self._lock = threading.RLock()  # a signal may interrupt ``kill`` and call it again
        self._processes: set[subprocess.Popen[str]] = set()

    def kill(self) -> None:
        """Kills all processes, and from now on each that is started."""
        with self._lock:
            self.is_killed = True
            for process in self._processes:
                _signal_group(process)

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Counts the processes that this thread starts in the block as this object's."""
        token = _KILLABLE.set(self)
        try:
            yield
        finally:
            _KILLABLE.reset(token)

    @contextlib.contextmanager
    def _holding(self, process: subprocess.Popen[str]) -> Iterator[None]:
        with self._lock:
            self._processes.add(process)
            if self.is_killed:
                _signal_group(process)
        try:
            yield
        finally:
            with self._lock:
                self._processes.remove(process)


_KILLABLE: ContextVar[Killable | None] = ContextVar("_KILLABLE", default=None)


def is_killed() -> bool:
    """Whether the processes of this thread are killed, so that it has nothing more to wait for."""
    killable = _KILLABLE.get()
    return killable is not None and killable.is_killed


def run_captured(
    command: Sequence[str | Path],
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    input: str | None = None,
    timeout_s: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end and captures its output. The command reads ``input`` from stdin.

    An exception in this process (Ctrl-C, or subprocess.TimeoutExpired after ``timeout_s``) kills the command and every
    process that it started. Raises OSError where the command cannot be started.
    """
    stdin = subprocess.DEVNULL if input is None else subprocess.PIPE
    with running(command, cwd=cwd, env=env, stdin=stdin, stderr=subprocess.PIPE) as process:
        stdout, stderr = process.communicate(input, timeout_s)
    return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)


def run_streaming(
    command: Sequence[str | Path], cwd: Path, env: Mapping[str, str], on_line: Callable[[str], None]
) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end and calls ``on_line`` with each line of its stdout and stderr as soon as it is written.

    The result's stdout holds the last lines of both. An exception in this process (Ctrl-C) kills the command and every
    process that it started.
    """
    kept: deque[str] = deque(maxlen=_LINES_KEPT)
    with running(command, cwd, env, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        for line in process.stdout:
            kept.append(line)
            on_line(line.rstrip("\n"))
        process.wait()
    return subprocess.CompletedProcess(command, process.returncode, "".join(kept), "")


def run_shown(command: Sequence[str | Path], env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end, with its stderr at once on this process's stderr, as on a terminal of the same size.

    For a program that shows its progress there. The result's stderr holds it, too. An exception in this process
    (Ctrl-C) kills the command and every process that it started.
    """
    own, its = pty.openpty()
    shown = bytearray()
    try:
        with contextlib.suppress(OSError):
            termios.tcsetwinsize(its, termios.tcgetwinsize(sys.stderr.fileno()))
        with running(command, None, env, stdin=subprocess.DEVNULL, stderr=its) as process:
            os.close(its)
            its = -1
            # Linux ends the reads with an error when no process has the terminal open any more.
            with contextlib.suppress(OSError):
                while chunk := os.read(own, 4096):
                    shown += chunk
                    sys.stderr.buffer.write(chunk)
                    sys.stderr.flush()
            stdout, _ = process.communicate()
    finally:
        for descriptor in (own, its):
            if descriptor >= 0:
                os.close(descriptor)
    return subprocess.CompletedProcess(command, process.returncode, stdout, shown.decode("utf-8", "replace"))


@contextlib.contextmanager
def running(
    command: Sequence[str | Path], cwd: Path | None, env: Mapping[str, str] | None, stdin: int, stderr: int
) -> Iterator[subprocess.Popen[str]]:
    """Starts a command with its stdout in a pipe. An exception in the block kills the command's process group."""
    with contextlib.ExitStack() as stack:
        with _interrupts_delayed():
            process = subprocess.Popen(
                command,
                cwd=cwd,
                env=env,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                errors="replace",
                start_new_session=True,
            )
            stack.callback(kill_group, process)
        killable = _KILLABLE.get()
        with killable._holding(process) if killable else contextlib.nullcontext():
            yield process
        stack.pop_all()


@contextlib.contextmanager
def _interrupts_delayed() -> Iterator[None]:
    """Delays Ctrl-C to the end of the block. A Ctrl-C while a child is being started would leave the child running."""
    earlier = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(earlier):
        yield
        return
    received: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: received.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, earlier)
        if received:
            signal.raise_signal(signal.SIGINT)


def kill_group(process: subprocess.Popen[str]) -> None:
    """Kills the process group that ``process`` leads, and waits until ``process`` has ended."""
    _signal_group(process)
    process.wait()


def _signal_group(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def tail(text: str, lines: int = 12) -> str:
    """The last ``lines`` lines of a process's output, indented, to follow a message."""
    kept = text.strip().splitlines()[-lines:]
    return "\n".join(f"  {line.rstrip()}" for line in kept)


def stoppable() -> contextlib.AbstractContextManager[None]:
    """Makes SIGTERM and SIGHUP raise KeyboardInterrupt within the block, as Ctrl-C does."""
    return signals_handled_by(signal.default_int_handler)


@contextlib.contextmanager
def signals_handled_by(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Gives SIGINT, SIGTERM and SIGHUP to the handler within the block. Call it from the main thread."""
    # An ignored signal stays ignored: nohup and a shell's & rely on that.
    numbers = [number for number in _STOPPING if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)

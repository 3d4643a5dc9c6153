"""Child processes that never outlive their caller: each leads a group of its own, which is killed as a whole."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_captured(
    command: Sequence[str | Path],
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    told: str | None = None,
    limit_s: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs a command, its output captured; ``told`` is what it reads from stdin.

    An exception here (Ctrl-C, or subprocess.TimeoutExpired after ``limit_s``) kills it and all that it started.
    """
    stdin = subprocess.DEVNULL if told is None else subprocess.PIPE
    with running(command, cwd=cwd, env=env, stdin=stdin, stderr=subprocess.PIPE) as process:
        stdout, stderr = process.communicate(told, limit_s)
    return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)


@contextlib.contextmanager
def running(
    command: Sequence[str | Path], cwd: Path | None, env: Mapping[str, str] | None, stdin: int, stderr: int
) -> Iterator[subprocess.Popen[str]]:
    """A command with its stdout in a pipe. An exception in the block kills it and all that it started."""
    with contextlib.ExitStack() as stack:
        with _interrupts_held():
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
        yield process
        stack.pop_all()


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C waits for the end of the block: between a child's start and our knowing it, it would leave it behind."""
    earlier = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(earlier):
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, earlier)
        if came:
            signal.raise_signal(signal.SIGINT)


def kill_group(process: subprocess.Popen[str]) -> None:
    """Kills what is left of the group that ``process`` leads, and waits for its leader."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def tail(text: str, lines: int = 12) -> str:
    """The last lines of a process's output, indented, to stand under a message."""
    kept = text.strip().splitlines()[-lines:]
    return "\n".join(f"  {line.rstrip()}" for line in kept)


def stoppable() -> contextlib.AbstractContextManager[None]:
    """Within it SIGTERM and SIGHUP raise KeyboardInterrupt, as Ctrl-C does: also while an environment is being made."""
    return signals_handled_by(signal.default_int_handler)


@contextlib.contextmanager
def signals_handled_by(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Within it the handler gets SIGINT, SIGTERM and SIGHUP. To be called from the main thread."""
    # What is ignored stays so: nohup and a shell's & mean it.
    numbers = [number for number in _STOPPING if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)

"""A runner as a child process: its events, its end, and how to stop it without leaving processes behind.

The runner leads its own session, so Ctrl-C at the terminal reaches only portbench. portbench passes it on once and
waits while the runner ends its workers and keeps its journal. A second Ctrl-C kills the runner. SIGTERM, and the SIGHUP
of a closed terminal, act like Ctrl-C.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Iterator
from types import FrameType
from typing import IO

from portbench.backends import Command
from portbench.errors import EnvironmentFailed
from portbench.run.events import Event, parse_event
from portbench.util import processes

_TICK_S = 0.5
_STDERR_KEPT_BYTES = 16384


@contextlib.contextmanager
def running(command: Command) -> Iterator[Runner]:
    """Starts a runner. When the context ends, for whatever reason, none of its processes is left.

    Raises EnvironmentFailed if it cannot be started. Call it from the main thread, because it handles signals.
    """
    runner = Runner()
    with processes.signals_handled_by(runner.on_signal):
        try:
            runner.start(command)
            yield runner
        finally:
            runner.finish()


class Runner:
    """Created by ``running``. ``interrupts`` counts the signals that arrived while it ran."""

    def __init__(self) -> None:
        self.interrupts = 0
        self._command: Command | None = None
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._stderr = b""
        self._stderr_thread: threading.Thread | None = None

    def start(self, command: Command) -> None:
        """Starts the process. Called once, by ``running``."""
        try:
            process = subprocess.Popen(
                command.argv,
                cwd=command.cwd,
                env=command.env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            raise EnvironmentFailed(f"the runner could not be started: {command.argv[0]}: {error}") from error
        assert process.stdout is not None and process.stderr is not None
        threading.Thread(target=self._read_lines, args=(process.stdout,), daemon=True).start()
        self._stderr_thread = threading.Thread(target=self._read_stderr, args=(process.stderr,), daemon=True)
        self._stderr_thread.start()
        self._command, self._process = command, process
        if self.interrupts:
            # The signal arrived before the process existed.
            self._stop()

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """The handler of SIGINT and SIGTERM while the runner runs."""
        self.interrupts += 1
        self._stop()

    def events(self) -> Iterator[Event | None]:
        """Yields the events until the process ends, and None at least twice a second, to update a display."""
        assert self._process is not None
        gone = False
        while True:
            try:
                line = self._lines.get(timeout=_TICK_S)
            except queue.Empty:
                # The process ended, but one that it started still holds its stdout, perhaps in another session.
                if gone:
                    break
                gone = self._process.poll() is not None
                if gone:
                    processes.kill_group(self._process)
                yield None
                continue
            if line is None:
                break
            event = parse_event(line)
            if event is not None:
                yield event
        self._process.wait()

    def finish(self) -> None:
        """Kills the processes that are left. Called once, by ``running``."""
        if self._process is None or self._command is None:
            return
        status = self._process.poll()
        ended_by_itself = status is not None and status >= 0
        processes.kill_group(self._process)
        if self._command.remove and (self.interrupts or not ended_by_itself):
            _succeeds(self._command.remove)

    @property
    def exit_status(self) -> int:
        """The exit status as a shell gives it: 128 + number for a signal. Available after the last event."""
        assert self._process is not None
        code = self._process.wait()
        return code if code >= 0 else 128 - code

    @property
    def ending(self) -> str:
        """How the process ended, with the last lines of its stderr."""
        status = self.exit_status
        if status > 128 and status - 128 in set(signal.Signals):
            how = f"was ended by {signal.Signals(status - 128).name}"
        else:
            how = f"ended with exit status {status}"
        if self._stderr_thread is not None:
            self._stderr_thread.join(timeout=1)
        last = processes.tail(self._stderr.decode("utf-8", "replace"))
        return f"{how}; the end of its stderr:\n{last}" if last else f"{how} and wrote nothing to stderr"

    def _stop(self) -> None:
        if self._process is None or self._command is None:
            return
        if self.interrupts > 1:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        elif self._command.interrupt is None or not _succeeds(self._command.interrupt):
            self._process.send_signal(signal.SIGINT)

    def _read_lines(self, stream: IO[str]) -> None:
        for line in stream:
            self._lines.put(line)
        self._lines.put(None)

    def _read_stderr(self, stream: IO[str]) -> None:
        while chunk := os.read(stream.fileno(), _STDERR_KEPT_BYTES):
            self._stderr = (self._stderr + chunk)[-_STDERR_KEPT_BYTES:]


def _succeeds(command: list[str]) -> bool:
    # In a separate session, which a Ctrl-C at the terminal does not reach.
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, start_new_session=True)
    return done.returncode == 0

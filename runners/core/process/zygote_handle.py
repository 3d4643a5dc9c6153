"""The supervisor's side of the zygote: starts it, lets it fork workers, learns how they ended."""

from __future__ import annotations

import contextlib
import mmap
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from typing import IO, Any, ClassVar, Iterator, Mapping, Sequence

from runners.core import environment
from runners.core.errors import FrameworkFailed, StartKilled, StorageFailed
from runners.core.failure import RUNNERS, clipped
from runners.core.process import processes, sandbox, zygote
from runners.core.process.capture import Capture
from runners.core.process.channel import Channel, send_descriptors
from runners.core.process.worker_handle import EXIT_LIMIT_S, START_LIMIT_S, Exit, WorkerHandle, signal_group
from runners.core.result import Message

MOST_IMPORTED_EARLY = 1000
"""The most names that the zygote gets as arguments, to import what they need: a command line has a limit."""


class ZygoteHandle:
    """The process that forks the workers. It is started again whenever it is found dead.

    ``wanted`` are functions, and sources of samples with a prefix, whose modules it imports before it forks.
    ``variables`` are its environment; TMPDIR there becomes the working and temporary folder of the workers.
    ``memory_bytes`` is the limit of a worker with everything it starts. ``sandboxed``: whether workers confine
    themselves. ``numbers`` are those of its workers.

    Each thread may have handles of its own; only ``kill`` may be called by another.
    """

    _running: ClassVar[set[int]] = set()
    _running_lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(
        self,
        framework: str,
        device: str,
        wanted: Sequence[str],
        variables: Mapping[str, str],
        numbers: Iterator[int],
        memory_bytes: int | None = None,
        sandboxed: bool = False,
    ) -> None:
        self.memory_bytes = memory_bytes
        self._environment = {**variables, **environment.FIXED}
        self._arguments = [framework, device]
        self._sandbox = sandbox.WANTED if sandboxed else sandbox.NONE
        self._wanted = list(wanted)[:MOST_IMPORTED_EARLY]
        self._process: subprocess.Popen[bytes] | None = None
        self._output: Capture | None = None
        self._numbers = numbers
        self._worker_process = 0
        self._zygote = 0
        self.control: Channel

    def start_worker(self) -> WorkerHandle:
        """Starts a worker and waits until its device is open. Raises DeviceUnavailable or FrameworkFailed."""
        if self._process is None:
            self._start()
        ours, theirs = socket.socketpair()
        output_read, output_write = os.pipe()
        with _phase_file() as phase_file:
            phase = mmap.mmap(phase_file.fileno(), 1)
            worker = WorkerHandle(next(self._numbers), Channel(ours), output_read, phase, self)
            try:
                send_descriptors(self.control.socket, [theirs.fileno(), output_write, phase_file.fileno()])
            except OSError as error:
                self._fail(f"the zygote is gone: {error}", was_killed=True)
            finally:
                theirs.close()
                os.close(output_write)
        reply = self._next(START_LIMIT_S)
        if reply is None or "forked" not in reply:
            self._fail("the zygote ended", was_killed=reply is None)
        assert reply is not None
        worker.process = self._worker_process = reply["forked"]
        worker.greet()
        return worker

    def await_exit(self, limit_s: float) -> Exit | None:
        """How the current worker ended, as the kernel reported it to the zygote; None if nothing came within the
        limit."""
        reply = self._next(limit_s)
        if reply is None or "exited" not in reply:
            return None
        status = reply["status"]
        name = _signal_name(os.WTERMSIG(status)) if os.WIFSIGNALED(status) else None
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        return Exit(code, name, reply["peak_memory_bytes"])

    def processes(self) -> list[int]:
        """The current worker and everything that it or an earlier one has started."""
        return processes.below(self._zygote) if self._process else []

    def give_up(self) -> Exit:
        """Ends the zygote when it cannot report how its worker ended. The next worker comes from a new zygote."""
        self.close()
        return Exit(None, None, None)

    def kill(self) -> None:
        """Kills the zygote with all that is below it. The thread that uses this handle notices it and closes it."""
        process = self._process
        if process is not None:
            for each in processes.below(process.pid):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(each, signal.SIGKILL)
            process.kill()

    def close(self) -> None:
        """Ends the zygote, its worker if there is one, and what that has started."""
        if self._process is not None:
            signal_group(self._worker_process, signal.SIGKILL)
            self._process.kill()
            self._process.wait()
            self.control.close()
            with self._running_lock:
                self._running.remove(self._process.pid)
                # What tests have started was inherited by the zygote, and now by this process.
                processes.end_children(but=self._running)
            self._process = None

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        output_read, output_write = os.pipe()
        command = [sys.executable, "-m", "runners.core.process.zygote", *self._arguments, str(theirs.fileno())]
        # Another thread ends the children that it does not know.
        with self._running_lock:
            self._process = subprocess.Popen(
                [*command, self._sandbox, *self._wanted],
                stdin=subprocess.DEVNULL,
                stdout=output_write,
                stderr=output_write,
                pass_fds=[theirs.fileno()],
                cwd=str(RUNNERS.parent),
                env=self._environment,
                start_new_session=True,
            )
            self._running.add(self._process.pid)
        theirs.close()
        os.close(output_write)
        self.control = Channel(ours)
        self._output = Capture(output_read)
        reply = self._next(START_LIMIT_S) or {}
        # Not the process that was started: that one is its guard.
        self._zygote = reply.get("ready", 0)
        if "ready" not in reply:
            was_killed = not reply and self._was_killed()
            reason = "it was killed by a signal" if was_killed else "its import ended the process"
            reason = "{type}: {message}".format(**reply["broken"]) if "broken" in reply else reason
            self._fail(f"cannot import {self._arguments[0]}: {reason}", was_killed)

    def _next(self, limit_s: float) -> Message | None:
        """The zygote's next message; None after the limit or at its end. Also drains its output."""
        deadline = time.monotonic() + limit_s
        sources: list[Any] = [self.control, self._output]
        while not self.control.pending:
            ready = select.select(sources, [], [], max(0.0, deadline - time.monotonic()))[0]
            if self.control in ready:
                try:
                    return self.control.receive()
                except OSError:
                    return None
            if not ready:
                return None
            assert self._output is not None
            if self._output in ready and not self._output.drain():
                sources.remove(self._output)
        return self.control.receive()

    def _was_killed(self) -> bool:
        """Whether the zygote has been ended by a signal."""
        assert self._process is not None
        try:
            status = self._process.wait(EXIT_LIMIT_S)
        except subprocess.TimeoutExpired:
            return False
        return status < 0 or status == zygote.ENDED_BY_SIGNAL

    def _fail(self, reason: str, was_killed: bool = False) -> None:
        assert self._output is not None
        self._output.drain()
        said = self._output.take()["text"].strip()
        self.close()
        missing = f"If it is not installed:  {sys.executable} -m pip install {self._arguments[0]}"
        remedy = f"{missing}\nOr run in the environment of the target's lock:  portbench run without --backend current"
        kind = StartKilled if was_killed else FrameworkFailed
        raise kind(reason + (f"\n{clipped(said, 2000)}" if said else ""), remedy)


@contextlib.contextmanager
def _phase_file() -> Iterator[IO[bytes]]:
    try:
        file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed below
        file.write(b"\0")
    except OSError as error:
        raise StorageFailed(
            f"{tempfile.gettempdir()}: cannot be written: {error.strerror}",
            "Make room there or set TMPDIR, then run again with --resume.",
        ) from error
    with file:
        yield file


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"

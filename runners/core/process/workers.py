"""The supervisor's side of zygote and worker: start one, ask it, notice its death, describe it, kill it."""

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
import time
from pathlib import Path
from typing import IO, Any, ClassVar, Iterator, NamedTuple, Sequence

from runners.core import environment
from runners.core.errors import DeviceUnavailable, FrameworkFailed, StorageFailed
from runners.core.failure import RUNNERS, clipped
from runners.core.process import processes
from runners.core.process.capture import Capture
from runners.core.process.channel import Channel, Message, send_descriptors
from runners.core.testing.trial import PHASES

START_LIMIT_S = 600.0
"""For importing a framework and opening a device: a cold disk and a TPU take minutes."""
MOST_IMPORTED_EARLY = 1000
"""Functions of which the zygote is told, to import what they need: a command line has its limits."""

EXIT_LIMIT_S = 10.0
"""For the kernel to report the end of a killed process."""

STACK_LIMIT_S = 1.0
"""For a hanging worker to begin to write its stack; one with its signals blocked never does."""

MEMORY_TICK_S = 0.05
"""How often the memory of a worker is looked at, where it has a limit."""

FAREWELL_S = 2.0
"""For a worker to leave by itself, and so to hand its device back in order."""


class Exit(NamedTuple):
    """How a worker ended. Both None: nobody could tell."""

    code: int | None
    signal: str | None
    peak_memory_bytes: int | None


class Reply(NamedTuple):
    """What came of a request: a message, or the end of the worker, or neither within the limit. ``held_bytes``: what
    memory the worker and what it had started held, where that was more than they may."""

    message: Message | None
    exit: Exit | None
    held_bytes: int | None = None


class Worker:
    """A running worker. ``number`` counts the workers of this supervisor, from 1; ``served`` tells whether it was asked
    for anything that may leave traces; ``memory_bytes`` is the limit of it and all that it starts."""

    def __init__(self, number: int, channel: Channel, output: int, phase: mmap.mmap, zygote: Zygote) -> None:
        self.number = number
        self.ready: Message = {}
        self.oom_kills_before = environment.oom_kills()
        self.capture = Capture(output)
        self._channel = channel
        self._phase = phase
        self._zygote = zygote
        self._requests = 0
        self.served = False
        self.memory_bytes = zygote.memory_bytes
        self._exit: Exit | None = None
        self.process = 0

    @property
    def phase(self) -> str:
        """The phase that the worker last entered; readable after its death too."""
        return PHASES[self._phase[0]] if self._phase[0] < len(PHASES) else PHASES[0]

    def ask(self, request: Message, limit_s: float) -> Reply:
        """Sends a request and waits for its answer, the worker's end or the limit."""
        self._requests += 1
        self._phase[0] = 0
        self.served = self.served or request["do"] not in ("survey", "state")
        try:
            self._channel.send(dict(request, id=self._requests))
        except OSError:
            return Reply(None, self._ended())
        return self._await(self._requests, limit_s)

    def greet(self) -> Message:
        """Waits for the first message. Raises DeviceUnavailable, or FrameworkFailed with the output's tail."""
        reply = self._await(None, START_LIMIT_S)
        message = reply.message or {}
        if "unavailable" in message:
            self.kill()
            raise DeviceUnavailable(message["unavailable"], message["remedy"])
        if "ready" not in message:
            self.kill()
            how = (
                f"the worker ended ({_described(reply.exit)})" if reply.exit else f"nothing came in {START_LIMIT_S:g} s"
            )
            if reply.held_bytes:
                how = f"it held {reply.held_bytes} bytes of memory, more than --memory allows"
            if "broken" in message:
                how = "{type}: {message}".format(**message["broken"])
            said = self.capture.take()["text"].strip()
            raise FrameworkFailed(f"no worker could be started: {how}" + (f"\n{clipped(said, 2000)}" if said else ""))
        self.ready = message["ready"]
        return self.ready

    def stack(self) -> None:
        """Asks a hanging worker for its Python stack, which it writes to its output from a signal handler in C."""
        _signal(self.process, signal.SIGUSR1)
        deadline = time.monotonic() + STACK_LIMIT_S
        patience_s = STACK_LIMIT_S
        while time.monotonic() < deadline and select.select([self.capture], [], [], patience_s)[0]:
            if not self.capture.drain():
                return
            # It is written line by line: quiet means that it is all there.
            patience_s = 0.05

    def kill(self) -> Exit:
        """Ends the worker and everything in its session; returns how it ended."""
        if self._exit is None:
            _signal_group(self.process, signal.SIGKILL)
            self._exit = self._zygote.await_exit(EXIT_LIMIT_S) or self._zygote.give_up()
        self._clear()
        return self._exit

    def dismiss(self) -> None:
        """Lets an idle worker go: it is given a moment to hand its device back, then killed."""
        self._channel.close()
        if self._exit is None:
            self._exit = self._zygote.await_exit(FAREWELL_S)
        self.kill()

    def _await(self, request: int | None, limit_s: float) -> Reply:
        deadline = time.monotonic() + limit_s
        tick_s = MEMORY_TICK_S if self.memory_bytes else limit_s
        look = time.monotonic() + tick_s
        poll = select.poll()
        for source in (self._channel, self.capture, self._zygote.control):
            poll.register(source, select.POLLIN)
        while True:
            if self._zygote.control.pending:
                return Reply(None, self._ended())
            now = time.monotonic()
            if now >= deadline:
                return Reply(None, None)
            if self.memory_bytes and now >= look:
                held = processes.held_bytes(self._zygote.processes(), self.memory_bytes)
                if held > self.memory_bytes:
                    return Reply(None, None, held)
                look = time.monotonic() + tick_s
            ready = {descriptor for descriptor, _ in poll.poll(max(0.0, min(deadline, look) - now) * 1000)}
            if self._channel.fileno() in ready:
                messages = self._channel.received()
                for message in messages or []:
                    if request is None or message.get("id") == request:
                        self.capture.drain()
                        return Reply(message, None)
                if messages is None:
                    # Closed by the test, or the worker is gone; if so the zygote tells in a moment.
                    poll.unregister(self._channel)
            elif self.capture.fileno() in ready:
                if not self.capture.drain():
                    poll.unregister(self.capture)
            elif self._zygote.control.fileno() in ready:
                return Reply(None, self._ended())

    def _ended(self) -> Exit:
        self._exit = self._zygote.await_exit(EXIT_LIMIT_S) or self._zygote.give_up()
        self._clear()
        return self._exit

    def _clear(self) -> None:
        # The zygote has ended the worker's descendants; where it is gone itself, most are in the worker's group.
        _signal_group(self.process, signal.SIGKILL)
        self.capture.drain()
        self._channel.close()


class Zygote:
    """The process that forks the workers, restarted whenever it is found dead.

    ``scratch`` becomes the working and temporary folder of the workers; ``memory_bytes`` is the limit of each of them
    with all that it starts.
    """

    _running: ClassVar[set[int]] = set()

    def __init__(
        self, framework: str, device: str, functions: Sequence[str], scratch: Path, memory_bytes: int | None = None
    ) -> None:
        self.memory_bytes = memory_bytes
        self._environment = {**os.environ, "TMPDIR": str(scratch)}
        self._arguments = [framework, device]
        self._functions = list(functions)[:MOST_IMPORTED_EARLY]
        self._process: subprocess.Popen[bytes] | None = None
        self._output: Capture | None = None
        self._workers = 0
        self._worker_process = 0
        self.control: Channel

    def start_worker(self) -> Worker:
        """Starts a worker and waits until its device is open. Raises DeviceUnavailable or FrameworkFailed."""
        if self._process is None:
            self._start()
        ours, theirs = socket.socketpair()
        output_read, output_write = os.pipe()
        with _phase_file() as phase_file:
            phase = mmap.mmap(phase_file.fileno(), 1)
            self._workers += 1
            worker = Worker(self._workers, Channel(ours), output_read, phase, self)
            try:
                send_descriptors(self.control.socket, [theirs.fileno(), output_write, phase_file.fileno()])
            except OSError as error:
                self._fail(f"the zygote is gone: {error}")
            finally:
                theirs.close()
                os.close(output_write)
        answer = self._next(START_LIMIT_S)
        if answer is None or "forked" not in answer:
            self._fail("the zygote ended")
        assert answer is not None
        worker.process = self._worker_process = answer["forked"]
        worker.greet()
        return worker

    def await_exit(self, limit_s: float) -> Exit | None:
        """How the current worker ended, as the kernel told the zygote; None if nothing came within the limit."""
        answer = self._next(limit_s)
        if answer is None or "exited" not in answer:
            return None
        status = answer["status"]
        name = _signal_name(os.WTERMSIG(status)) if os.WIFSIGNALED(status) else None
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        return Exit(code, name, answer["peak_memory_bytes"])

    def processes(self) -> list[int]:
        """The current worker and all that it or an earlier one has started."""
        return processes.below(self._process.pid) if self._process else []

    def give_up(self) -> Exit:
        """For a worker that has ended while the zygote cannot tell how: the next one comes from a new zygote."""
        self.close()
        return Exit(None, None, None)

    def close(self) -> None:
        """Ends the zygote, and with it a worker that is still there and what that has started."""
        if self._process is not None:
            _signal_group(self._worker_process, signal.SIGKILL)
            self._process.kill()
            self._process.wait()
            self.control.close()
            self._running.remove(self._process.pid)
            self._process = None
            # What tests have started was the zygote's, and is now this process's.
            processes.end_children(but=self._running)

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        output_read, output_write = os.pipe()
        command = [sys.executable, "-m", "runners.core.process.zygote", *self._arguments, str(theirs.fileno())]
        self._process = subprocess.Popen(
            command + self._functions,
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
        answer = self._next(START_LIMIT_S) or {}
        if "ready" not in answer:
            reason = (
                "{type}: {message}".format(**answer["broken"]) if "broken" in answer else "its import ended the process"
            )
            self._fail(f"cannot import {self._arguments[0]}: {reason}")

    def _next(self, limit_s: float) -> Message | None:
        """The zygote's next message; None after the limit or at its end. Drains its output meanwhile."""
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

    def _fail(self, reason: str) -> None:
        assert self._output is not None
        self._output.drain()
        said = self._output.take()["text"].strip()
        self.close()
        remedy = "Install it in this environment, or use the pinned one: portbench run, or an image."
        raise FrameworkFailed(reason + (f"\n{clipped(said, 2000)}" if said else ""), remedy)


class Workers:
    """One worker at a time from a zygote: a fresh one whenever the last was retired."""

    def __init__(self, zygote: Zygote) -> None:
        self._zygote = zygote
        self._current: Worker | None = None

    @property
    def idle(self) -> Worker | None:
        """The worker that is there, if one is."""
        return self._current

    def current(self) -> Worker:
        """The worker that is there, or a fresh one. Raises DeviceUnavailable or FrameworkFailed."""
        self._current = self._current or self._zygote.start_worker()
        return self._current

    def retire(self) -> None:
        """Ends the worker that is there, if one is."""
        if self._current is not None:
            self._current.dismiss()
            self._current = None

    def close(self) -> None:
        """Ends zygote and worker."""
        self._zygote.close()
        self._current = None


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


def exit_document(ended: Exit, oom_killed: bool) -> dict[str, Any]:
    """The ``exit`` object of a result."""
    return {
        "code": ended.code,
        "signal": ended.signal,
        "oom_killed": oom_killed,
        "peak_memory_bytes": ended.peak_memory_bytes,
    }


def _described(ended: Exit) -> str:
    return f"signal {ended.signal}" if ended.signal else f"exit status {ended.code}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


def _signal(process: int, number: int) -> None:
    if process <= 0:
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, number)


def _signal_group(process: int, number: int) -> None:
    if process <= 0:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process, number)

"""The supervisor's side of a worker: sends requests, waits for replies, notices its end, kills it."""

from __future__ import annotations

import contextlib
import mmap
import os
import secrets
import select
import signal
import time
from typing import NamedTuple, Protocol

from runners.core import environment
from runners.core.errors import DeviceUnavailable, FrameworkFailed, StartKilled
from runners.core.failure import clipped
from runners.core.process import processes
from runners.core.process.capture import Capture
from runners.core.process.channel import Channel
from runners.core.result import PHASES, Message

START_LIMIT_S = 600.0
"""For importing a framework and opening a device: a cold disk and a TPU take minutes."""

EXIT_LIMIT_S = 10.0
"""For the kernel to report the end of a killed process."""

STACK_LIMIT_S = 1.0
"""For a hanging worker to begin to write its stack; one that blocks its signals never does."""

MEMORY_TICK_S = 0.05
"""How often a worker's memory is checked if it has a limit."""

FAREWELL_S = 2.0
"""For a worker to leave by itself, so that it releases its device in order."""


class Exit(NamedTuple):
    """How a worker ended. ``code`` and ``signal`` are both None if that is unknown."""

    code: int | None
    signal: str | None
    peak_memory_bytes: int | None


class Reply(NamedTuple):
    """The outcome of a request: a message, or the end of the worker, or neither within the limit. ``held_bytes`` is the
    memory that the worker and everything it started held, if that was over its limit."""

    message: Message | None
    exit: Exit | None
    held_bytes: int | None = None


class Parent(Protocol):
    """What a worker's handle needs from that of its zygote."""

    control: Channel
    memory_bytes: int | None

    def processes(self) -> list[int]:
        """The worker and everything that it or an earlier one has started."""

    def await_exit(self, limit_s: float) -> Exit | None:
        """How the worker ended; None if that is not reported within the limit."""

    def give_up(self) -> Exit:
        """Ends the zygote of a worker whose end it cannot report."""


class WorkerHandle:
    """A running worker.

    ``number`` counts the workers of this supervisor from 1. ``served`` says whether it got a request that may leave
    traces. ``memory_bytes`` is the limit of the worker and everything it starts. ``ready`` is its first message.
    """

    def __init__(self, number: int, channel: Channel, output: int, phase: mmap.mmap, zygote: Parent) -> None:
        self.number = number
        self.ready: Message = {}
        self.oom_kills_before = environment.oom_kills()
        self.capture = Capture(output)
        self._channel = channel
        self._phase = phase
        self._zygote = zygote
        self._token = ""
        self.served = False
        self.memory_bytes = zygote.memory_bytes
        self._exit: Exit | None = None
        self._first_bytes = 0
        self.process = 0

    @property
    def phase(self) -> str:
        """The phase that the worker last entered; readable after its death too."""
        return PHASES[self._phase[0]] if self._phase[0] < len(PHASES) else PHASES[0]

    def ask(self, request: Message, limit_s: float) -> Reply:
        """Sends a request and waits for the reply, the worker's end or the limit."""
        # A number could be guessed, and a test could send its own result before the worker does.
        self._token = secrets.token_hex(16)
        self._phase[0] = 0
        self.served = self.served or request["do"] not in ("resolve_names", "device_state")
        try:
            self._channel.send(dict(request, id=self._token))
        except OSError:
            return Reply(None, self._ended())
        return self._await(self._token, limit_s)

    def greet(self) -> Message:
        """Waits for the first message. Raises DeviceUnavailable, or FrameworkFailed with the end of the output."""
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
            kind = StartKilled if reply.exit and reply.exit.code is None else FrameworkFailed
            if reply.held_bytes:
                how = f"it held {reply.held_bytes} bytes of memory, more than --memory allows"
            if "broken" in message:
                how = "{type}: {message}".format(**message["broken"])
            said = self.capture.take()["text"].strip()
            raise kind(f"no worker could be started: {how}" + (f"\n{clipped(said, 2000)}" if said else ""))
        self.ready = message["ready"]
        self._first_bytes = processes.resident_bytes(self.process)
        return self.ready

    def kept_bytes(self) -> int:
        """The memory that the worker holds in addition to what it held before its first test."""
        return processes.resident_bytes(self.process) - self._first_bytes

    def cpu_seconds(self, with_children: bool = True) -> float:
        """The CPU time that the worker has used, with everything that it started or alone, which is quicker."""
        return processes.cpu_seconds(self._zygote.processes() if with_children else [self.process])

    def stack(self) -> None:
        """Asks a hanging worker for its Python stack. A signal handler in C writes it to the worker's output."""
        with contextlib.suppress(ProcessLookupError):
            if self.process > 0:
                os.kill(self.process, signal.SIGUSR1)
        deadline = time.monotonic() + STACK_LIMIT_S
        patience_s = STACK_LIMIT_S
        while time.monotonic() < deadline and select.select([self.capture], [], [], patience_s)[0]:
            if not self.capture.drain():
                return
            # It is written line by line. No more output means that it is complete.
            patience_s = 0.05

    def kill(self) -> Exit:
        """Ends the worker and everything in its session; returns how it ended."""
        if self._exit is None:
            signal_group(self.process, signal.SIGKILL)
            self._exit = self._zygote.await_exit(EXIT_LIMIT_S) or self._zygote.give_up()
        self._clear()
        return self._exit

    def dismiss(self) -> None:
        """Ends an idle worker: gives it a moment to release its device, then kills it."""
        self._channel.close()
        if self._exit is None:
            self._exit = self._zygote.await_exit(FAREWELL_S)
        self.kill()

    def _await(self, request: str | None, limit_s: float) -> Reply:
        deadline = time.monotonic() + limit_s
        tick_s = MEMORY_TICK_S if self.memory_bytes else limit_s
        next_check = time.monotonic() + tick_s
        poll = select.poll()
        for source in (self._channel, self.capture, self._zygote.control):
            poll.register(source, select.POLLIN)
        while True:
            if self._zygote.control.pending:
                return Reply(None, self._ended())
            now = time.monotonic()
            if now >= deadline:
                return Reply(None, None)
            if self.memory_bytes and now >= next_check:
                held = processes.held_bytes(self._zygote.processes(), self.memory_bytes)
                if held > self.memory_bytes:
                    return Reply(None, None, held)
                next_check = time.monotonic() + tick_s
            ready = {descriptor for descriptor, _ in poll.poll(max(0.0, min(deadline, next_check) - now) * 1000)}
            if self._channel.fileno() in ready:
                messages = self._channel.received()
                for message in messages or []:
                    if request is None or message.get("id") == request:
                        self.capture.drain()
                        return Reply(message, None)
                if messages is None:
                    # The test closed it, or the worker has ended, which the zygote then reports at once.
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
        # The zygote has ended the worker's descendants. If the zygote is dead, most are in the worker's group.
        signal_group(self.process, signal.SIGKILL)
        self.capture.drain()
        self._channel.close()


def signal_group(process: int, number: int) -> None:
    """Signals a process group, if there is one."""
    if process > 0:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process, number)


def _described(ended: Exit) -> str:
    if ended.signal:
        return f"signal {ended.signal}"
    return "together with its zygote" if ended.code is None else f"exit status {ended.code}"

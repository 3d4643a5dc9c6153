"""Runs a piece of work in a fork of this process: it may crash, hang, exit, or write files.

The fork works in a new folder, which is its home and is removed. Where the system can (see
runners.core.process.sandbox), it changes no other file, connects to nothing and starts no program. This process must
have imported the framework and computed nothing, and adopt orphans: it ends all its children with the fork.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import shutil
import signal
import socket
import tempfile
import time
from pathlib import Path
from typing import Callable, Iterator, NoReturn

from runners.core import failure
from runners.core.process import processes, sandbox
from runners.core.process.channel import Channel
from runners.core.result import Message

ENDED = "ended"
_MORE_BYTES = 6 << 30
"""What a fork may allocate."""
_IDLE = 0.01
"""A process that gets less of the processor than this waits for something."""
_WAIT_S, _PATIENCE = 0.01, 500

Send = Callable[[Message], None]


def messages(work: Callable[[Send], None], limit_s: float) -> Iterator[Message]:
    """What ``work`` sends from a fork, and at last ``{"ended": REASON}``, with an empty reason if it returned.

    The fork is ended when it sends nothing while it uses ``limit_s`` seconds of the processor, or waits for as long and
    uses almost none: how busy the machine is does not matter.
    """
    ours, theirs = socket.socketpair()
    folder = Path(tempfile.mkdtemp())
    parent = os.getpid()
    fork = os.fork()
    if fork == 0:
        ours.close()
        _work(work, Channel(theirs), folder, parent)
    theirs.close()
    channel = Channel(ours)
    reason = None
    is_over = False
    try:
        while reason is None:
            if not channel.pending and not _says_something(channel, fork, limit_s):
                reason = f"the process did not finish it within {limit_s:g} s"
                break
            message = channel.receive()
            if message is None:
                is_over = True
                break
            if ENDED in message:
                reason, is_over = message[ENDED], True
            else:
                yield message
    finally:
        channel.close()
        ended = _ended(fork, is_over)
        processes.end_children()
        shutil.rmtree(folder, ignore_errors=True)
    yield {ENDED: ended if reason is None else reason}


def _says_something(channel: Channel, fork: int, limit_s: float) -> bool:
    """Waits for a message of a fork. False if it takes too long."""
    begin = last = processes.cpu_seconds([fork])
    while not select.select([channel], [], [], limit_s)[0]:
        used = processes.cpu_seconds([fork])
        if used - begin >= limit_s or used - last < _IDLE * limit_s:
            return False
        last = used
    return True


def _work(work: Callable[[Send], None], channel: Channel, folder: Path, parent: int) -> NoReturn:
    try:
        os.setsid()
        processes.signal_at_death_of(parent, signal.SIGKILL)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nowhere, descriptor)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        held = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (held + _MORE_BYTES, held + _MORE_BYTES))
        for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
            os.environ[name] = str(folder)
        tempfile.tempdir = None
        os.chdir(folder)
        sandbox.confine_files(folder, "cpu")
        sandbox.confine_calls("cpu", predicted=False)
        work(channel.send)
        channel.send({ENDED: ""})
    except BaseException as error:
        facts = failure.facts_of(error)
        channel.send({ENDED: f"{facts['type']}: {facts['message']}"})
    finally:
        # At an orderly exit, threads and handlers of the framework would run.
        os._exit(0)


def _ended(fork: int, is_over: bool) -> str:
    """Ends a fork, unless ``is_over``: it has closed its channel, and ends by itself. Says how it ended."""
    patience = _PATIENCE if is_over else 0
    while True:
        found, status = os.waitpid(fork, os.WNOHANG)
        if found or patience == 0:
            break
        patience -= 1
        time.sleep(_WAIT_S)
    if not found:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(fork, signal.SIGKILL)
        _, status = os.waitpid(fork, 0)
    if os.WIFSIGNALED(status):
        return f"the process was ended by {signal.Signals(os.WTERMSIG(status)).name}"
    return f"the process ended with exit status {os.WEXITSTATUS(status)}"

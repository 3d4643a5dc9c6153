"""The parent of all workers: imports the framework once, never computes, and forks one worker at a time on request.

Started by the supervisor as ``python -m runners.core.process.zygote`` with the arguments ``FRAMEWORK DEVICE DESCRIPTOR
SANDBOX [NAME...]`` and a Unix socket under that descriptor. Each request is one byte with three descriptors: the
new worker's channel, its output pipe and its phase file. The replies are JSON lines: ``ready`` once, then ``forked``
and ``exited`` for each worker. Only one worker lives at a time, since an accelerator has one holder. Therefore a
blocking wait is enough.

If forking after the import is not safe (CUDA and PyTorch 1), the zygote imports nothing and each worker imports the
framework.
Linux kills a worker when its zygote dies. The zygote inherits what a worker has started, and ends it before the next
worker starts and before the zygote exits. Between supervisor and zygote is a guard, which imports nothing and only
waits: if both are killed at once, it inherits everything and ends it. (The kernel could signal each process at its
parent's death, but it takes the end of the thread that started a process for that.)
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import importlib
import mmap
import os
import resource
import signal
import socket
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Callable, NoReturn, Sequence

from runners.core import failure
from runners.core.errors import BadInput
from runners.core.process import processes, sandbox, scratch
from runners.core.process.channel import Channel, receive_descriptors
from runners.core.public import names, permitted

SAMPLES = "samples:"
"""Prefix of a source of samples among the names of functions."""

ENDED_BY_SIGNAL = 128 + signal.SIGTERM
"""The exit status of a zygote that ends because of a signal, and of the guard of one that a signal has ended."""


def main(arguments: Sequence[str]) -> None:
    """Serves until the supervisor closes the socket or dies."""
    framework, device, socket_number, sandboxed, *wanted = arguments
    supervisor, guard = os.getppid(), os.getpid()
    _outlive_nothing(supervisor)
    zygote = os.fork()
    if zygote:
        _guard(zygote, int(socket_number))
    _outlive_nothing(guard)
    try:
        _serve(framework, device, int(socket_number), sandboxed == sandbox.WANTED, wanted)
    finally:
        _leave()


def _outlive_nothing(parent: int) -> None:
    """Inherits what loses its parent below this process, and leaves with all of it when the parent dies."""
    processes.adopt_orphans()
    _at_signals(_leave)
    processes.signal_at_death_of(parent, signal.SIGTERM)


def _guard(zygote: int, socket_number: int) -> NoReturn:
    # The supervisor must see the end of these as soon as the zygote ends.
    os.close(socket_number)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    status = 1
    try:
        _, ended = os.waitpid(zygote, 0)
        status = ENDED_BY_SIGNAL if os.WIFSIGNALED(ended) else os.WEXITSTATUS(ended)
        _leave()
    finally:
        os._exit(status)


def _serve(framework: str, device: str, socket_number: int, sandboxed: bool, wanted: Sequence[str]) -> None:
    control = Channel(socket.socket(fileno=socket_number))
    facts = names.framework(framework)
    os.environ.update(facts.variables(device))
    if device in facts.FORKS_AFTER_IMPORT:
        try:
            importlib.import_module(f"runners.{framework}.adapter").prepare(device)
        except Exception as error:
            control.send({"broken": failure.facts_of(error)})
            return
        for name in wanted:
            _import_early(name, framework)
    # The import may have replaced the handlers.
    _at_signals(_leave)
    gc.collect()
    gc.freeze()
    control.send({"ready": os.getpid()})
    while True:
        descriptors = receive_descriptors(control.socket, 3)
        if descriptors is None:
            return
        zygote = os.getpid()
        worker = os.fork()
        if worker == 0:
            control.close()
            _become_worker(zygote, descriptors, framework, device, sandboxed)
        for descriptor in descriptors:
            os.close(descriptor)
        control.send({"forked": worker})
        _, status, usage = os.wait4(worker, 0)
        processes.end_children()
        control.send({"exited": worker, "status": status, "peak_memory_bytes": usage.ru_maxrss * 1024})


def _import_early(name: str, framework: str) -> None:
    """Imports a part of the framework that is imported lazily, or a source of samples, here once and not in every
    worker. A worker says what is wrong with a name."""
    if name.startswith(SAMPLES):
        from runners.core.testing import samples

        with contextlib.suppress(BadInput, ImportError):
            samples.source(framework, name[len(SAMPLES) :]).prepare()
        return
    with contextlib.suppress(names.Missing, names.Forbidden):
        permitted.function(name, framework)


def _become_worker(zygote: int, descriptors: Sequence[int], framework: str, device: str, sandboxed: bool) -> None:
    from runners.core.process import worker

    status = 1
    try:
        # Python would raise KeyboardInterrupt in the test, and the end would look like the test's own.
        _at_signals(signal.SIG_DFL)
        os.setsid()
        processes.signal_at_death_of(zygote, signal.SIGKILL)
        channel, output, phase_file = descriptors
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.close(output)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _prefer_as_victim()
        os.chdir(tempfile.gettempdir())
        faulthandler.enable()
        faulthandler.register(signal.SIGUSR1, all_threads=True)
        phase = mmap.mmap(phase_file, 1)
        worker.serve(Channel(socket.socket(fileno=channel)), phase, framework, device, sandboxed)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        # Not sys.exit: exit handlers and unflushed buffers are copies of the parent's.
        os._exit(status)


def _leave(number: int = 0, frame: object = None) -> None:
    """Ends all processes, and removes the folder if the supervisor is dead."""
    _at_signals(signal.SIG_IGN)
    processes.end_children()
    scratch.remove_stale(Path(os.environ["TMPDIR"]))
    if number:
        os._exit(ENDED_BY_SIGNAL)


def _at_signals(handler: Callable[..., None] | signal.Handlers) -> None:
    """Sets what SIGTERM and SIGINT do, whoever sends them."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handler)


def _prefer_as_victim() -> None:
    """If memory runs out, the kernel should kill the worker, which is a result, and not the supervisor."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


if __name__ == "__main__":
    main(sys.argv[1:])

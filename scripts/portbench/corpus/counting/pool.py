"""Counts parts in worker processes. A document that kills its worker is left out, and the part is counted again.

A worker receives a part over a pipe and sends its counts back. It writes its current document to shared memory. If it
dies (by a signal, out of memory, or at its limit of CPU time), the parent knows which document it was.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import resource
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

from portbench.corpus.counting.corpus import Part
from portbench.corpus.counting.function_list import FunctionList
from portbench.corpus.counting.part_counts import CorpusCounts, count_part
from portbench.errors import EnvironmentFailed, PortbenchError

_REPORT_S = 0.5
_NOWHERE = -1


@dataclass(frozen=True)
class Limits:
    """The limits of CPU time for one document, and of a worker's address space."""

    document_cpu_s: float = 60.0
    memory_bytes: int = 4 << 30


_LIMITS = Limits()


@dataclass
class _Worker:
    process: SpawnProcess
    pipe: Connection
    at: Any
    """Shared memory: the position of the current document, and the bytes of source read in this part."""
    part: Part | None = None


@dataclass
class _Work:
    lists: Sequence[FunctionList]
    column: str
    waiting: Iterator[Part]
    limits: Limits
    killed: dict[str, set[int]] = field(default_factory=dict)


def count_parts(
    parts: Iterable[Part],
    lists: Sequence[FunctionList],
    column: str,
    workers: int,
    tick: Callable[[int], None] = lambda source_bytes: None,
    limits: Limits = _LIMITS,
) -> Iterator[tuple[Part, CorpusCounts]]:
    """Yields each part with its counts, as it ends. Asks for ``parts`` one by one. ``tick`` regularly gets the bytes
    read in parts in progress.

    Raises what ``count_part`` raises, and EnvironmentFailed if a worker dies before it reads a document.
    """
    work = _Work(lists, column, iter(parts), limits)
    crew: list[_Worker] = []
    try:
        while len(crew) < workers and (part := next(work.waiting, None)):
            crew.append(_hire(work, part))
        while any(worker.part for worker in crew):
            ready = wait([worker.pipe for worker in crew if worker.part], _REPORT_S)
            for place, worker in enumerate(crew):
                if worker.pipe in ready and (ended := _receive(worker, work)):
                    yield ended
                if not worker.process.is_alive() and worker.part:
                    crew[place] = _replace(worker, work)
            tick(sum(worker.at[1] for worker in crew if worker.part))
    finally:
        for worker in crew:
            worker.process.kill()
            worker.process.join()


def _hire(work: _Work, part: Part) -> _Worker:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    at = context.RawArray("q", [_NOWHERE, 0])
    process = context.Process(target=_serve, args=(theirs, at, work.lists, work.column, work.limits), daemon=True)
    process.start()
    theirs.close()
    worker = _Worker(process, ours, at)
    _hand_out(worker, work, part)
    return worker


def _hand_out(worker: _Worker, work: _Work, part: Part | None) -> None:
    worker.part = part
    worker.at[0], worker.at[1] = _NOWHERE, 0
    if worker.part:
        # A dead worker is noticed when the parent waits for its counts.
        with contextlib.suppress(OSError):
            worker.pipe.send((worker.part, frozenset(work.killed.get(worker.part.key, ()))))


def _receive(worker: _Worker, work: _Work) -> tuple[Part, CorpusCounts] | None:
    part = worker.part
    try:
        reply = worker.pipe.recv()
    except (EOFError, OSError):
        worker.process.join()
        return None
    if isinstance(reply, PortbenchError):
        raise reply
    _hand_out(worker, work, next(work.waiting, None))
    return (part, reply) if part else None


def _replace(worker: _Worker, work: _Work) -> _Worker:
    """Starts a new worker for the part of a dead one, without the document that killed it."""
    part, place = worker.part, worker.at[0]
    if part is None or place == _NOWHERE or place in work.killed.get(part.key, ()):
        raise EnvironmentFailed(
            f"a worker ended with status {worker.process.exitcode} before it counted anything",
            "Check the free memory, or try --workers 1.",
        )
    work.killed.setdefault(part.key, set()).add(place)
    return _hire(work, part)


def _serve(pipe: Connection, at: Any, lists: Sequence[FunctionList], column: str, limits: Limits) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    allowed = limits.memory_bytes if hard == resource.RLIM_INFINITY else min(hard, limits.memory_bytes)
    resource.setrlimit(resource.RLIMIT_AS, (allowed, hard))

    def begins(place: int, source_bytes: int) -> None:
        at[0], at[1] = place, source_bytes
        # By default, SIGPROF ends the process, also inside a library.
        signal.setitimer(signal.ITIMER_PROF, limits.document_cpu_s)

    with contextlib.suppress(EOFError, OSError):
        while True:
            part, skip = pipe.recv()
            try:
                counts: CorpusCounts | PortbenchError = count_part(part, lists, column, skip, begins)
            except PortbenchError as error:
                counts = error
            signal.setitimer(signal.ITIMER_PROF, 0)
            pipe.send(counts)

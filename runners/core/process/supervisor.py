"""Runs a manifest's tests, one at a time, each in a worker. Every way in which a test can end is a result.

Imports no framework. A test's way: plan, attempt (once in a worker), confirm (again in a fresh worker if an earlier
test may be the cause), triage (what the result means), journal. A worker serves until a test does not pass; then a
fresh one takes over, because the next failure could be a consequence. Each pass over the manifest begins with a fresh
worker.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator, Mapping, NamedTuple

from runners.core.manifest import Manifest
from runners.core.process import journal, processes, run_header, scratch
from runners.core.process.attempt import attempt, removed
from runners.core.process.confirm import Confirmation
from runners.core.process.journal import Journal
from runners.core.process.plan import Plan, PlannedTest, plan_tests
from runners.core.process.progress import Progress
from runners.core.process.second_opinions import Triage
from runners.core.process.settings import Settings
from runners.core.process.worker_handle import WorkerHandle
from runners.core.process.workers import Workers
from runners.core.process.zygote_handle import ZygoteHandle
from runners.core.result import SyncCheck, TestResult, shown_outcome

STATE_LIMIT_S = 60.0


def run(settings: Settings, manifest: Manifest, progress: Progress) -> Path:
    """Runs everything and returns the path of the run file.

    Raises the errors of runners.core.errors. Whatever is raised, finished results are in the journal, and no worker is
    left behind.
    """
    with _place(settings, manifest) as place:
        worker = place.device.current()
        header = run_header.header(settings, manifest, worker.ready)
        plan = plan_tests(settings, manifest, worker)
        book = _open_journal(settings, header)
        if isinstance(book, Path):
            progress.unchanged(book)
            return book
        progress.start(header, book.path, len(plan.tests), settings.runs, len(book.done))
        progress.uncurated(manifest.uncurated)
        _run_passes(settings, plan, place, book, progress)
        path = book.finish(run_header.now(), _device_state(place.device.idle))
        progress.end(path, Counter(map(shown_outcome, book.results)))
        return path


class _Place(NamedTuple):
    """Where tests run: workers on the target's device, workers on the CPU (the same ones if that is the target), and a
    folder for files of the run."""

    device: Workers
    host: Workers
    folder: Path


@contextmanager
def _place(settings: Settings, manifest: Manifest) -> Iterator[_Place]:
    processes.adopt_orphans()
    folder = scratch.Scratch()
    scratch.sweep()

    def workers_on(device: str) -> Workers:
        functions, memory_bytes = manifest.functions, settings.memory_bytes
        return Workers(ZygoteHandle(settings.framework, device, functions, folder.work, memory_bytes))

    device = workers_on(settings.device)
    host = device if settings.device == "cpu" else workers_on("cpu")
    try:
        yield _Place(device, host, folder.work)
    finally:
        device.close()
        host.close()
        folder.remove()


def _open_journal(settings: Settings, header: Mapping[str, Any]) -> Journal | Path:
    """A new journal, or the one to resume; the path of the run file if that run is complete already."""
    identity = journal.identity_of(header)
    if settings.resume:
        resumed = journal.resume(settings.out, settings.framework, settings.device, identity)
        if resumed is not None:
            return resumed
        complete = journal.finished(settings.out, settings.framework, settings.device, identity)
        if complete is not None:
            return complete
    return journal.create(settings.out, dict(header), identity)


def _run_passes(settings: Settings, plan: Plan, place: _Place, book: Journal, progress: Progress) -> None:
    confirmation = Confirmation(settings.framework, place.device, settings.timeout_s, book.results)
    triage = Triage(settings.framework, place.device, place.host, settings.timeout_s, place.folder, book.results)
    has_warned = False
    for number in range(1, settings.runs + 1):
        for planned in plan.of_pass(number):
            if (*planned.key, number) in book.done:
                continue
            if planned.removed is not None:
                result = removed(planned, planned.removed)
            elif settings.mutant is not None:
                result = _run_mutated(planned, place.device, settings)
            else:
                first = attempt(planned, place.device.current(), settings.framework, settings.timeout_s)
                confirmed = confirmation.confirm(planned, first)
                result = triage.annotate(planned, confirmed)
            book.append(result)
            progress.result(result)
            check = result.get("sync_check")
            if check and not check["passed"] and not has_warned:
                has_warned = True
                progress.warn(_sync_warning(settings.sync, check))
        if number < settings.runs:
            place.device.retire()


def _run_mutated(planned: PlannedTest, workers: Workers, settings: Settings) -> TestResult:
    """Only whether a test notices a mutant counts: nothing is confirmed or examined."""
    result = attempt(planned, workers.current(), settings.framework, settings.timeout_s).result
    if result["outcome"] != "passed":
        workers.retire()
    return result


def _sync_warning(sync: str, check: SyncCheck) -> str:
    if sync == "as-published":
        return f"the paper's synchronization does not cover the work of this device: {check['reason']}"
    return f"no latencies: the synchronization check failed on this device: {check['reason']}"


def _device_state(worker: WorkerHandle | None) -> Mapping[str, Any] | None:
    """The device's state at the end, from the last worker if it is still there."""
    reply = worker.ask({"do": "device_state"}, STATE_LIMIT_S) if worker else None
    return reply.message["state"] if reply and reply.message else None

"""Runs a manifest's tests. Every way in which a test can end is a result.

Imports no framework. First come the tests that are timed, one at a time; each pass over them begins with a fresh
worker. Then those that are not timed run, in several lanes at the same time where the device allows it (see lanes).
"""

from __future__ import annotations

import itertools
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Mapping

from runners.core.manifest import Manifest
from runners.core.process import journal, journal_resume, mutation_run, processes, run_header, sandbox, scratch
from runners.core.process.journal import Journal
from runners.core.process.lane import Lane, open_place
from runners.core.process.lanes import Lanes
from runners.core.process.ledger import RunLedger
from runners.core.process.plan import Plan, plan_tests
from runners.core.process.progress import Progress
from runners.core.process.settings import Settings
from runners.core.process.worker_handle import WorkerHandle

STATE_LIMIT_S = 60.0


def run(settings: Settings, manifest: Manifest, progress: Progress) -> Path:
    """Runs everything and returns the path of the run file.

    Raises the errors of runners.core.errors. Whatever is raised, finished results are in the journal, and no worker is
    left behind.
    """
    processes.adopt_orphans()
    numbers = itertools.count(1)
    with open_place(settings, manifest, numbers) as place:
        scratch.sweep()
        ready = place.device.current().ready
        shortfall = sandbox.shortfall(settings.sandbox, ready["sandbox"]) if place.sandboxed else ""
        header = run_header.header(settings, manifest, ready)
        plan = plan_tests(settings, manifest, place.device)
        if settings.mutants or settings.own_mutants:
            return mutation_run.run(
                settings, plan, place, partial(Lanes, settings, manifest, numbers), header, progress
            )
        book = _open_journal(settings, header)
        if isinstance(book, Path):
            progress.unchanged(book)
            return book
        with closing(book):
            progress.start(header, book.path, len(plan.tests), settings.runs, plan.results, len(book.done))
            for note in (*book.notes, *filter(None, [shortfall])):
                progress.warn(note)
            progress.uncurated(manifest.uncurated)
            ledger = RunLedger(book, progress, settings.sync)
            first = Lane(settings, ledger, 1, place, book.results)
            _run_passes(plan, ledger, first)
            # Later, the workers of the tests that are timed may be gone.
            state = _device_state(place.device.idle)
            left = sum(1 for _ in ledger.left_of(plan.untimed()))
            lanes = Lanes(settings, manifest, numbers, first, partial(Lane, settings, ledger), ledger)
            lanes.run(ledger.left_of(plan.untimed()), left)
            path = book.finish(run_header.now(), state)
        progress.end(path, book.tally.outcomes, book.tally.disturbed)
        return path


def _open_journal(settings: Settings, header: Mapping[str, Any]) -> Journal | Path:
    """A new journal, or the one to resume; the path of the run file if that run is complete already."""
    identity = journal.identity_of(header)
    if settings.resume:
        resumed = journal_resume.resume(settings.out, dict(header), identity)
        if resumed is not None:
            return resumed
    return journal.create(settings.out, dict(header), identity)


def _run_passes(plan: Plan, ledger: RunLedger, lane: Lane) -> None:
    """Runs the tests that are timed."""
    for number in range(1, plan.passes + 1):
        if number > 1:
            lane.place.device.retire()
        for planned in ledger.left_of(plan.timed(number)):
            lane.run(planned)


def _device_state(worker: WorkerHandle | None) -> Mapping[str, Any] | None:
    """The device's state at the end, from the last worker if it is still there."""
    reply = worker.ask({"do": "device_state"}, STATE_LIMIT_S) if worker else None
    return reply.message["state"] if reply and reply.message else None

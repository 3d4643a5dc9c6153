"""Runs a manifest's tests, one at a time, each in a worker. Every way in which a test can end is a result.

Imports no framework. A test's way: plan, attempt (once in a worker), confirm (again in a fresh worker if an earlier
test may be the cause), triage (what the result means), journal. A worker serves until a test does not pass; then a
fresh one takes over, because the next failure could be a consequence. So does one where a worker keeps too much memory.
Each pass over the manifest begins with a fresh worker, and so does each test where first calls are those of a process
(``Settings.cold``).
"""

from __future__ import annotations

from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, NamedTuple

from runners.core.errors import UnusableResult
from runners.core.manifest import Manifest
from runners.core.process import journal, journal_resume, mutation_run, processes, run_header, sandbox, scratch
from runners.core.process.attempt import attempt, removed, unusable
from runners.core.process.confirm import Confirmation
from runners.core.process.journal import Journal
from runners.core.process.journal_lines import Damaged
from runners.core.process.plan import Plan, PlannedTest, plan_tests
from runners.core.process.progress import Progress
from runners.core.process.second_opinions import Triage
from runners.core.process.settings import Settings
from runners.core.process.worker_handle import WorkerHandle
from runners.core.process.workers import Workers
from runners.core.process.zygote import SAMPLES
from runners.core.process.zygote_handle import ZygoteHandle
from runners.core.result import SyncCheck, TestResult

STATE_LIMIT_S = 60.0

RunTest = Callable[[PlannedTest], TestResult]


def run(settings: Settings, manifest: Manifest, progress: Progress) -> Path:
    """Runs everything and returns the path of the run file.

    Raises the errors of runners.core.errors. Whatever is raised, finished results are in the journal, and no worker is
    left behind.
    """
    with _place(settings, manifest) as place:
        ready = place.device.current().ready
        shortfall = sandbox.shortfall(settings.sandbox, ready["sandbox"]) if place.sandboxed else ""
        header = run_header.header(settings, manifest, ready)
        plan = plan_tests(settings, manifest, place.device)
        if settings.mutants or settings.own_mutants:
            return mutation_run.run(settings, plan, place.device, header, progress)
        book = _open_journal(settings, header)
        if isinstance(book, Path):
            progress.unchanged(book)
            return book
        with closing(book):
            progress.start(header, book.path, len(plan.tests), settings.runs, plan.results, len(book.done))
            for note in (*book.notes, *filter(None, [shortfall])):
                progress.warn(note)
            progress.uncurated(manifest.uncurated)
            _run_passes(settings, plan, place, book, progress)
            path = book.finish(run_header.now(), _device_state(place.device.idle))
        progress.end(path, book.tally.outcomes, book.tally.disturbed)
        return path


class _Place(NamedTuple):
    """Where tests run: workers on the target's device, workers on the CPU (the same ones if that is the target), a
    folder for files of the run, and whether the workers confine themselves."""

    device: Workers
    host: Workers
    folder: Path
    sandboxed: bool


@contextmanager
def _place(settings: Settings, manifest: Manifest) -> Iterator[_Place]:
    processes.adopt_orphans()
    sandboxed = sandbox.is_wanted(settings.sandbox, manifest.is_own)
    folder = scratch.Scratch()
    scratch.sweep()

    def workers_on(device: str) -> Workers:
        wanted = [*(SAMPLES + source for source in manifest.sources), *manifest.functions]
        return Workers(ZygoteHandle(settings.framework, device, wanted, folder.work, settings.memory_bytes, sandboxed))

    device = workers_on(settings.device)
    host = device if settings.device == "cpu" else workers_on("cpu")
    try:
        yield _Place(device, host, folder.work, sandboxed)
    finally:
        device.close()
        host.close()
        folder.remove()


def _open_journal(settings: Settings, header: Mapping[str, Any]) -> Journal | Path:
    """A new journal, or the one to resume; the path of the run file if that run is complete already."""
    identity = journal.identity_of(header)
    if settings.resume:
        resumed = journal_resume.resume(settings.out, dict(header), identity)
        if resumed is not None:
            return resumed
    return journal.create(settings.out, dict(header), identity)


def _run_passes(settings: Settings, plan: Plan, place: _Place, book: Journal, progress: Progress) -> None:
    confirmation = Confirmation(settings.framework, place.device, settings.timeout_s, book.results())
    triage = Triage(settings.framework, place.device, place.host, settings.timeout_s, place.folder, book.results())
    sound = {(result["function"], result["test"]) for result in book.results() if result["outcome"] == "passed"}
    has_warned = False
    passed_check: SyncCheck | None = None

    def run_test(planned: PlannedTest) -> TestResult:
        if planned.removed is not None:
            return removed(planned, planned.removed)
        # Whether later calls are right does not depend on the pass, unless one was wrong.
        planned = planned.with_request(sync_check=passed_check, calls_again=planned.key not in sound)
        if settings.cold == "process":
            # Before the test and not after it: the last worker says the device's state at the end.
            place.device.retire()
        first = attempt(planned, place.device.current(), settings.framework, settings.timeout_s)
        result = triage.annotate(planned, confirmation.confirm(planned, first))
        return sandbox.explained(result) if place.sandboxed else result

    for number in range(1, plan.passes + 1):
        for planned in plan.of_pass(number):
            if (*planned.key, number) in book.done:
                continue
            result = _recorded(planned, place, book, progress, run_test)
            progress.result(result)
            if result["outcome"] == "passed":
                sound.add(planned.key)
            check = result.get("sync_check")
            if check and check["passed"]:
                passed_check = check
            elif check and not has_warned:
                has_warned = True
                progress.warn(_sync_warning(settings.sync, check))
        if number < plan.passes:
            place.device.retire()


def _recorded(planned: PlannedTest, place: _Place, book: Journal, progress: Progress, run_test: RunTest) -> TestResult:
    """Runs a test and stores its result. What no run file can hold is set aside, and the test runs again once."""
    mistake = ""
    for _ in range(2):
        try:
            result = run_test(planned)
            book.append(result)
            return result
        except UnusableResult as error:
            mistake = error.mistake
            damaged = Damaged(0, f"{planned.test.full_id}, run {planned.run}: {mistake}", error.text.encode())
            side = book.set_aside([damaged])
            progress.warn(f"the result of {planned.test.full_id} cannot be used and is in {side}: {mistake}")
            place.device.retire()
            place.host.retire()
    result = unusable(planned, mistake)
    book.append(result)
    return result


def _sync_warning(sync: str, check: SyncCheck) -> str:
    if sync == "as-published":
        return f"the paper's synchronization does not cover the work of this device: {check['reason']}"
    return f"no latencies: the synchronization check failed on this device: {check['reason']}"


def _device_state(worker: WorkerHandle | None) -> Mapping[str, Any] | None:
    """The device's state at the end, from the last worker if it is still there."""
    reply = worker.ask({"do": "device_state"}, STATE_LIMIT_S) if worker else None
    return reply.message["state"] if reply and reply.message else None

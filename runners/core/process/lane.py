"""A lane runs tests one after another. A test's way: attempt (once in a worker), confirm (again in a fresh worker if an
earlier test may be the cause), triage (what the result means), and into the ledger.

A worker serves until a test does not pass; then a fresh one takes over, because the next failure could be a
consequence. So does one where a worker keeps too much memory, and one for each test where first calls are those of a
process (``Settings.cold``).
"""

from __future__ import annotations

import itertools
import os
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Callable, Iterable, Iterator, Mapping, NamedTuple

from runners.core.errors import UnusableResult
from runners.core.manifest import Manifest
from runners.core.process import sandbox, scratch
from runners.core.process.attempt import attempt, removed, unusable
from runners.core.process.confirm import Confirmation
from runners.core.process.ledger import RunLedger
from runners.core.process.plan import PlannedTest
from runners.core.process.second_opinions import Triage
from runners.core.process.settings import Settings
from runners.core.process.workers import Workers
from runners.core.process.zygote import SAMPLES
from runners.core.process.zygote_handle import ZygoteHandle
from runners.core.result import TestResult


class Place(NamedTuple):
    """Where tests run: workers on the target's device, workers on the CPU (the same ones if that is the target), a
    folder for files of the run, and whether the workers confine themselves."""

    device: Workers
    host: Workers
    folder: Path
    sandboxed: bool

    def stop(self) -> None:
        """Makes what runs here end soon, from another thread; see Workers.stop."""
        self.device.stop()
        self.host.stop()

    def close(self) -> None:
        """Ends all workers. The next test starts others."""
        self.device.close()
        self.host.close()


@contextmanager
def open_place(
    settings: Settings, manifest: Manifest, numbers: Iterator[int], variables: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Place]:
    """Workers, which start when they are needed; those on the device get their numbers from ``numbers``. At the end
    none is left, and the folder is removed. ``variables``: of their environment, where the user has not set them."""
    sandboxed = sandbox.is_wanted(settings.sandbox, manifest.is_own)
    folder = scratch.Scratch()

    def workers_on(device: str, numbers: Iterator[int]) -> Workers:
        wanted = [*(SAMPLES + source for source in manifest.sources), *manifest.functions]
        memory_bytes = settings.memory_bytes
        environment = {**variables, **os.environ, "TMPDIR": str(folder.work)}
        return Workers(ZygoteHandle(settings.framework, device, wanted, environment, numbers, memory_bytes, sandboxed))

    device = workers_on(settings.device, numbers)
    host = device if settings.device == "cpu" else workers_on("cpu", itertools.count(1))
    place = Place(device, host, folder.work, sandboxed)
    try:
        yield place
    finally:
        place.close()
        folder.remove()


class Lane:
    """Runs tests in a place. ``number`` counts the lanes of a run from 1; ``results`` reads the results of the run so
    far, so that nothing is found out twice."""

    def __init__(
        self,
        settings: Settings,
        ledger: RunLedger,
        number: int,
        place: Place,
        results: Callable[[], Iterable[TestResult]] = tuple,
    ) -> None:
        self.place = place
        self._number = number
        self._settings = settings
        self._ledger = ledger
        framework, limit_s = settings.framework, settings.timeout_s
        self._confirmation = Confirmation(framework, place.device, limit_s, results())
        self._triage = Triage(framework, place.device, place.host, limit_s, place.folder, results())

    def run(self, planned: PlannedTest) -> None:
        """Runs a test and stores its result. What no run file can hold is set aside, and the test runs again once."""
        mistake = ""
        for _ in range(2):
            try:
                self._ledger.store(self._result(planned), self._number)
                return
            except UnusableResult as error:
                mistake = error.mistake
                self._ledger.set_aside(planned, error)
                self.place.device.retire()
                self.place.host.retire()
        self._ledger.store(unusable(planned, mistake), self._number)

    def _result(self, planned: PlannedTest) -> TestResult:
        if planned.removed is not None:
            return removed(planned, planned.removed)
        planned = planned.with_request(**self._ledger.known_of(planned))
        device = self.place.device
        if self._settings.cold == "process":
            # Before the test and not after it: the last worker says the device's state at the end.
            device.retire()
        first = attempt(planned, device.current(), self._settings.framework, self._settings.timeout_s)
        result = self._triage.annotate(planned, self._confirmation.confirm(planned, first))
        return sandbox.explained(result) if self.place.sandboxed else result

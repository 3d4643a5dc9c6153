"""Runs tests that are not timed in several lanes at the same time.

They only check values, so it does not matter that they slow each other down. Each lane has a thread, a zygote, workers
and a folder of its own. The main thread waits: it alone gets signals. Only where several processes can open the device:
a CPU, or one that is predicted.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from typing import Callable, Iterator, Protocol, Sequence

from runners.core import environment
from runners.core.errors import RunnerError
from runners.core.manifest import Manifest
from runners.core.process.lane import Place, open_place
from runners.core.process.ledger import Ledger
from runners.core.process.plan import PlannedTest
from runners.core.process.settings import Settings
from runners.core.public import names

SHARED = ("cpu", "xla")
"""Devices that several processes can open at the same time, beside predicted ones. Both are the CPU."""

MOST = 8
"""Lanes of a run, if ``Settings.lanes`` says nothing. More would import the framework for few tests each."""

TESTS_OF_ONE = 200
"""For fewer tests, a lane saves less time than the import of the framework takes."""

BYTES_OF_ONE = 4 << 30
"""What a lane may need: a zygote, a worker that keeps MOST_KEPT_BYTES, and the CPU's, which repeat failures."""

WAITING = {"OMP_WAIT_POLICY": "passive"}
"""OpenMP's threads spin while they wait, which takes the cores from other lanes: PyTorch needs four times the CPU
time."""

_PATIENCE_S = 0.1


def count(settings: Settings, tests: int) -> int:
    """How many lanes so many tests that are not timed are worth on this machine."""
    if settings.device not in (*SHARED, *names.framework(settings.framework).PREDICTED):
        return 1
    of_memory = environment.free_memory_bytes() // max(BYTES_OF_ONE, settings.memory_bytes or 0)
    return max(1, min(len(os.sched_getaffinity(0)), of_memory, tests // TESTS_OF_ONE, settings.lanes or MOST))


class Lane(Protocol):
    """Runs tests one after another in a place, and stores their results in a ledger."""

    @property
    def place(self) -> Place:
        """Where they run."""

    def run(self, planned: PlannedTest) -> None:
        """Runs a test and stores its result."""


class Lanes:
    """Where tests that are not timed run: ``first``, a lane that is there already, or several others, where that is
    worth it. ``lane_in`` makes one, from its number and place, that stores in the ``ledger``. ``numbers`` are those of
    workers."""

    def __init__(
        self,
        settings: Settings,
        manifest: Manifest,
        numbers: Iterator[int],
        first: Lane,
        lane_in: Callable[[int, Place], Lane],
        ledger: Ledger,
    ) -> None:
        self._settings = settings
        self._manifest = manifest
        self._numbers = numbers
        self._first = first
        self._lane_in = lane_in
        self._ledger = ledger

    def run(self, tests: Iterator[PlannedTest], how_many: int) -> None:
        """Runs tests that are not timed, and returns or raises when all lanes but the first are closed."""
        queue = _Queue(tests)
        lanes = count(self._settings, how_many)
        if lanes > 1:
            self._first.place.close()
            self._run_beside([_Thread(self, number, queue) for number in range(1, lanes + 1)])
        # All tests, or those that are left where no other lane could be opened.
        queue.run_in(self._first)

    def place(self) -> contextlib.AbstractContextManager[Place]:
        """A place for another lane."""
        return open_place(self._settings, self._manifest, self._numbers, WAITING)

    def lane(self, number: int, place: Place) -> Lane | None:
        """Another lane, with a worker. None if no worker starts: the others can do its work."""
        try:
            place.device.current()
        except RunnerError as error:
            self._ledger.warn(f"one lane less for the tests that are not timed: {error}")
            return None
        return self._lane_in(number, place)

    def _run_beside(self, threads: Sequence[_Thread]) -> None:
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.ended.wait()
        except BaseException:
            self._ledger.close()
            for thread in threads:
                thread.stop()
            raise
        for thread in threads:
            if thread.error is not None:
                raise thread.error


class _Queue:
    """Tests for several lanes, handed out by function: a lane then compiles once what the tests of a function share."""

    def __init__(self, tests: Iterator[PlannedTest]) -> None:
        self._groups = itertools.groupby(tests, key=lambda planned: planned.test.function)
        self._lock = threading.Lock()
        self._is_closed = False

    def run_in(self, lane: Lane) -> None:
        """Runs tests in a lane until none is left. After an error in one lane, the others get no more tests."""
        try:
            while not self._is_closed and (tests := self._next()):
                for planned in tests:
                    lane.run(planned)
        except BaseException:
            self._is_closed = True
            raise

    def _next(self) -> Sequence[PlannedTest]:
        with self._lock:
            return list(next(self._groups, ("", ()))[1])


class _Thread(threading.Thread):
    """A thread with a lane. ``error`` is what ended it, if something did.

    ``ended`` is set at its end: ``join`` takes a thread for ended when a signal interrupts it.
    """

    def __init__(self, lanes: Lanes, number: int, queue: _Queue) -> None:
        super().__init__(daemon=True)
        self.ended = threading.Event()
        self.error: BaseException | None = None
        self._lanes = lanes
        self._number = number
        self._queue = queue
        self._place: Place | None = None

    def run(self) -> None:
        """Opens the lane, runs tests, and closes it: what it has started ends with its thread."""
        try:
            with self._lanes.place() as self._place:
                lane = self._lanes.lane(self._number, self._place)
                if lane is not None:
                    self._queue.run_in(lane)
        except BaseException as error:
            self.error = error
        finally:
            self.ended.set()

    def stop(self) -> None:
        """Ends the lane, whatever it does, and waits for it. Does nothing if the thread was not started."""
        while self.ident is not None and not self.ended.is_set():
            if self._place is not None:
                self._place.stop()
            self.ended.wait(_PATIENCE_S)

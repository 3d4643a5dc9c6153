"""Where all lanes of a run store their results, and what they know of each other's."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import Any, Iterator, Mapping

from runners.core.errors import UnusableResult
from runners.core.process.journal import Journal
from runners.core.process.journal_lines import Damaged
from runners.core.process.plan import PlannedTest, TestKey
from runners.core.process.progress import Progress
from runners.core.process.workers import Stopped
from runners.core.result import SyncCheck, TestResult


class Ledger:
    """Where lanes in several threads store and report results, one at a time."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._lock = threading.Lock()
        self._is_closed = False

    def warn(self, message: str) -> None:
        """Reports a reason why the run is less useful, or slower, than it could be."""
        with self._lock:
            self._progress.warn(message)

    def close(self) -> None:
        """From now on nothing is stored: the run is about to end."""
        with self._lock:
            self._is_closed = True

    @contextmanager
    def _storing(self) -> Iterator[None]:
        """Nothing else is stored or reported meanwhile. Raises Stopped after ``close``."""
        with self._lock:
            if self._is_closed:
                raise Stopped
            yield


class RunLedger(Ledger):
    """The journal and the progress of a run. ``sync``: see Settings."""

    def __init__(self, book: Journal, progress: Progress, sync: str) -> None:
        super().__init__(progress)
        self._book = book
        self._sync = sync
        self._passed_check: SyncCheck | None = None
        self._has_warned = False
        self._sound: set[TestKey] = {
            (result["function"], result["test"]) for result in book.results() if result["outcome"] == "passed"
        }

    def left_of(self, tests: Iterator[PlannedTest]) -> Iterator[PlannedTest]:
        """Those tests that have no result of their pass."""
        return (planned for planned in tests if (*planned.key, planned.run) not in self._book.done)

    def known_of(self, planned: PlannedTest) -> Mapping[str, Any]:
        """What a request for this test says of earlier results: the check of the clock that passed, and whether later
        calls must be checked. Whether they are right does not depend on the pass, unless one was wrong."""
        return {"sync_check": self._passed_check, "calls_again": planned.key not in self._sound}

    def store(self, result: TestResult, lane: int) -> None:
        """Stores a result and reports it.

        Raises what Journal.append raises, and Stopped after ``close``.
        """
        with self._storing():
            self._book.append(result)
            self._progress.result(result, lane)
            if result["outcome"] == "passed":
                self._sound.add((result["function"], result["test"]))
            check = result.get("sync_check")
            if check and check["passed"]:
                self._passed_check = check
            elif check and not self._has_warned:
                self._has_warned = True
                self._progress.warn(_sync_warning(self._sync, check))

    def set_aside(self, planned: PlannedTest, error: UnusableResult) -> None:
        """Keeps beside the journal what no run file can hold, and says so. Raises StorageFailed."""
        damaged = Damaged(0, f"{planned.test.full_id}, run {planned.run}: {error.mistake}", error.text.encode())
        with self._lock:
            side = self._book.set_aside([damaged])
            self._progress.warn(
                f"the result of {planned.test.full_id} cannot be used and is in {side}: {error.mistake}"
            )


def _sync_warning(sync: str, check: SyncCheck) -> str:
    if sync == "as-published":
        return f"the paper's synchronization does not cover the work of this device: {check['reason']}"
    return f"no latencies: the synchronization check failed on this device: {check['reason']}"

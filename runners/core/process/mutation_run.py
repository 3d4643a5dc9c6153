"""Runs a manifest's tests with mutated functions, and writes a run file for the real ones and for each mutant.

A test first runs with the real function, which is watched: only mutants that can change something in this test are
tried. Worker and zygote serve all of them, since importing a framework for each mutant takes longer than most tests. A
mutant may leave something behind, so the real function runs again at the end: if the test fails then, its mutants are
tried again, each in a fresh worker. Nothing is timed, so tests run in several lanes at the same time (see lanes).

Mutants of a user's file are those of one function each. One that a test has noticed is not tried in others.

A run file of a mutant has only the tests that it was tried in. Where the time budget does not allow a test's mutants,
the run file of the real functions says that the test was skipped.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence

from runners.core.mutants.names import PROBE
from runners.core.process import chosen_mutants, journal, run_header
from runners.core.process.attempt import Attempt, attempt, removed
from runners.core.process.chosen_mutants import Chosen
from runners.core.process.journal import Journal
from runners.core.process.lane import Place
from runners.core.process.lanes import Lanes
from runners.core.process.ledger import Ledger
from runners.core.process.plan import Plan, PlannedTest
from runners.core.process.progress import Progress
from runners.core.process.settings import Settings
from runners.core.process.workers import Workers
from runners.core.result import TestResult


def run(
    settings: Settings,
    plan: Plan,
    place: Place,
    lanes: Callable[..., Lanes],
    header: Mapping[str, Any],
    progress: Progress,
    clock: Callable[[], float] = time.monotonic,
) -> Path:
    """Runs everything once and returns the path of the run file of the real functions. ``header`` is its header;
    ``lanes`` needs the first lane, what makes another, and the ledger."""
    end = clock() + settings.time_budget_s if settings.time_budget_s else None
    tests = [*plan.timed(1), *plan.untimed()]
    mutants = chosen_mutants.chosen(settings, tests, place.device)
    tests = [planned for planned in tests if mutants.left(planned.test.function)]
    with ExitStack() as stack:
        books = _Books(settings.out, header, mutants, stack, progress)
        progress.start(header, books.real.path, len(tests), 1, len(tests), 0)
        lane_in = partial(_Lane, settings, books, (lambda: end - clock()) if end is not None else None)
        in_order = tests if end is None else _in_turn(tests)
        lanes(lane_in(1, place), lane_in, books).run(iter(in_order), len(tests))
        path = books.finish()
    progress.end(path, books.real.tally.outcomes)
    return path


class _Lane:
    """Runs tests with the real function and its mutants. ``left_s`` says how many seconds are left, if there is a
    limit."""

    def __init__(
        self, settings: Settings, books: _Books, left_s: Callable[[], float] | None, number: int, place: Place
    ) -> None:
        self.place = place
        self._settings = settings
        self._books = books
        self._left_s = left_s
        self._number = number

    def run(self, planned: PlannedTest) -> None:
        """Runs a test with each mutant that is left, and stores all results."""
        mutants = self._books.mutants
        left = mutants.left(planned.test.function)
        if not left:
            return
        tried = _Test(planned, self.place.device, self._settings)
        left_s = self._left_s() if self._left_s else None
        real = tried.real() if left_s is None or left_s > 0 else _left_out(planned, "the time budget is over")
        names = mutants.worth_trying(left, tried.possible)
        needed_s = real["case_ns"] / 1e9 * (len(names) + 1)
        if left_s is not None and 0 < left_s < needed_s:
            why = f"the time budget has {left_s:.0f} s left, and the mutants take {needed_s:.0f} s"
            real = _left_out(planned, why)
        self._books.store(real, tried.mutated(names, real), self._number)


class _Test:
    """One test with the real function and its mutants. ``possible``: the mutants that can differ in it, after
    ``real``."""

    def __init__(self, planned: PlannedTest, workers: Workers, settings: Settings) -> None:
        self.possible: Sequence[str] = ()
        self._planned = planned
        self._workers = workers
        self._settings = settings

    def real(self) -> TestResult:
        """The result with the real function. One that does not pass in a worker of others runs again in a fresh one."""
        if self._planned.removed is not None:
            return removed(self._planned, self._planned.removed)
        found = self._attempt(PROBE)
        if found.result["outcome"] not in ("passed", "skipped") and found.after_others:
            found = self._attempt(PROBE, fresh=True)
        self.possible = found.mutants if found.result["outcome"] == "passed" else ()
        return found.result

    def mutated(self, mutants: Sequence[str], real: TestResult) -> Mapping[str, TestResult]:
        """The results of the mutants by name. None is tried where the test did not pass with the real function."""
        if real["outcome"] != "passed":
            why = "the test does not pass with the real function"
            return {name: _left_out(self._planned, why) for name in mutants}
        results = {name: self._attempt(name).result for name in mutants}
        if mutants and self._attempt(PROBE).result["outcome"] != "passed":
            return {name: self._attempt(name, fresh=True).result for name in mutants}
        return results

    def _attempt(self, mutant: str, fresh: bool = False) -> Attempt:
        if fresh:
            self._workers.retire()
        planned = self._planned.with_request(mutant=mutant)
        found = attempt(planned, self._workers.current(), self._settings.framework, self._settings.timeout_s)
        failed = found.result["outcome"] not in ("passed", "skipped")
        if found.result["exit"] is not None or found.lost_device or (mutant == PROBE and failed):
            self._workers.retire()
        return found


class _Books(Ledger):
    """The journal of the real functions, and one for each of the ``mutants`` that was tried."""

    def __init__(
        self, folder: Path, header: Mapping[str, Any], mutants: Chosen, stack: ExitStack, progress: Progress
    ) -> None:
        super().__init__(progress)
        self.mutants = mutants
        self._folder = folder
        self._header = header
        self._stack = stack
        self._of_mutants: dict[str, Journal] = {}
        self.real = self._created(None)

    def store(self, real: TestResult, mutated: Mapping[str, TestResult], lane: int) -> None:
        """Stores a test's results with the real function and with mutants. Raises what Journal.append raises, and
        Stopped after ``close``."""
        with self._storing():
            self.real.append(real)
            for name, result in mutated.items():
                if name not in self._of_mutants:
                    self._of_mutants[name] = self._created(name)
                self._of_mutants[name].append(result)
                self.mutants.take(name, result)
            self._progress.result(real, lane)

    def finish(self) -> Path:
        """Turns all of them into run files; returns that of the real functions."""
        for book in self._of_mutants.values():
            book.finish(run_header.now(), None)
        return self.real.finish(run_header.now(), None)

    def _created(self, mutant: str | None) -> Journal:
        protocol = {**self._header["protocol"], "mutant": mutant and self.mutants.recorded(mutant)}
        header = {**self._header, "run_id": journal.new_run_id(), "protocol": protocol}
        book = journal.create(self._folder, header, journal.identity_of(header))
        self._stack.callback(book.close)
        return book


def _in_turn(tests: Sequence[PlannedTest]) -> Sequence[PlannedTest]:
    """The first test of each function, then the second of each, and so on: a budget is for all functions."""
    seen: Counter[str] = Counter()
    places = []
    for planned in tests:
        places.append(seen[planned.test.function])
        seen[planned.test.function] += 1
    order = sorted(range(len(tests)), key=lambda number: (places[number], number))
    return [tests[number] for number in order]


def _left_out(planned: PlannedTest, why: str) -> TestResult:
    result = removed(planned, f"not tried: {why}")
    result["category"] = None
    return result

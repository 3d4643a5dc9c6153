"""Confirms a failure that an earlier test of the same worker may have caused.

A test may pass and leave something behind that makes the next ones fail: a graph that cannot be lowered makes every
later synchronization of its process fail, a lock that is held blocks it. Therefore a test that does not pass, in a
worker that ran others before, runs again alone in a fresh worker. If it ends in another way there, that result counts,
and how it ended first is kept as evidence (``contaminated``). A call that is refused for a predicted device leaves
nothing behind and does not depend on earlier tests.

A worker may also end by something outside of its test: someone kills it or its zygote, the machine has no memory left,
or it is stopped until its time is over. So a test whose worker was ended by a signal, or reached the limit without
computing for half of it, runs again too, even if it was the first of its worker, and after a signal such as SIGKILL up
to two times; so does a try that is to confirm another one. Only what repeats is a finding. Otherwise the last result
counts, and the first is kept (``disturbed``).
"""

from __future__ import annotations

from typing import Any, Iterable

from runners.core.process.attempt import Attempt, attempt
from runners.core.process.plan import PlannedTest
from runners.core.process.workers import Workers
from runners.core.result import Repeated, TestResult, repeated

_OWN_SIGNALS = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGSYS")
"""What a process gets for what it does itself; an earlier test may be the reason."""


class Confirmation:
    """Remembers failures that are a test's own, so that each is confirmed once.

    ``results`` are those of the run so far: a test that failed by itself, in an earlier pass or before the run was
    resumed, does not run again if it fails in the same way.
    """

    def __init__(self, framework: str, workers: Workers, limit_s: float, results: Iterable[TestResult] = ()) -> None:
        self._framework = framework
        self._workers = workers
        self._limit_s = limit_s
        self._own = {
            ((result["function"], result["test"]), _end(result))
            for result in results
            if not result.get("contaminated") and not result.get("disturbed")
        }

    def attempt(self, planned: PlannedTest) -> Attempt:
        """Runs a test in the present worker and confirms how it ended."""
        return self.confirm(planned, attempt(planned, self._workers.current(), self._framework, self._limit_s))

    def confirm(self, planned: PlannedTest, first: Attempt) -> Attempt:
        """The attempt that counts: the first one, or another one alone in a fresh worker; with ``contaminated`` and
        ``disturbed``."""
        end = (planned.key, _end(first.result))
        is_doubtful = first.after_others or first.may_be_disturbed
        if not is_doubtful or _is_fine(first.result) or end in self._own:
            return _flagged(first)
        tries = [first]
        while len(tries) == 1 or sum(_repeats(tries[-1], each) for each in tries) < _needed(tries[-1]):
            self._workers.retire()
            tries.append(attempt(planned, self._workers.current(), self._framework, self._limit_s))
        alone = tries[-1]
        if _repeats(first, alone):
            self._own.add(end)
            return _flagged(first)
        how = repeated(first.result)
        return _flagged(alone, disturbed=how) if _is_from_outside(first) else _flagged(alone, contaminated=how)


def _needed(end: Attempt) -> int:
    """How many tries of a test must end like this one, so that it is a finding.

    Whatever kills one process at random may kill the next one, too; it hardly hits the same test three times.
    """
    if _is_killed(end):
        return 3
    return 2 if end.may_be_disturbed else 1


def _flagged(counts: Attempt, contaminated: Repeated | None = None, disturbed: Repeated | None = None) -> Attempt:
    result = counts.result.copy()
    result["contaminated"], result["disturbed"] = contaminated, disturbed
    return counts._replace(result=result)


def _repeats(first: Attempt, second: Attempt) -> bool:
    if first.may_be_disturbed or second.may_be_disturbed:
        # The same crash may be noticed in another phase.
        ends = [(each.result["outcome"], each.result["category"]) for each in (first, second)]
        return ends[0] == ends[1]
    return _end(first.result) == _end(second.result)


def _is_killed(first: Attempt) -> bool:
    """Whether the worker was ended by a signal that a process does not get for what it does itself."""
    ended = first.result["exit"]
    if not first.may_be_disturbed or ended is None:
        return False
    return first.result["outcome"] == "crashed" and ended["signal"] not in _OWN_SIGNALS


def _is_from_outside(first: Attempt) -> bool:
    """Whether an end that does not repeat came from outside, and not from an earlier test of the worker."""
    return _is_killed(first) or (first.may_be_disturbed and not first.after_others)


def _is_fine(result: TestResult) -> bool:
    is_predicted = "prediction" in result and result["exit"] is None
    return is_predicted or result["outcome"] in ("passed", "skipped")


def _end(result: TestResult) -> tuple[Any, ...]:
    """How a test ended, without details that vary."""
    error = result["error"]
    return result["outcome"], result["phase"], result["category"], error and error["type"]

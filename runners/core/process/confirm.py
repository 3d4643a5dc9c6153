"""Confirms a failure that an earlier test of the same worker may have caused.

A test may pass and leave something behind that makes the next ones fail: a graph that cannot be lowered makes every
later synchronization of its process fail, a lock that is held blocks it. Therefore a test that does not pass, in a
worker that ran others before, runs again alone in a fresh worker. If it ends in another way there, that result counts,
and how it ended first is kept as evidence (``contaminated``). A call that is refused for a predicted device leaves
nothing behind and does not depend on earlier tests.
"""

from __future__ import annotations

from typing import Any, Iterable

from runners.core.process.attempt import Attempt, attempt
from runners.core.process.plan import PlannedTest
from runners.core.process.workers import Workers
from runners.core.result import TestResult, repeated


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
            ((result["function"], result["test"]), _end(result)) for result in results if not result.get("contaminated")
        }

    def attempt(self, planned: PlannedTest) -> Attempt:
        """Runs a test in the present worker and confirms how it ended."""
        return self.confirm(planned, attempt(planned, self._workers.current(), self._framework, self._limit_s))

    def confirm(self, planned: PlannedTest, first: Attempt) -> Attempt:
        """The attempt that counts: the first one, or another one alone in a fresh worker; with ``contaminated``."""
        end = (planned.key, _end(first.result))
        if not first.after_others or _is_fine(first.result) or end in self._own:
            return _with_contaminated(first, None)
        self._workers.retire()
        alone = attempt(planned, self._workers.current(), self._framework, self._limit_s)
        if _end(alone.result) == _end(first.result):
            self._own.add(end)
            return _with_contaminated(first, None)
        return _with_contaminated(alone, first)


def _with_contaminated(counts: Attempt, first: Attempt | None) -> Attempt:
    result = counts.result.copy()
    result["contaminated"] = repeated(first.result) if first else None
    return counts._replace(result=result)


def _is_fine(result: TestResult) -> bool:
    is_predicted = "prediction" in result and result["exit"] is None
    return is_predicted or result["outcome"] in ("passed", "skipped")


def _end(result: TestResult) -> tuple[Any, ...]:
    """How a test ended, without details that vary."""
    error = result["error"]
    return result["outcome"], result["phase"], result["category"], error and error["type"]

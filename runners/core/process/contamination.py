"""Failures that an earlier test of the same worker caused.

A test may pass and leave something behind that makes the next ones fail: a graph that cannot be lowered fails every
later synchronisation of its process, a lock that is held hangs it. So a test that does not pass in a worker that ran
others before is run again, alone in a fresh worker. Where it ends in another way there, that counts, and how it ended
first is kept as evidence (``contaminated``). What is refused for a device that is not there has spoilt nothing, nor is
it due to what came before.
"""

from __future__ import annotations

from typing import Any, Iterable, Mapping, Tuple

from runners.core.prediction import prediction
from runners.core.process.attempt import Facts, attempt, not_passed
from runners.core.process.workers import Worker, Workers

Key = Tuple[str, str]


class Contamination:
    """``results`` are those of an unfinished run: a test that ended in some way by its own fault, then or in an earlier
    pass, is not run again when it ends in that way once more. ``predicted``: the workers' device is not there."""

    def __init__(self, framework: str, results: Iterable[Facts], predicted: bool = False) -> None:
        self._framework = framework
        self._predicted = predicted
        self._own = {
            ((result["function"], result["test"]), _end(result)) for result in results if not result.get("contaminated")
        }

    def attempt(self, key: Key, workers: Workers, request: Mapping[str, Any], limit_s: float) -> Facts:
        """The facts of a test's result, as of ``attempt``, from a worker that no other test has spoilt."""
        worker = workers.current()
        spoilt = worker.served
        found = self._attempt(worker, request, limit_s)
        found["contaminated"] = None
        foretold = "prediction" in found and found["exit"] is None
        fine = foretold or found["outcome"] in ("passed", "skipped")
        if not spoilt or fine or (key, _end(found)) in self._own:
            return found
        workers.retire()
        alone = self._attempt(workers.current(), request, limit_s)
        if _end(alone) == _end(found):
            self._own.add((key, _end(found)))
            return found
        return dict(alone, contaminated=not_passed(found))

    def _attempt(self, worker: Worker, request: Mapping[str, Any], limit_s: float) -> Facts:
        found = attempt(worker, self._framework, request, limit_s)
        return prediction.of_ended(found) if self._predicted and "prediction" not in found else found


def _end(facts: Mapping[str, Any]) -> tuple[Any, ...]:
    """How a test ended, without what differs from time to time."""
    error = facts["error"]
    return facts["outcome"], facts["phase"], facts["category"], error and error["type"]

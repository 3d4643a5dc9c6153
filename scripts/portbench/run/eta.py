"""The remaining time of a run, estimated from the times of its tests so far.

A run passes over the timed tests several times; in the first pass, the others follow them. The time of a test in one
pass is the estimate for the next pass. The estimate for a test that has not run yet is the mean of the others.
"""

from __future__ import annotations

from portbench.run.events import Result, Started


class Eta:
    """Takes a runner's events with the time of each, in seconds of any clock."""

    def __init__(self, started: Started, now_s: float) -> None:
        self._started = started
        self._timed = round((started.total - started.tests) / max(1, started.runs - 1))
        self._done = started.done
        self._last_s = now_s
        self._seen: dict[tuple[str, str], float] = {}
        self._in_this_run: set[tuple[str, str]] = set()
        self._run = 0

    def test_done(self, event: Result, now_s: float) -> None:
        """Records a result. The time since the last event is the cost of the test, with its worker and the journal."""
        if event.run != self._run:
            if self._run:
                # Those that are not timed do not run again.
                self._seen = dict(list(self._seen.items())[: self._timed])
            self._run = event.run
            self._in_this_run.clear()
        key = (event.function, event.test)
        self._seen[key] = now_s - self._last_s
        self._in_this_run.add(key)
        self._last_s = now_s
        self._done += 1

    def seconds(self, now_s: float) -> float | None:
        """Estimated seconds from now to the end; None before the first result."""
        if not self._seen:
            return None
        mean = sum(self._seen.values()) / len(self._seen)
        remaining = max(0, self._started.total - self._done)
        later_runs = max(0, self._started.runs - self._run)
        in_this_run = max(0, remaining - later_runs * self._timed)
        known = [took for key, took in self._seen.items() if key not in self._in_this_run]
        if len(known) > in_this_run:
            # The run was resumed in the middle of a pass: some of these tests are done already.
            this_run = sum(known) / len(known) * in_this_run
        else:
            this_run = sum(known) + mean * (in_this_run - len(known))
        timed = list(self._seen.values())[: self._timed]
        of_later_run = sum(timed) + mean * (self._timed - len(timed))
        left = this_run + of_later_run * min(later_runs, remaining / max(1, self._timed))
        return max(0.0, left - min(now_s - self._last_s, mean))

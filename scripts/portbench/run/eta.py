"""The remaining time of a run, estimated from the times of its tests so far.

A run passes over the timed tests several times, then over the others once. The time of a timed test in one pass is the
estimate for the next pass. The estimate for a test that has not run yet is the mean of the others.
"""

from __future__ import annotations

from portbench.run.events import Result, Started


class Eta:
    """Takes a runner's events with the time of each, in seconds of any clock."""

    def __init__(self, started: Started, now_s: float) -> None:
        self._total = started.total
        self._runs = started.runs
        # What is not timed is only in the total of one pass.
        self._timed = round((started.total - started.tests) / (started.runs - 1)) if started.runs > 1 else started.tests
        self._done = started.done
        self._last_s = now_s
        self._seen: dict[tuple[str, str], float] = {}
        self._in_this_run: set[tuple[str, str]] = set()
        self._run = 0
        self._untimed: list[float] = []

    def test_done(self, event: Result, now_s: float) -> None:
        """Records a result. The time since the last event is the cost of the test, with its worker and the journal."""
        if event.run != self._run:
            self._run = event.run
            self._in_this_run.clear()
        key = (event.function, event.test)
        took = now_s - self._last_s
        if self._done < self._timed * self._runs:
            self._seen[key] = took
            self._in_this_run.add(key)
        else:
            self._untimed.append(took)
        self._last_s = now_s
        self._done += 1

    def seconds(self, now_s: float) -> float | None:
        """Estimated seconds from now to the end; None before the first result."""
        known = [*self._seen.values(), *self._untimed]
        if not known:
            return None
        untimed = self._untimed or known
        of_untimed = sum(untimed) / len(untimed)
        timed_left = max(0, self._timed * self._runs - self._done)
        untimed_left = max(0, self._total - self._done - timed_left)
        left = self._of_passes(timed_left) + of_untimed * untimed_left
        present = of_untimed if not timed_left else sum(known) / len(known)
        return max(0.0, left - min(now_s - self._last_s, present))

    def _of_passes(self, left: int) -> float:
        """The estimate for so many results of timed tests."""
        if not left or not self._seen:
            return 0.0
        mean = sum(self._seen.values()) / len(self._seen)
        later_runs = max(0, self._runs - self._run)
        in_this_run = max(0, left - later_runs * self._timed)
        known = [took for key, took in self._seen.items() if key not in self._in_this_run]
        if len(known) > in_this_run:
            # The run was resumed in the middle of a pass: some of these tests are done already.
            this_run = sum(known) / len(known) * in_this_run
        else:
            this_run = sum(known) + mean * (in_this_run - len(known))
        of_later_run = sum(self._seen.values()) + mean * (self._timed - len(self._seen))
        return this_run + of_later_run * min(later_runs, left / self._timed)

"""How long a run will still take, from how long its tests took so far.

A run passes over the same tests several times. What a test took in one pass is the best guess for the next; a test not
seen yet is guessed at the mean of those seen.
"""

from __future__ import annotations

from portbench.run.events import Result, Started


class Eta:
    """Fed with a runner's events and the moments (in seconds, of any clock) at which they came."""

    def __init__(self, started: Started, now_s: float) -> None:
        self._started = started
        self._done = started.done
        self._last_s = now_s
        self._seen: dict[tuple[str, str], float] = {}
        self._in_this_run: set[tuple[str, str]] = set()
        self._run = 0

    def test_done(self, event: Result, now_s: float) -> None:
        """Between two events lies all that a test costs: its own time, a fresh worker, the journal."""
        if event.run != self._run:
            self._run = event.run
            self._in_this_run.clear()
        key = (event.function, event.test)
        self._seen[key] = now_s - self._last_s
        self._in_this_run.add(key)
        self._last_s = now_s
        self._done += 1

    def seconds(self, now_s: float) -> float | None:
        """Seconds from now to the end; None until something is known."""
        if not self._seen:
            return None
        mean = sum(self._seen.values()) / len(self._seen)
        remaining = max(0, self._started.total - self._done)
        later_runs = max(0, self._started.runs - self._run)
        in_this_run = max(0, remaining - later_runs * self._started.tests)
        known = [took for key, took in self._seen.items() if key not in self._in_this_run]
        if len(known) > in_this_run:
            # Resumed in the middle of a pass: some of these were done before.
            this_run = sum(known) / len(known) * in_this_run
        else:
            this_run = sum(known) + mean * (in_this_run - len(known))
        whole_run = sum(self._seen.values()) + mean * max(0, self._started.tests - len(self._seen))
        left = this_run + whole_run * min(later_runs, remaining / max(1, self._started.tests))
        return max(0.0, left - min(now_s - self._last_s, mean))

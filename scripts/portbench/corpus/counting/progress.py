"""Shows the progress of a count: one line with percentage, MB of source per second, and remaining time."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar


class Progress:
    """A Watcher of a count. Draws nothing if stderr is no terminal."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        columns = (
            BarColumn(),
            TextColumn("{task.percentage:3.0f} %"),
            TextColumn("{task.fields[speed]:.1f} MB/s of source"),
            TimeRemainingColumn(),
        )
        self._bar = Bar(*columns, console=console, disable=not console.is_terminal)
        self._clock, self._started, self._source = clock, clock(), 0
        self._task = self._bar.add_task("count", total=None, speed=0.0)

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def begin(self, stored: int, done: int) -> None:
        """See Watcher."""
        self._started = self._clock()
        self._bar.update(self._task, total=stored, completed=done)

    def under_way(self, source: int) -> None:
        """See Watcher."""
        seconds = self._clock() - self._started
        self._bar.update(self._task, speed=(self._source + source) / 1e6 / seconds if seconds else 0.0)

    def part_done(self, stored: int, source: int) -> None:
        """See Watcher."""
        self._source += source
        self._bar.advance(self._task, stored)

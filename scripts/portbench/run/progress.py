"""Shows the progress of `portbench run`: a bar for each running target at a terminal, else a plain line every ten
seconds. Several threads may show targets at once.

Names come from manifests and messages from runners, so they are escaped and never interpreted as markup.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Protocol

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Column

from portbench.errors import Interrupted
from portbench.run.eta import Eta
from portbench.run.events import Event, Result, Started
from portbench.run.model import TargetResult
from portbench.util.console import show_error
from portbench.util.text import counts, duration, escape_control, in_order

_LINE_EVERY_S = 10.0
_COLOURS = {
    "error": "red",
    "passed": "green",
    "failed": "red",
    "timed_out": "magenta",
    "crashed": "red",
    "skipped": "yellow",
}


class Display(Protocol):
    """Shows one target's run."""

    def show(self, event: Event | None) -> None:
        """Shows an event, or with None the passing of time."""

    def note(self, text: str) -> None:
        """Prints a message at once."""


class Reporter:
    """Writes progress to ``console`` and errors to ``errors``. ``clock`` gives seconds; tests pass their own.

    ``verbosity``: -1 for errors alone, 0 for the progress, 1 for a line about every test as well.
    """

    def __init__(
        self,
        console: Console,
        errors: Console,
        clock: Callable[[], float] = time.monotonic,
        verbosity: int = 0,
    ) -> None:
        self._console = console
        self._errors = errors
        self._clock = clock
        self._verbosity = verbosity
        self._said: set[str] = set()
        self._bars = _Bars(console)

    def say(self, text: str) -> None:
        """Prints one line."""
        if self._verbosity < 0:
            return
        self._console.print(escape(escape_control(text)), soft_wrap=True, highlight=False)

    def say_once(self, text: str) -> None:
        """Prints one line, unless this method printed the same line before."""
        if text not in self._said:
            self._said.add(text)
            self.say(text)

    @contextlib.contextmanager
    def display(self, target: str) -> Iterator[Display]:
        """The display of one target, open while it runs."""
        tally = Tally(self._clock)
        if self._console.is_terminal and self._verbosity >= 0:
            with self._bars.added(target, tally) as bar:
                yield _Verbose(bar, tally) if self._verbosity else bar
        else:
            lines = _Lines(target, tally, self.say, self._clock)
            yield _Verbose(lines, tally) if self._verbosity > 0 else lines

    @contextlib.contextmanager
    def preparing(self, target: str) -> Iterator[Callable[[str], None]]:
        """The display of one target while it is prepared beside others; yields ``say``."""
        begin_s = self._clock()
        with contextlib.ExitStack() as stack:
            if self._console.is_terminal and self._verbosity >= 0:
                stack.enter_context(self._bars.added(target, Tally(self._clock), "creating its environment"))
            yield self.say
        self.say(f"{target}: environment created ({duration(self._clock() - begin_s)})")

    def finished(self, result: TargetResult) -> None:
        """Prints that a target has ended, after its error if there is one. The counts come at the end of the run."""
        if result.error:
            # Several targets are interrupted together, and one command continues all of them.
            if str(result.error) not in self._said or not isinstance(result.error, Interrupted):
                show_error(result.error, self._errors)
                self._said.add(str(result.error))
        else:
            self.say(f"{result.target}: done ({duration(result.seconds)})")


class Tally:
    """The state of a run, as displays show it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._eta: Eta | None = None
        self.total = 0
        self.done = 0
        self.function = ""
        self.outcomes: Counter[str] = Counter()

    def take(self, event: Event | None) -> None:
        """Counts an event. None is ignored."""
        if isinstance(event, Started):
            self.total, self.done = event.total, event.done
            self._eta = Eta(event, self._clock())
        elif isinstance(event, Result):
            self.done += 1
            self.function = event.function
            self.outcomes[event.outcome] += 1
            if self._eta:
                self._eta.test_done(event, self._clock())

    @property
    def left(self) -> str:
        """The remaining time as text; empty before the first result."""
        seconds = self._eta.seconds(self._clock()) if self._eta else None
        return f"{duration(seconds)} left" if seconds is not None else ""


class _Bars:
    """The bars of all targets that run. A terminal shows only one such block at a time, so they share it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._lock = threading.Lock()
        self._open = 0
        self._progress: Progress | None = None

    @contextlib.contextmanager
    def added(self, target: str, tally: Tally, doing: str = "starting") -> Iterator[_Bar]:
        """Another bar, which says what it is doing. The last one takes the whole block with it."""
        with self._lock:
            self._open += 1
            if self._progress is None:
                self._progress = self._new()
                self._progress.start()
            progress = self._progress
        bar = _Bar(target, tally, progress, doing)
        try:
            yield bar
        finally:
            with self._lock:
                self._open -= 1
                if self._open:
                    bar.remove()
                else:
                    progress.stop()
                    self._progress = None

    def _new(self) -> Progress:
        return Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("{task.fields[counts]}"),
            TextColumn("{task.fields[function]}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
            TextColumn("{task.fields[left]}", justify="right"),
            console=self._console,
            transient=True,
            expand=True,
        )


class _Bar:
    def __init__(self, target: str, tally: Tally, progress: Progress, doing: str) -> None:
        self._target = target
        self._tally = tally
        self._progress = progress
        # No total yet: the bar pulses while an environment is created or the framework imported.
        self._task = progress.add_task(escape(target), total=None, counts="", function=doing, left="")

    def remove(self) -> None:
        """Takes the bar from the screen; the others stay."""
        self._progress.remove_task(self._task)

    def show(self, event: Event | None) -> None:
        self._tally.take(event)
        tally = self._tally
        self._progress.update(
            self._task,
            total=tally.total or None,
            completed=tally.done,
            counts=_coloured(tally.outcomes),
            function=escape(escape_control(tally.function)) if tally.function else "starting",
            left=tally.left,
        )

    def note(self, text: str) -> None:
        text = escape(escape_control(f"{self._target}: {text}"))
        self._progress.console.print(text, soft_wrap=True, highlight=False)


class _Lines:
    def __init__(self, target: str, tally: Tally, say: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._target = target
        self._tally = tally
        self._say = say
        self._clock = clock
        self._said_s = clock()

    def show(self, event: Event | None) -> None:
        self._tally.take(event)
        if self._clock() - self._said_s < _LINE_EVERY_S and not isinstance(event, Started):
            return
        self._said_s = self._clock()
        tally = self._tally
        if not tally.total:
            self._say(f"{self._target}: starting")
            return
        parts = [f"{tally.done}/{tally.total}", counts(tally.outcomes), tally.function, tally.left]
        self._say(f"{self._target}: {', '.join(part for part in parts if part)}")

    def note(self, text: str) -> None:
        self._say(f"{self._target}: {text}")


class _Verbose:
    """A display that also has a line about every test."""

    def __init__(self, display: Display, tally: Tally) -> None:
        self._display = display
        self._tally = tally

    def show(self, event: Event | None) -> None:
        self._display.show(event)
        if isinstance(event, Result):
            outcome = event.outcome.replace("_", " ")
            position = f"[{self._tally.done}/{self._tally.total}]"
            took = f"{event.case_ns / 1e6:.0f} ms"
            self.note(f"{position} {outcome}  {event.function}::{event.test}  ({took})")

    def note(self, text: str) -> None:
        self._display.note(text)


def _coloured(outcomes: Counter[str]) -> str:
    parts = [
        f"[{_COLOURS.get(outcome, 'white')}]{number} {escape(escape_control(outcome.replace('_', ' ')))}[/]"
        for outcome, number in in_order(outcomes)
    ]
    return " ".join(parts)

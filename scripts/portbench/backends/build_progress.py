"""Shows the progress of an image build: the running step and, at a terminal, its duration.

Reads BuildKit's plain log, in which the lines of parallel steps are mixed:

    #7 [torch-cpu environment 3/3] RUN python -m pip install ...      a step with its number
    #7 CACHED                                                         nothing to do
    #7 3.326 Collecting uv==0.13.8                                    the step's output
    #7 DONE 6.4s
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column

from portbench.util.text import escape_control, shortened

_STEP = re.compile(r"#(\d+) \[(?:.* )?(\d+/\d+)\] (.+)")
_LINE = re.compile(r"#(\d+) (.+)")
_SHOWN = 90


class Steps:
    """Reports the steps that really run, and not those that are cached or only announced."""

    def __init__(self, running: Callable[[str], None]) -> None:
        self._running = running
        self._announced: dict[str, str] = {}

    def on_line(self, line: str) -> None:
        """Takes a line of the log. Calls ``running`` with a step's number and instruction when the step runs."""
        step = _STEP.fullmatch(line)
        if step:
            self._announced[step[1]] = shortened(f"{step[2]} {' '.join(step[3].split())}", _SHOWN)
            return
        output = _LINE.fullmatch(line)
        text = self._announced.pop(output[1], None) if output else None
        if output and text and output[2] != "CACHED":
            self._running(text)
        elif output and output[2].endswith("exporting to image"):
            self._running("saving the image")


@contextlib.contextmanager
def build_progress(target: str, console: Console) -> Iterator[Callable[[str], None]]:
    """Shows the build of a target's image. Yields a function that takes the lines of the log."""
    if not console.is_terminal:
        yield Steps(lambda step: console.print(_safe(f"{target}: {step}"), soft_wrap=True, highlight=False)).on_line
        return
    columns = (
        SpinnerColumn(),
        TextColumn("[bold]{task.description}"),
        TextColumn("{task.fields[step]}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True, expand=True) as progress:
        task = progress.add_task(escape(target), total=None, step="starting")
        yield Steps(lambda step: progress.update(task, step=_safe(step))).on_line


def _safe(text: str) -> str:
    return escape(escape_control(text))

"""Asks a target's runner for a file that is no run file: it imports the framework, in the target's image or
environment."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from portbench.backends import Arguments
from portbench.doctor.diagnosis import ready_backend
from portbench.errors import EnvironmentFailed, Interrupted, RunFailed
from portbench.formats.documents import Document, read_document
from portbench.run.events import Ended, Failed, Stepped
from portbench.run.process import Runner, running
from portbench.targets.catalog import Target, find_targets
from portbench.util.machine import Machine
from portbench.util.processes import stoppable
from portbench.util.repository import Checkout


def ask_runner(
    name: str,
    checkout: Checkout,
    say: Callable[[str], None],
    arguments_for: Callable[[Path], Arguments],
    kind: str,
    backend: str = "auto",
    machine: Machine | None = None,
) -> tuple[Document, str]:
    """The file that the runner of the target called ``name`` writes, of the format ``kind``, and its text.

    ``arguments_for`` gets the folder for it. ``say`` gets a line about every slow step. Raises UnknownTarget,
    RunFailed, Interrupted, or the error that says why the target cannot run here.
    """
    (target,) = find_targets([name], checkout)
    try:
        with tempfile.TemporaryDirectory(prefix="portbench-") as folder, stoppable():
            chosen, why = ready_backend(backend, target, checkout, machine or Machine(), Path(folder))
            say(f"{target.name}: backend {chosen.name} ({why})")
            chosen.prepare(target, say)
            with running(chosen.command(target, arguments_for(Path(folder)))) as runner:
                path = _written(runner, target, Path(folder), say)
            return read_document(path, kind), path.read_text("utf-8")
    except KeyboardInterrupt:
        raise Interrupted("interrupted; nothing was written") from None


def _written(runner: Runner, target: Target, folder: Path, say: Callable[[str], None]) -> Path:
    ended: Ended | None = None
    said = 0
    for event in runner.events():
        if isinstance(event, Failed):
            raise RunFailed(event.message, event.remedy, runner.exit_status or EnvironmentFailed.exit_status)
        if isinstance(event, Ended):
            ended = event
        if isinstance(event, Stepped) and event.done * 10 // event.total > said:
            said = event.done * 10 // event.total
            say(f"{target.name}: {event.done:,} of {event.total:,} entries")
    if runner.interrupts:
        raise Interrupted("interrupted; nothing was written")
    path = folder / Path(ended.run_file).name if ended else folder
    if runner.exit_status or not path.is_file():
        raise RunFailed(
            f"{target.name}: the runner {runner.ending}",
            f"If an older portbench built the image, build it again: portbench images build {target.name}",
            runner.exit_status or EnvironmentFailed.exit_status,
        )
    return path

"""Lists the public functions of a target: its runner imports the framework, in the target's image or environment."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from portbench.doctor.diagnosis import ready_backend
from portbench.errors import EnvironmentFailed, Interrupted, RunFailed
from portbench.formats.documents import Document, read_document
from portbench.run.events import Ended, Failed
from portbench.run.process import Runner, running
from portbench.targets.catalog import Target, find_targets
from portbench.util.machine import Machine
from portbench.util.processes import stoppable
from portbench.util.repository import Checkout


@dataclass(frozen=True)
class EnumerateArguments:
    """Asks a runner for a list of the framework's functions. ``out`` is the host's path, absolute."""

    out: Path
    as_published: bool
    methods: bool
    manifest: None = None

    def argv(self, manifest: str, out: str) -> list[str]:
        """As command line arguments. There is no manifest."""
        flags = [flag for flag, given in (("--as-study", self.as_published), ("--methods", self.methods)) if given]
        return ["--enumerate", "--out", out, *flags, "--progress", "json"]


@dataclass(frozen=True)
class Listing:
    """A list of functions as the runner wrote it. ``text`` is the file's text, the same for the same target."""

    document: Document
    text: str


def enumerate_target(
    name: str,
    checkout: Checkout,
    say: Callable[[str], None],
    *,
    backend: str = "auto",
    as_published: bool = False,
    methods: bool = False,
    machine: Machine | None = None,
) -> Listing:
    """Lists the public functions of the target called ``name``. ``say`` gets a line about every slow step.

    ``as_published``: by the rule of the paper of 2023. Raises UnknownTarget, RunFailed, Interrupted, or the error that
    says why the target cannot run here.
    """
    (target,) = find_targets([name], checkout)
    try:
        with tempfile.TemporaryDirectory(prefix="portbench-enumerate-") as folder, stoppable():
            chosen, why = ready_backend(backend, target, checkout, machine or Machine(), Path(folder))
            say(f"{target.name}: backend {chosen.name} ({why})")
            chosen.prepare(target, say)
            arguments = EnumerateArguments(Path(folder), as_published, methods)
            with running(chosen.command(target, arguments)) as runner:
                path = _written(runner, target, Path(folder))
            return Listing(read_document(path, "functions"), path.read_text("utf-8"))
    except KeyboardInterrupt:
        raise Interrupted("interrupted; nothing was written") from None


def _written(runner: Runner, target: Target, folder: Path) -> Path:
    ended: Ended | None = None
    for event in runner.events():
        if isinstance(event, Failed):
            raise RunFailed(event.message, event.remedy, runner.exit_status or EnvironmentFailed.exit_status)
        if isinstance(event, Ended):
            ended = event
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

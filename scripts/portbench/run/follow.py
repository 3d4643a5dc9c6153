"""Follows a started runner to its end, and concludes what came of its target."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

from portbench.backends import Command
from portbench.errors import Interrupted, PortbenchError, RunFailed
from portbench.run.events import Ended, Failed, Started, Uncurated, Warned
from portbench.run.model import RunPlan, TargetResult
from portbench.run.process import Runner
from portbench.run.progress import Reporter
from portbench.targets.catalog import Target


@dataclass
class Prepared:
    """A target with the command of its runner, or the error that keeps it from running."""

    target: Target
    name: str
    runner: Runner = field(default_factory=Runner)
    backend: str | None = None
    command: Command | None = None
    error: PortbenchError | None = None
    begin_s: float = field(default_factory=time.monotonic)


def follow_to_end(prepared: Prepared, plan: RunPlan, reporter: Reporter) -> TargetResult:
    """Shows the events of a started runner until it ends. Its error, or that of its preparation, is in the result."""
    seen = _Seen()
    run_file: Path | None = None
    copy: str | None = None
    failure, runner, target = prepared.error, prepared.runner, prepared.target
    try:
        if failure is None:
            seen = _follow(runner, target, prepared.name, reporter)
            run_file = _conclude(plan, runner, seen, plan.arguments[target.framework].out)
            if plan.copy_to:
                copy = _copied(run_file, plan.copy_to)
            if runner.interrupts:
                raise interruption(plan)
    except PortbenchError as error:
        failure = error
    return TargetResult(
        target=seen.started.target if seen.started else prepared.name,
        planned=target.name,
        backend=prepared.backend,
        exit_status=failure.exit_status if failure else 0,
        run_file=run_file,
        outcomes=seen.ended.outcomes if seen.ended else {},
        disturbed=seen.ended.disturbed if seen.ended else 0,
        seconds=time.monotonic() - prepared.begin_s,
        error=failure,
        copy=copy,
    )


def interruption(plan: RunPlan) -> Interrupted:
    """The error of a target that was interrupted, with the command that continues the run."""
    return Interrupted("interrupted; finished results are kept", f"To continue:  {plan.command_to_resume}")


@dataclass
class _Seen:
    """The events that matter once the runner has ended."""

    started: Started | None = None
    ended: Ended | None = None
    failed: Failed | None = None


def _follow(runner: Runner, target: Target, name: str, reporter: Reporter) -> _Seen:
    seen = _Seen()
    asked_to_stop = 0
    with reporter.display(name) as display:
        for event in runner.events():
            if isinstance(event, Started):
                seen.started = event
                if event.target != target.name:
                    display.note(f"runs as {event.target}: this Python does not have the default {target.version}")
            elif isinstance(event, Ended):
                seen.ended = event
            elif isinstance(event, Failed):
                seen.failed = event
            elif isinstance(event, Warned):
                display.note(f"warning: {event.message}")
            elif isinstance(event, Uncurated):
                display.note(f"no tests yet: {', '.join(event.functions)}")
            if runner.interrupts > asked_to_stop:
                asked_to_stop = runner.interrupts
                display.note("stopping; Ctrl-C again kills" if asked_to_stop == 1 else "killed")
            display.show(event)
    return seen


def _conclude(plan: RunPlan, runner: Runner, seen: _Seen, out: Path) -> Path:
    """The run file, or the error that says why there is none."""
    status = runner.exit_status
    if seen.ended is None and (runner.interrupts or status == Interrupted.exit_status):
        raise interruption(plan)
    if seen.failed is not None:
        raise RunFailed(seen.failed.message, seen.failed.remedy, status or RunFailed("").exit_status)
    if status or seen.ended is None:
        # Before the first event no journal exists, so there is nothing to continue.
        raise RunFailed(
            f"the runner {runner.ending}",
            f"Finished results are kept in its journal. To continue:  {plan.command_to_resume}" if seen.started else "",
            status or RunFailed("").exit_status,
        )
    run_file = out / Path(seen.ended.run_file).name
    if not run_file.is_file():
        raise RunFailed(f"the runner reported that it wrote {run_file}, but there is no such file")
    return run_file


def _copied(run_file: Path, folder: str) -> str:
    """Copies a run file to an object store; returns the URL. Raises StorageFailed."""
    from portbench.util import remote  # imports DuckDB, for which every run would wait

    return remote.store(run_file, folder)

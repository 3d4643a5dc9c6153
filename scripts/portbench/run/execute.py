"""Runs a plan, one target after the other: check the target, choose a backend, prepare it, start the runner, follow its
events.

A target that cannot run is one error and the other targets still run. An interruption ends the whole run.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from portbench.doctor.diagnosis import ready_backend
from portbench.errors import Interrupted, PortbenchError, RunFailed
from portbench.run.events import Ended, Failed, Started, Uncurated, Warned
from portbench.run.model import RunPlan, TargetResult
from portbench.run.process import Runner, running
from portbench.run.progress import Reporter
from portbench.targets.catalog import Target
from portbench.util.processes import stoppable


def run_targets(plan: RunPlan, reporter: Reporter) -> list[TargetResult]:
    """Runs every target and reports each as it ends. After an interruption the remaining targets do not run."""
    results: list[TargetResult] = []
    with stoppable():
        for target in plan.targets:
            results.append(_run_target(plan, target, reporter))
            reporter.finished(results[-1])
            if isinstance(results[-1].error, Interrupted):
                break
    return results


def exit_status(results: Sequence[TargetResult]) -> int:
    """The exit status of the whole command: an interruption's, else the first failure's, else 0."""
    if any(isinstance(result.error, Interrupted) for result in results):
        return Interrupted.exit_status
    return next((result.exit_status for result in results if result.exit_status), 0)


def _run_target(plan: RunPlan, target: Target, reporter: Reporter) -> TargetResult:
    begin = time.monotonic()
    # A Python of the user may have any version.
    name = target.service if plan.backend == "current" and not target.version_named else target.name
    backend_name: str | None = None
    seen = _Seen()
    run_file: Path | None = None
    failure: PortbenchError | None = None
    arguments = plan.arguments[target.framework]
    try:
        backend, why = ready_backend(plan.backend, target, plan.checkout, plan.machine, arguments.out)
        backend_name = backend.name
        reporter.say_once(f"{name}: backend {backend.name} ({why})")
        backend.prepare(target, reporter.say)
        with running(backend.command(target, arguments)) as runner:
            seen = _follow(runner, target, name, reporter)
            run_file = _conclude(plan, runner, seen, arguments.out)
            if runner.interrupts:
                raise _interrupted(plan)
    except KeyboardInterrupt:
        failure = _interrupted(plan)
    except PortbenchError as error:
        failure = error
    return TargetResult(
        target=seen.started.target if seen.started else name,
        planned=target.name,
        backend=backend_name,
        exit_status=failure.exit_status if failure else 0,
        run_file=run_file,
        outcomes=seen.ended.outcomes if seen.ended else {},
        seconds=time.monotonic() - begin,
        error=failure,
    )


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
        raise _interrupted(plan)
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


def _interrupted(plan: RunPlan) -> Interrupted:
    return Interrupted("interrupted; finished results are kept", f"To continue:  {plan.command_to_resume}")

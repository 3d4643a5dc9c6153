"""Runs a plan: check the target, choose a backend, prepare it, start the runner, follow its events.

Targets whose tests are timed run one after the other, each alone. Predicted targets measure no time, so they run after
those and side by side, one for each core. A target that cannot run is one error and the other targets still run. An
interruption ends the whole run.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from portbench.backends import Command
from portbench.devices import PREDICTED_DEVICES
from portbench.doctor.diagnosis import ready_backend, unfit
from portbench.errors import Interrupted, PortbenchError, RunFailed
from portbench.run.events import Ended, Failed, Started, Uncurated, Warned
from portbench.run.model import RunPlan, TargetResult
from portbench.run.process import Runner
from portbench.run.progress import Reporter
from portbench.targets.catalog import Target
from portbench.util.parallel import cores
from portbench.util.processes import signals_handled_by


def run_targets(plan: RunPlan, reporter: Reporter) -> list[TargetResult]:
    """Runs every target and reports each as it ends. After an interruption the remaining targets do not run.

    The results have the order of the plan.
    """
    predicted = [target for target in plan.targets if target.device in PREDICTED_DEVICES]
    measured = [target for target in plan.targets if target.device not in PREDICTED_DEVICES]
    results = _Group(plan, reporter, at_once=1).run(measured)
    if not _any_interrupted(results):
        results += _Group(plan, reporter, at_once=cores()).run(predicted)
    order = [target.name for target in plan.targets]
    return sorted(results, key=lambda result: order.index(result.planned))


def exit_status(results: Sequence[TargetResult]) -> int:
    """The exit status of the whole command: an interruption's, else the first failure's, else 0."""
    if _any_interrupted(results):
        return Interrupted.exit_status
    return next((result.exit_status for result in results if result.exit_status), 0)


def _any_interrupted(results: Sequence[TargetResult]) -> bool:
    return any(isinstance(result.error, Interrupted) for result in results)


@dataclass
class _Prepared:
    """A target with the command of its runner, or the error that keeps it from running."""

    target: Target
    name: str
    runner: Runner = field(default_factory=Runner)
    backend: str | None = None
    command: Command | None = None
    error: PortbenchError | None = None
    begin_s: float = field(default_factory=time.monotonic)


class _Group:
    """Runs some targets, ``at_once`` of them at a time.

    Runners start, are interrupted and end in the main thread, which alone gets signals. A thread for each follows its
    events.
    """

    def __init__(self, plan: RunPlan, reporter: Reporter, at_once: int) -> None:
        self._plan = plan
        self._reporter = reporter
        self._at_once = at_once
        self._runners: list[Runner] = []
        self._is_preparing = False
        self._is_interrupted = False

    def run(self, targets: Sequence[Target]) -> list[TargetResult]:
        """Runs the targets; returns the results in the order in which they ended."""
        results = list[TargetResult]()
        running: dict[Future[TargetResult], _Prepared] = {}
        with signals_handled_by(self._on_signal), ThreadPoolExecutor(self._at_once) as threads, self._none_left():
            waiting: Iterator[_Prepared] = self._prepared(targets)
            if self._at_once > 1:
                # The progress of an installation is not to be mixed with that of a runner.
                waiting = iter(list(waiting))
            while True:
                while len(running) < self._at_once and (each := next(waiting, None)):
                    if each.error is None and self._is_interrupted:
                        continue
                    self._start(each)
                    running[threads.submit(self._follow_to_end, each)] = each
                if not running:
                    break
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    self._end(running.pop(future).runner)
                    results.append(future.result())
                    self._reporter.finished(results[-1])
        if self._is_interrupted and not _any_interrupted(results):
            raise KeyboardInterrupt  # between two targets
        return results

    def _prepared(self, targets: Sequence[Target]) -> Iterator[_Prepared]:
        for target in targets:
            if self._is_interrupted:
                return
            yield self._prepare(target)

    def _prepare(self, target: Target) -> _Prepared:
        plan = self._plan
        # A Python of the user may have any version.
        any_version = plan.backend == "current" and not target.version_named
        prepared = _Prepared(target, target.service if any_version else target.name)
        arguments = plan.arguments[target.framework]
        try:
            self._is_preparing = True
            backend, why = ready_backend(plan.backend, target, plan.checkout, plan.machine, arguments.out)
            prepared.backend = backend.name
            self._reporter.say_once(f"{prepared.name}: backend {backend.name} ({why})")
            for warning in () if any_version else unfit(target, plan.machine):
                self._reporter.say_once(f"warning: {warning.message}. {warning.remedy}")
            backend.prepare(target, self._reporter.say)
            prepared.command = backend.command(target, arguments)
        except KeyboardInterrupt:
            prepared.error = _interrupted(plan)
        except PortbenchError as error:
            prepared.error = error
        finally:
            self._is_preparing = False
        return prepared

    def _start(self, prepared: _Prepared) -> None:
        if prepared.command is None:
            return
        # From here on, a signal is for this runner, too.
        self._runners.append(prepared.runner)
        prepared.begin_s = time.monotonic()
        try:
            if self._is_interrupted:
                raise _interrupted(self._plan)
            prepared.runner.start(prepared.command)
        except PortbenchError as error:
            prepared.error = error

    def _end(self, runner: Runner) -> None:
        runner.finish()
        if runner in self._runners:
            self._runners.remove(runner)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._is_interrupted = True
        for runner in self._runners:
            runner.on_signal(number, frame)
        if self._is_preparing:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def _none_left(self) -> Iterator[None]:
        """Whatever is raised inside, no process of a runner is left."""
        try:
            yield
        finally:
            for runner in self._runners:
                runner.finish()

    def _follow_to_end(self, prepared: _Prepared) -> TargetResult:
        seen = _Seen()
        run_file: Path | None = None
        copy: str | None = None
        failure, runner, target = prepared.error, prepared.runner, prepared.target
        try:
            if failure is None:
                seen = _follow(runner, target, prepared.name, self._reporter)
                run_file = _conclude(self._plan, runner, seen, self._plan.arguments[target.framework].out)
                if self._plan.copy_to:
                    copy = _copied(run_file, self._plan.copy_to)
                if runner.interrupts:
                    raise _interrupted(self._plan)
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


def _copied(run_file: Path, folder: str) -> str:
    """Copies a run file to an object store; returns the URL. Raises StorageFailed."""
    from portbench.util import remote  # imports DuckDB, for which every run would wait

    return remote.store(run_file, folder)


def _interrupted(plan: RunPlan) -> Interrupted:
    return Interrupted("interrupted; finished results are kept", f"To continue:  {plan.command_to_resume}")

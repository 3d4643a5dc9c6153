"""Runs a plan: check the targets, choose backends, prepare them, start the runners, follow their events.

Targets are prepared together: their environments are downloaded and installed at the same time. Predicted targets
measure no time, so they run as soon as they are prepared, side by side, one for each core. A target whose tests are
timed runs alone: nothing is installed and nothing is predicted meanwhile. Where nothing has to be installed, timed
targets run first. A target that cannot run is one error and the other targets still run. An interruption ends the whole
run.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from types import FrameType
from typing import Any

from portbench.backends import Backend
from portbench.devices import PREDICTED_DEVICES
from portbench.doctor.diagnosis import have_room, ready_backend, unfit
from portbench.errors import Interrupted, PortbenchError
from portbench.run.follow import Prepared, follow_to_end, interruption
from portbench.run.model import RunPlan, TargetResult
from portbench.run.process import Runner
from portbench.run.progress import Reporter
from portbench.targets.catalog import Target
from portbench.util.parallel import cores
from portbench.util.processes import Killable, signals_handled_by

_PREPARED_AT_ONCE = 8


def run_targets(plan: RunPlan, reporter: Reporter) -> list[TargetResult]:
    """Runs every target and reports each as it ends. After an interruption the remaining targets do not run.

    The results have the order of the plan.
    """
    results = _Schedule(plan, reporter).run()
    order = [target.name for target in plan.targets]
    return sorted(results, key=lambda result: order.index(result.planned))


def exit_status(results: Sequence[TargetResult]) -> int:
    """The exit status of the whole command: an interruption's, else the first failure's, else 0."""
    if _any_interrupted(results):
        return Interrupted.exit_status
    return next((result.exit_status for result in results if result.exit_status), 0)


def _any_interrupted(results: Sequence[TargetResult]) -> bool:
    return any(isinstance(result.error, Interrupted) for result in results)


def _is_timed(target: Target) -> bool:
    return target.device not in PREDICTED_DEVICES


class _Schedule:
    """Prepares and runs the targets of a plan.

    Runners start, are interrupted and end in the main thread, which alone gets signals. A thread for each follows its
    events. Missing environments are created in a thread each.
    """

    def __init__(self, plan: RunPlan, reporter: Reporter) -> None:
        self._plan = plan
        self._reporter = reporter
        self._preparations = Killable()
        self._is_interrupted = False
        self._is_busy = False
        self._preparing: list[Future[Prepared]] = []
        self._ready: list[Prepared] = []
        self._running: dict[Future[TargetResult], Prepared] = {}
        self._runners: list[Runner] = []

    def run(self) -> list[TargetResult]:
        """Runs the targets; returns the results in the order in which they ended."""
        results = list[TargetResult]()
        targets = sorted(self._plan.targets, key=_is_timed, reverse=True)
        with (
            signals_handled_by(self._on_signal),
            ThreadPoolExecutor(_PREPARED_AT_ONCE) as preparers,
            ThreadPoolExecutor(cores()) as followers,
            self._nothing_left(),
        ):
            self._prepare_all(targets, preparers)
            while self._ready or self._preparing or self._running:
                while prepared := self._next():
                    self._start(prepared)
                    self._running[followers.submit(follow_to_end, prepared, self._plan, self._reporter)] = prepared
                results += self._ended()
        if self._is_interrupted and not _any_interrupted(results):
            raise KeyboardInterrupt  # between two targets
        return results

    def _prepare_all(self, targets: Sequence[Target], threads: ThreadPoolExecutor) -> None:
        """Prepares the targets; several whose environments are missing in a thread each."""
        missing: list[tuple[Prepared, Backend]] = []
        for target in targets:
            if self._is_interrupted:
                return
            prepared, backend = self._check(target)
            if backend is not None and backend.is_missing(target):
                missing.append((prepared, backend))
            else:
                self._prepare_here(prepared, backend)
        is_one_of_several = len(missing) > 1 or any(not _is_timed(each.target) for each in self._ready)
        if missing and is_one_of_several and self._have_room([prepared.target for prepared, _ in missing]):
            self._preparing = [threads.submit(self._prepare_aside, *each) for each in missing]
        else:
            for prepared, backend in missing:
                self._prepare_here(prepared, backend)

    def _have_room(self, targets: Sequence[Target]) -> bool:
        """Whether all environments fit on the disk. Otherwise one is created after the other: the first ones may."""
        return have_room(targets, self._plan.checkout, self._plan.machine)

    def _check(self, target: Target) -> tuple[Prepared, Backend | None]:
        """The target with its backend, or with the error that keeps it from running."""
        plan, backend = self._plan, None
        # A Python of the user may have any version.
        any_version = plan.backend == "current" and not target.version_named
        prepared = Prepared(target, target.service if any_version else target.name)
        with self._errors_of(prepared), self._busy():
            out = plan.arguments[target.framework].out
            backend, why = ready_backend(plan.backend, target, plan.checkout, plan.machine, out)
            prepared.backend = backend.name
            self._reporter.say_once(f"{prepared.name}: backend {backend.name} ({why})")
            for warning in () if any_version else unfit(target, plan.machine):
                self._reporter.say_once(f"warning: {warning.message}. {warning.remedy}")
        return prepared, backend

    def _prepare_here(self, prepared: Prepared, backend: Backend | None) -> None:
        """In the main thread, where an installer may show its own progress."""
        with self._errors_of(prepared), self._busy():
            self._prepare(prepared, backend, self._reporter.say)
        self._ready.append(prepared)

    def _prepare_aside(self, prepared: Prepared, backend: Backend | None) -> Prepared:
        with self._errors_of(prepared), self._preparations.entered(), self._reporter.preparing(prepared.name) as say:
            self._prepare(prepared, backend, say)
        return prepared

    def _prepare(self, prepared: Prepared, backend: Backend | None, say: Callable[[str], None]) -> None:
        target = prepared.target
        if backend is not None and prepared.error is None and not self._is_interrupted:
            backend.prepare(target, say)
            arguments = self._plan.arguments[target.framework]
            prepared.command = backend.command(target, replace(arguments, lanes=self._lanes(target)))

    def _lanes(self, target: Target) -> int | None:
        """Predicted targets that run side by side share the cores."""
        predicted = sum(not _is_timed(each) for each in self._plan.targets)
        return None if _is_timed(target) or predicted == 1 else max(1, cores() // predicted)

    @contextlib.contextmanager
    def _errors_of(self, prepared: Prepared) -> Iterator[None]:
        """An error in the block, or an interruption, becomes that of ``prepared``."""
        error: BaseException | None = None
        try:
            yield
        except (KeyboardInterrupt, PortbenchError) as raised:
            error = raised
        if self._is_interrupted or isinstance(error, KeyboardInterrupt):
            prepared.error = interruption(self._plan)
        elif isinstance(error, PortbenchError):
            prepared.error = error

    def _next(self) -> Prepared | None:
        """A target that may start now, or None. Predicted ones run beside others, timed ones alone."""
        if self._is_interrupted:
            self._ready = [each for each in self._ready if each.error]
        running = [_is_timed(each.target) for each in self._running.values()]
        is_alone = not running and not self._preparing
        may_join = len(running) < cores() and not any(running)
        for each in self._ready:
            if each.error or (is_alone if _is_timed(each.target) else may_join):
                self._ready.remove(each)
                return each
        return None

    def _start(self, prepared: Prepared) -> None:
        if prepared.command is None:
            return
        # From here on, a signal is for this runner, too.
        self._runners.append(prepared.runner)
        prepared.begin_s = time.monotonic()
        try:
            if self._is_interrupted:
                raise interruption(self._plan)
            prepared.runner.start(prepared.command)
        except PortbenchError as error:
            prepared.error = error

    def _ended(self) -> Iterator[TargetResult]:
        """Waits for the next preparation or target to end."""
        awaited: list[Future[Any]] = [*self._preparing, *self._running]
        ended, _ = wait(awaited, return_when=FIRST_COMPLETED)
        for preparation in [each for each in self._preparing if each in ended]:
            self._preparing.remove(preparation)
            self._ready.append(preparation.result())
        for future in [each for each in self._running if each in ended]:
            runner = self._running.pop(future).runner
            runner.finish()
            if runner in self._runners:
                self._runners.remove(runner)
            self._reporter.finished(future.result())
            yield future.result()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._is_interrupted = True
        self._preparations.kill()
        for runner in self._runners:
            runner.on_signal(number, frame)
        if self._is_busy:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def _busy(self) -> Iterator[None]:
        """A signal interrupts what the main thread does in the block."""
        self._is_busy = True
        try:
            yield
        finally:
            self._is_busy = False

    @contextlib.contextmanager
    def _nothing_left(self) -> Iterator[None]:
        """Whatever is raised inside, no process of a preparation or runner is left."""
        try:
            yield
        finally:
            self._preparations.kill()
            for runner in self._runners:
                runner.finish()

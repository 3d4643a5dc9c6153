"""Runs a manifest on targets, one after the other: check what the target needs, choose a backend, prepare it, start the
runner, follow its events.

A target that cannot run is an error of its own and does not keep the others from running. An interruption ends all.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from portbench.backends import RunnerArguments
from portbench.doctor.diagnosis import ready_backend
from portbench.errors import Interrupted, PortbenchError, RunFailed, StorageFailed
from portbench.run.events import Ended, Failed, Uncurated, Warned
from portbench.run.manifest_files import find_manifest
from portbench.run.process import Runner, running
from portbench.run.progress import Reporter
from portbench.targets.catalog import Target, find_targets
from portbench.util.machine import Machine
from portbench.util.processes import stoppable
from portbench.util.repository import Checkout


@dataclass(frozen=True)
class RunOptions:
    """What the user typed, in the command line's words and units."""

    targets: tuple[str, ...]
    manifest: str = "study"
    functions: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    runs: int = 3
    protocol: str = "both"
    sync: str = "complete"
    timeout_s: float = 900.0
    steady_budget_s: float = 0.1
    shuffle: int | None = None
    memory: str | None = None
    backend: str = "auto"
    resume: bool = False
    out: str = "results"
    check: bool = False
    json: bool = False


@dataclass(frozen=True)
class RunPlan:
    """What is to be run: every word of the options looked up."""

    checkout: Checkout
    targets: tuple[Target, ...]
    backend: str
    arguments: Mapping[str, RunnerArguments]
    """By the framework of the target."""
    again: str
    """The command line that goes on with an interrupted run."""
    machine: Machine = field(default_factory=Machine)


@dataclass(frozen=True)
class TargetResult:
    """What came of one target. ``run_file`` None: no run file was written, and ``error`` says why."""

    target: str
    backend: str | None
    exit_status: int
    run_file: Path | None
    outcomes: Mapping[str, int]
    seconds: float
    error: PortbenchError | None


def plan_run(options: RunOptions, checkout: Checkout, machine: Machine | None = None) -> RunPlan:
    """Looks everything up before anything runs. Raises UnknownTarget, BadInput or StorageFailed."""
    targets = find_targets(options.targets, checkout)
    out = Path(options.out).absolute()
    manifests = {
        framework: find_manifest(options.manifest, framework, checkout)
        for framework in dict.fromkeys(target.framework for target in targets)
    }
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageFailed(f"cannot write to {out}: {error.strerror}", "Give another folder with --out.") from error
    arguments = {
        framework: RunnerArguments(
            manifest=manifest,
            out=out,
            functions=options.functions,
            tests=options.tests,
            runs=options.runs,
            protocol=options.protocol,
            sync=options.sync,
            timeout_s=options.timeout_s,
            steady_budget_s=options.steady_budget_s,
            shuffle=options.shuffle,
            memory=options.memory,
            resume=options.resume,
        )
        for framework, manifest in manifests.items()
    }
    again = command_to_resume(options)
    return RunPlan(checkout, tuple(targets), options.backend, arguments, again, machine or Machine())


def command_to_resume(options: RunOptions) -> str:
    """The command line of these options, with --resume, ready for a shell."""
    usual = RunOptions(())
    words = ["portbench", "run", *options.targets]
    for flag, given, default in (
        ("--manifest", options.manifest, usual.manifest),
        *(("--function", pattern, None) for pattern in options.functions),
        *(("--test", pattern, None) for pattern in options.tests),
        ("--runs", options.runs, usual.runs),
        ("--protocol", options.protocol, usual.protocol),
        ("--sync", options.sync, usual.sync),
        ("--timeout", options.timeout_s, usual.timeout_s),
        ("--steady-budget", options.steady_budget_s, usual.steady_budget_s),
        ("--shuffle", options.shuffle, usual.shuffle),
        ("--memory", options.memory, usual.memory),
        ("--backend", options.backend, usual.backend),
        ("--out", options.out, usual.out),
    ):
        if given != default:
            words += [flag, str(given)]
    flags = [flag for flag, given in (("--check", options.check), ("--json", options.json)) if given]
    return shlex.join([*words, "--resume", *flags])


def run_targets(plan: RunPlan, reporter: Reporter) -> list[TargetResult]:
    """Runs every target and reports each as it ends; after an interruption the rest is left out."""
    results: list[TargetResult] = []
    with stoppable():
        for target in plan.targets:
            results.append(_run_target(plan, target, reporter))
            reporter.finished(results[-1])
            if isinstance(results[-1].error, Interrupted):
                break
    return results


def exit_status(results: Sequence[TargetResult]) -> int:
    """Of the whole command: that of an interruption, else of the first failure, else 0."""
    if any(isinstance(result.error, Interrupted) for result in results):
        return Interrupted.exit_status
    return next((result.exit_status for result in results if result.exit_status), 0)


def _run_target(plan: RunPlan, target: Target, reporter: Reporter) -> TargetResult:
    begin = time.monotonic()
    backend_name: str | None = None
    ended: Ended | None = None
    run_file: Path | None = None
    failure: PortbenchError | None = None
    try:
        out = plan.arguments[target.framework].out
        backend, why = ready_backend(plan.backend, target, plan.checkout, plan.machine, out)
        backend_name = backend.name
        reporter.say_once(f"{target.name}: backend {backend.name} ({why})")
        backend.prepare(target, reporter.say)
        arguments = plan.arguments[target.framework]
        with running(backend.command(target, arguments)) as runner:
            ended, failed = _follow(runner, target, reporter)
            run_file = _conclude(plan, runner, ended, failed, arguments.out)
            if runner.interrupts:
                raise _interrupted(plan)
    except KeyboardInterrupt:
        failure = _interrupted(plan)
    except PortbenchError as error:
        failure = error
    return TargetResult(
        target=target.name,
        backend=backend_name,
        exit_status=failure.exit_status if failure else 0,
        run_file=run_file,
        outcomes=ended.outcomes if ended else {},
        seconds=time.monotonic() - begin,
        error=failure,
    )


def _follow(runner: Runner, target: Target, reporter: Reporter) -> tuple[Ended | None, Failed | None]:
    ended: Ended | None = None
    failed: Failed | None = None
    asked_to_stop = 0
    with reporter.display(target.name) as display:
        for event in runner.events():
            if isinstance(event, Ended):
                ended = event
            elif isinstance(event, Failed):
                failed = event
            elif isinstance(event, Warned):
                display.note(f"warning: {event.message}")
            elif isinstance(event, Uncurated):
                display.note(f"not yet curated, no tests: {', '.join(event.functions)}")
            if runner.interrupts > asked_to_stop:
                asked_to_stop = runner.interrupts
                display.note("stopping; Ctrl-C again kills" if asked_to_stop == 1 else "killed")
            display.show(event)
    return ended, failed


def _conclude(plan: RunPlan, runner: Runner, ended: Ended | None, failed: Failed | None, out: Path) -> Path:
    """The run file, or the error that says why there is none."""
    status = runner.exit_status
    if ended is None and (runner.interrupts or status == Interrupted.exit_status):
        raise _interrupted(plan)
    if failed is not None:
        raise RunFailed(failed.message, failed.remedy, status or RunFailed("").exit_status)
    if status or ended is None:
        raise RunFailed(
            f"the runner {runner.ending}",
            "What was finished is kept in its journal: the same command with --resume goes on from there.",
            status or RunFailed("").exit_status,
        )
    run_file = out / Path(ended.run_file).name
    if not run_file.is_file():
        raise RunFailed(f"the runner says that it wrote {run_file}, but that file is not there")
    return run_file


def _interrupted(plan: RunPlan) -> Interrupted:
    return Interrupted("interrupted; finished results are kept", f"To go on:  {plan.again}")

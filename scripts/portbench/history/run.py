"""Runs a manifest on the versions of a framework, each once: what ran before is read from the user's cache.

<cache>/portbench/history/runs/<environment>-<device>-<12 hex>/*.json    the digest of manifest, functions, kernels
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from portbench.errors import BadInput, EnvironmentFailed, Interrupted, PortbenchError, RunFailed, TargetUnavailable
from portbench.history import environments as own
from portbench.history.releases import Release
from portbench.run.execute import run_targets
from portbench.run.model import RunnerArguments, RunnerOptions, RunPlan
from portbench.run.progress import Reporter
from portbench.targets import environments
from portbench.targets.catalog import Target
from portbench.targets.environments import kernel_list
from portbench.util.machine import Machine
from portbench.util.processes import stoppable
from portbench.util.strict_json import read_json
from portbench.util.text import shortened

_LONGEST_REASON = 400
_JOURNALS = "*.journal.jsonl"


@dataclass(frozen=True)
class VersionRun:
    """A version, with its run file or the reason (``missing``) why it has none. ``is_new``: whether it ran now."""

    version: str
    date: str = ""
    python: str = ""
    run_file: Path | None = None
    missing: str = ""
    is_new: bool = False


@dataclass(frozen=True)
class HistoryPlan:
    """What to run: a manifest, or some of its functions, on versions of a framework on one device.

    ``keep``: environments that were created stay. ``again``: the command that goes on after an interruption.
    """

    sources: own.Sources
    releases: Mapping[str, Release]
    manifest: Path
    keep: bool = False
    functions: tuple[str, ...] = ()
    timeout_s: float = 300.0
    again: str = "portbench history"
    machine: Machine = field(default_factory=Machine)

    def with_only(self, function: str) -> HistoryPlan:
        """The same for one function."""
        return replace(self, functions=(function,))


def run_versions(plan: HistoryPlan, versions: Sequence[str], reporter: Reporter) -> Iterator[VersionRun]:
    """Runs each version that has no run file yet. A version that cannot be installed or run does not end the others.

    Raises StorageFailed for a full disk, and Interrupted; the versions before that are finished and stay so.
    """
    for version in versions:
        try:
            with stoppable():
                run = _run_version(plan, version, reporter)
        except KeyboardInterrupt:
            raise _interrupted(plan) from None
        yield run


def _run_version(plan: HistoryPlan, version: str, reporter: Reporter) -> VersionRun:
    release = plan.releases.get(version)
    found = VersionRun(version, release.date if release else "")
    try:
        target = plan.sources.target(version, release, reporter.say)
        python, folder = target.python, _folder(plan, target)
        # A run of the whole manifest also has the functions that are asked for.
        finished = _finished(folder) or _finished(_folder(replace(plan, functions=()), target))
        if finished:
            return VersionRun(version, found.date, python, finished)
        run_file = _run(plan, target, reporter)
    except Interrupted:
        raise _interrupted(plan) from None
    except (BadInput, EnvironmentFailed, TargetUnavailable, RunFailed) as error:
        reporter.say(f"{plan.sources.framework} {version} was not run: {error}")
        return VersionRun(version, found.date, missing=_reason(error))
    return VersionRun(version, found.date, python, run_file, is_new=True)


def _run(plan: HistoryPlan, target: Target, reporter: Reporter) -> Path:
    """The run file of a version. Its environment is removed again if it was created for this."""
    was_missing = not environments.environment_exists(target)
    try:
        own.create(target, plan.machine, reporter.say)
        own.list_kernels(target, plan.releases, plan.sources.clone, reporter.say)
        # Only now: the kernels are a part of the name.
        folder = _folder(plan, target)
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.glob(_JOURNALS)):
            # An interrupted run is continued, unless the runner's code has changed since.
            with contextlib.suppress(RunFailed):
                return _run_once(plan, target, folder, reporter, resume=True)
        return _run_once(plan, target, folder, reporter, resume=False)
    finally:
        if was_missing and not plan.keep:
            environments.remove_environment(target, reporter.say)


def _run_once(plan: HistoryPlan, target: Target, folder: Path, reporter: Reporter, *, resume: bool) -> Path:
    options = RunnerOptions(1, "cold", plan.timeout_s, functions=plan.functions, resume=resume)
    arguments = {target.framework: RunnerArguments(plan.manifest, folder, options)}
    (result,) = run_targets(
        RunPlan(plan.sources.clone, (target,), "venv", arguments, plan.again, plan.machine), reporter
    )
    if result.error:
        raise result.error
    assert result.run_file is not None
    return result.run_file


def _folder(plan: HistoryPlan, target: Target) -> Path:
    digest = hashlib.sha256(plan.manifest.read_bytes())
    digest.update("\n".join(plan.functions).encode())
    if target.device == "gpu-predicted":
        lists = (plan.sources.clone.runners / target.framework / "kernels", kernel_list(target.framework, "x").parent)
        for path in (folder / f"{target.version}.json" for folder in lists):
            if path.is_file():
                digest.update(path.read_bytes())
                break
    name = f"{environments.environment_folder(target).name}-{target.device}-{digest.hexdigest()[:12]}"
    return own.history_folder() / "runs" / name


def _finished(folder: Path) -> Path | None:
    """The newest run file of a folder: a run that another process began has one of its own."""
    files = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime)
    return files[-1] if files and isinstance(read_json(files[-1]).data, dict) else None


def _interrupted(plan: HistoryPlan) -> Interrupted:
    return Interrupted("interrupted; the versions that ran are kept", f"To continue:  {plan.again}")


def _reason(error: PortbenchError) -> str:
    return shortened(" ".join(str(error).split()), _LONGEST_REASON) or type(error).__name__

"""What 'portbench run' is asked for, what it will do, and what it did.

An option of the runner is one field of ``RunnerOptions``: its flag, its default, and how it is written on a command
line. ``portbench.cli.run`` adds its type and help.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from portbench.errors import PortbenchError
from portbench.targets.catalog import Target
from portbench.util.machine import Machine
from portbench.util.repository import Checkout

SYNCHRONIZATIONS = ("complete", "as-published")
"""What can end a timed region: the values of --sync, and of ``sync`` in run files."""

SCALING = "scaling"
"""The protocol of tests with sizes, and the manifests in this repository that have such tests."""

MOST_SHARDS = 10_000


def _option(flag: str, default: Any, *, always: bool = False) -> Any:
    """A field that is an option. ``always``: a runner gets it even where it is the default.

    The others are left out then, because the runner of an older image may not know them.
    """
    return field(default=default, metadata={"flag": flag, "always": always})


@dataclass(frozen=True)
class RunnerOptions:
    """How a runner runs a manifest. Times are in seconds; ``functions``, ``excluded`` and ``tests`` are globs.

    ``shard`` is K/N: the K-th of N parts of the selected tests.
    """

    runs: int = _option("--runs", 3, always=True)
    protocol: str = _option("--protocol", "both", always=True)
    timeout_s: float = _option("--timeout", 900.0, always=True)
    steady_budget_s: float = _option("--steady-budget", 0.1, always=True)
    functions: tuple[str, ...] = _option("--function", ())
    excluded: tuple[str, ...] = _option("--exclude", ())
    tests: tuple[str, ...] = _option("--test", ())
    shard: str | None = _option("--shard", None)
    sync: str = _option("--sync", "complete")
    cold: str = _option("--cold", "test")
    shuffle: int | None = _option("--shuffle", None)
    memory: str | None = _option("--memory", None)
    sandbox: str = _option("--sandbox", "auto")
    private_names: bool = _option("--private-names", False)
    resume: bool = _option("--resume", False)

    def runner_argv(self) -> list[str]:
        """The options as a runner reads them."""
        return [word for each in fields(self) for word in self._words(each, each.metadata["always"])]

    def user_argv(self) -> list[str]:
        """The options as users write them, without those that are the default."""
        return [word for each in fields(self) for word in self._words(each)]

    def _words(self, option: Field[Any], always: bool = False) -> list[str]:
        value, flag = getattr(self, option.name), option.metadata["flag"]
        if value == option.default and not always:
            return []
        if value is True:
            return [flag]
        values = value if isinstance(value, tuple) else (value,)
        return [word for each in values for word in (flag, str(each))]


@dataclass(frozen=True)
class RunnerArguments:
    """What a runner is asked to do. Paths are the host's, absolute; each of ``mutants`` mutates every function,
    ``own_mutants`` is a user's file of others. ``lanes``: how many tests that are not timed may run at the same time;
    None leaves it to the runner."""

    manifest: Path
    out: Path
    options: RunnerOptions = field(default_factory=RunnerOptions)
    mutants: tuple[str, ...] = ()
    time_budget_s: float | None = None
    own_mutants: Path | None = None
    lanes: int | None = None

    def argv(self, manifest: str, out: str) -> list[str]:
        """As command line arguments, with the two paths as the runner sees them."""
        mutants = [word for mutant in self.mutants for word in ("--mutant", mutant)]
        mutants += ["--own-mutants", str(self.own_mutants)] if self.own_mutants else []
        budget = ["--time-budget", f"{self.time_budget_s:g}"] if self.time_budget_s else []
        lanes = ["--lanes", str(self.lanes)] if self.lanes else []
        options = [*self.options.runner_argv(), *mutants, *budget, *lanes]
        return ["--manifest", manifest, "--out", out, *options, "--progress", "json"]


@dataclass(frozen=True)
class RunOptions:
    """What the user asked for, in the words of the command line."""

    targets: tuple[str, ...]
    manifest: str = "study"
    backend: str = "auto"
    out: str = "results"
    runner: RunnerOptions = field(default_factory=RunnerOptions)
    failed: str | None = None
    """A run file, of which only the tests that failed are to run."""
    copy_to: str | None = None
    """The URL of a folder in an object store."""
    check: bool = False
    json: bool = False

    def command_to_resume(self) -> str:
        """The command line that resumes the run with these options, ready for a shell."""
        argv = ["portbench", "run", *self.targets, *self._where()]
        argv += ["--failed", self.failed] if self.failed else []
        argv += replace(self.runner, resume=True).user_argv()
        argv += [flag for flag, given in (("--check", self.check), ("--json", self.json)) if given]
        return shlex.join(argv)

    def command_for_failed(self, target: str, run_file: str) -> str:
        """The command line that runs the failed tests of a run file again, ready for a shell."""
        # The run file names its manifest, so it is needed only where that is not in the clone.
        manifest = self.manifest if "/" in self.manifest or self.manifest.endswith(".json") else RunOptions.manifest
        return shlex.join(
            ["portbench", "run", target, "--failed", run_file, *replace(self, manifest=manifest)._where()]
        )

    def _where(self) -> list[str]:
        """The manifest, the backend and the folder, without those that are the default."""
        default = RunOptions(())
        options = (
            ("--manifest", self.manifest, default.manifest),
            ("--backend", self.backend, default.backend),
            ("--out", self.out, default.out),
            ("--copy-to", self.copy_to, default.copy_to),
        )
        return [word for flag, value, usual in options if value and value != usual for word in (flag, value)]


@dataclass(frozen=True)
class RunPlan:
    """What will run: every word of the options looked up."""

    checkout: Checkout
    targets: tuple[Target, ...]
    backend: str
    arguments: Mapping[str, RunnerArguments]
    """By the framework of the target."""
    command_to_resume: str
    machine: Machine = field(default_factory=Machine)
    copy_to: str | None = None


@dataclass(frozen=True)
class TargetResult:
    """The result of one target. Where ``run_file`` is None, ``error`` says why there is none.

    ``copy`` is the URL of the run file's copy.

    ``target`` has the version that ran. With the backend current it may be another one than in ``planned``, the target
    of the plan.
    """

    target: str
    planned: str
    backend: str | None
    exit_status: int
    run_file: Path | None
    outcomes: Mapping[str, int]
    seconds: float
    error: PortbenchError | None
    disturbed: int = 0
    copy: str | None = None

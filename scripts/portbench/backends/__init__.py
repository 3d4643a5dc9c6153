"""Backends run a target's runner: in a container, in a locked virtual environment, or in the user's own Python.

A backend satisfies the Protocol ``Backend``. It knows how to start the runner and does not read its output. The
runner's arguments and events are the same for all backends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from portbench.errors import TargetUnavailable
from portbench.targets.catalog import Target


class Arguments(Protocol):
    """A task for a runner."""

    @property
    def manifest(self) -> Path | None:
        """The manifest, which the runner must be able to read; None if it needs none."""

    @property
    def out(self) -> Path:
        """The folder for the runner's output."""

    def argv(self, manifest: str, out: str) -> list[str]:
        """The command line arguments, with both paths as the runner sees them."""


@dataclass(frozen=True)
class EnumerateArguments:
    """The task to list the framework's functions. ``out`` is an absolute path of the host."""

    out: Path
    as_study: bool
    methods: bool
    manifest: None = None

    def argv(self, manifest: str, out: str) -> list[str]:
        """The command line arguments; ``manifest`` is not used."""
        flags = [flag for flag, given in (("--as-study", self.as_study), ("--methods", self.methods)) if given]
        return ["--enumerate", "--out", out, *flags, "--progress", "json"]


@dataclass(frozen=True)
class RunnerArguments:
    """The task to run a manifest. The paths are absolute paths of the host."""

    manifest: Path
    out: Path
    functions: tuple[str, ...]
    runs: int
    protocol: str
    timeout_s: float
    steady_budget_s: float
    resume: bool
    sync: str = "complete"
    shuffle: int | None = None
    mutant: str | None = None
    memory: str | None = None
    tests: tuple[str, ...] = ()

    def argv(self, manifest: str, out: str) -> list[str]:
        """The command line arguments, with both paths as the runner sees them."""
        argv = ["--manifest", manifest, "--out", out, "--runs", str(self.runs), "--protocol", self.protocol]
        argv += ["--timeout", str(self.timeout_s), "--steady-budget", str(self.steady_budget_s)]
        for pattern in self.functions:
            argv += ["--function", pattern]
        for pattern in self.tests:
            argv += ["--test", pattern]
        if self.sync != "complete":
            # Omitted for the default, because runners in older images do not know the option.
            argv += ["--sync", self.sync]
        if self.shuffle is not None:
            argv += ["--shuffle", str(self.shuffle)]
        if self.mutant is not None:
            argv += ["--mutant", self.mutant]
        if self.memory is not None:
            argv += ["--memory", self.memory]
        return [*argv, *(["--resume"] if self.resume else []), "--progress", "json"]


@dataclass(frozen=True)
class Command:
    """The commands that start a runner and, where it is not a child process, stop it."""

    argv: list[str]
    cwd: Path
    env: Mapping[str, str]
    interrupt: list[str] | None = None
    """Asks the runner to stop. None: send SIGINT to the process of ``argv``."""
    remove: list[str] | None = None
    """Kills and removes what remains when that process is killed, such as a container."""


class Backend(Protocol):
    """A way to run a target."""

    @property
    def name(self) -> str:
        """The value of --backend."""

    def blocker(self, target: Target) -> TargetUnavailable | None:
        """Why this backend cannot run the target here, with the remedy, or None. Fast, changes nothing."""

    def prepare(self, target: Target, say: Callable[[str], None]) -> None:
        """Creates what the target needs; ``say`` gets a line for each slow step. Raises a PortbenchError."""

    def command(self, target: Target, arguments: Arguments) -> Command:
        """The command for the runner of a prepared target."""

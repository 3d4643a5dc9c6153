"""Where a target's runner runs: in a container, in a pinned virtual environment, or in the user's own Python.

A backend is anything that satisfies the Protocol below. It knows how to start the runner and nothing of what the runner
says; the arguments and the events are the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from portbench.errors import TargetUnavailable
from portbench.targets.catalog import Target


class Arguments(Protocol):
    """What a runner is asked to do."""

    @property
    def manifest(self) -> Path | None:
        """A file that it must be able to read; None where it needs none."""

    @property
    def out(self) -> Path:
        """The folder that it writes to."""

    def argv(self, manifest: str, out: str) -> list[str]:
        """As command line arguments, with the two paths as the runner sees them."""


@dataclass(frozen=True)
class EnumerateArguments:
    """Asks for a list of the framework's functions. ``out`` is the host's path, absolute."""

    out: Path
    as_study: bool
    methods: bool
    manifest: None = None

    def argv(self, manifest: str, out: str) -> list[str]:
        """As command line arguments; there is no manifest."""
        flags = [flag for flag, given in (("--as-study", self.as_study), ("--methods", self.methods)) if given]
        return ["--enumerate", "--out", out, *flags, "--progress", "json"]


@dataclass(frozen=True)
class RunnerArguments:
    """What the runner is asked to do. Paths are the host's, absolute."""

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
        """As command line arguments, with the two paths as the runner sees them."""
        words = ["--manifest", manifest, "--out", out, "--runs", str(self.runs), "--protocol", self.protocol]
        words += ["--timeout", str(self.timeout_s), "--steady-budget", str(self.steady_budget_s)]
        for pattern in self.functions:
            words += ["--function", pattern]
        for pattern in self.tests:
            words += ["--test", pattern]
        if self.sync != "complete":
            # Not said where it is the usual one: runners of older images do not know the option.
            words += ["--sync", self.sync]
        if self.shuffle is not None:
            words += ["--shuffle", str(self.shuffle)]
        if self.mutant is not None:
            words += ["--mutant", self.mutant]
        if self.memory is not None:
            words += ["--memory", self.memory]
        return [*words, *(["--resume"] if self.resume else []), "--progress", "json"]


@dataclass(frozen=True)
class Command:
    """How to start a runner, and how to stop it where its process is not a child of ours."""

    argv: list[str]
    cwd: Path
    env: Mapping[str, str]
    interrupt: list[str] | None = None
    """Asks the runner to stop; None: by SIGINT to the process that ``argv`` starts."""
    remove: list[str] | None = None
    """Ends and removes what the death of that process would leave behind."""


class Backend(Protocol):
    """One way to run a target."""

    @property
    def name(self) -> str:
        """The word behind --backend."""

    def blocker(self, target: Target) -> TargetUnavailable | None:
        """Why this backend cannot run the target here, with the remedy, or None. Quick, changes nothing."""

    def prepare(self, target: Target, say: Callable[[str], None]) -> None:
        """Makes what the target needs; ``say`` gets a line on what takes time. Raises a PortbenchError."""

    def command(self, target: Target, arguments: Arguments) -> Command:
        """How to start the runner of a prepared target."""

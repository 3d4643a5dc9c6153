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

    @property
    def own_mutants(self) -> Path | None:
        """A file of mutants, which the runner reads at the same path."""

    def argv(self, manifest: str, out: str) -> list[str]:
        """The command line arguments, with both paths as the runner sees them."""


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

    def is_missing(self, target: Target) -> bool:
        """Whether ``prepare`` will create an environment, which takes minutes and goes well beside others."""

    def prepare(self, target: Target, say: Callable[[str], None]) -> None:
        """Creates what the target needs; ``say`` gets a line for each slow step. Raises a PortbenchError."""

    def command(self, target: Target, arguments: Arguments) -> Command:
        """The command for the runner of a prepared target."""

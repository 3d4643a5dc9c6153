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

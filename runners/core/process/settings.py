"""What one invocation of the runner is asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """Times are in seconds. ``version`` None accepts any version; ``memory_bytes`` None sets no limit. ``sandbox`` is
    one of the modes of runners.core.process.sandbox. ``private_names``: whether a manifest may use any name of the
    framework. ``cold``: ``process`` gives each test a process of its own, ``test`` does not. ``lanes``: the most for
    tests that are not timed; None leaves it to the machine.
    ``mutants``: how functions are mutated, one way after the other, ``time_budget_s`` the limit for all of it, and
    ``own_mutants`` a Python file of mutants in their place."""

    framework: str
    device: str
    version: str | None
    out: Path
    machine: str
    protocol: str = "both"
    runs: int = 3
    timeout_s: float = 900.0
    steady_budget_s: float = 0.1
    selection: tuple[str, ...] = ()
    resume: bool = False
    shuffle: int | None = None
    mutants: tuple[str, ...] = ()
    own_mutants: Path | None = None
    time_budget_s: float | None = None
    sync: str = "complete"
    cold: str = "test"
    memory_bytes: int | None = None
    lanes: int | None = None
    sandbox: str = "auto"
    private_names: bool = False

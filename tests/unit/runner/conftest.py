"""Fixtures that start runners: see runner_cli.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Iterator

import pytest

from tests.unit.runner.runner_cli import Run, write_manifest


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    """Starts a runner on a manifest (a path, or a list of function entries) of the fake framework."""
    runs = []

    def starting(
        functions: Any,
        *options: str,
        limit: Callable[[], None] | None = None,
        module: str = "runners",
        **top: Any,
    ) -> Run:
        path = functions if isinstance(functions, Path) else write_manifest(tmp_path, functions, **top)
        arguments = ["--framework", "fake", "--device", "cpu", "--manifest", str(path), "--progress", "json"]
        arguments += list(options)
        if "--out" not in options:
            arguments += ["--out", str(tmp_path / "out")]
        if "--protocol" not in options:
            arguments += ["--protocol", "cold"]
        if "--sandbox" not in options:
            # Their manifests are from elsewhere, and faults need what a sandbox refuses.
            arguments += ["--sandbox", "off"]
        runs.append(Run(arguments, limit, module))
        return runs[-1]

    yield starting
    for run in runs:
        run.process.kill()
        run.process.communicate()


@pytest.fixture
def run(start: Callable[..., Run]) -> Callable[..., Run]:
    """Runs a manifest to its end."""

    def running(functions: Any, *options: str, **top: Any) -> Run:
        return start(functions, *options, **top).wait()

    return running

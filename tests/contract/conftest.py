"""Runs real frameworks through ``portbench run`` in their pinned environments; each run is made once a session."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from portbench.targets.catalog import find_targets
from portbench.targets.environments import create_environment
from portbench.util.repository import find_checkout
from tests.contract.contracts import ROOT


@pytest.fixture(scope="session")
def environment_python() -> Callable[[str], Path]:
    """The Python of a target's environment, which is made if it is not there."""

    def python(name: str) -> Path:
        (target,) = find_targets([name], find_checkout())
        return create_environment(target, print)

    return python


@pytest.fixture(scope="session")
def run_manifest(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[str, Any]]:
    """Runs a manifest and returns the run file. Options as those of ``portbench run``: runs=2, protocol="cold"; and
    device, cpu unless given."""
    made: dict[Any, dict[str, Any]] = {}

    def run(framework: str, version: str, manifest: Path | str, **options: Any) -> dict[str, Any]:
        key = (framework, version, str(manifest), tuple(sorted(options.items())))
        device = options.pop("device", "cpu")
        if key not in made:
            out = tmp_path_factory.mktemp("results")
            target = f"{framework}-{version}-{device}"
            arguments = ["--backend", "venv", "--manifest", str(manifest), "--out", str(out), "--json"]
            for name, value in options.items():
                arguments += [f"--{name.replace('_', '-')}", str(value)]
            command = [sys.executable, "-m", "portbench", "run", target, *arguments]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr[-3000:]
            (told,) = json.loads(done.stdout)["targets"]
            made[key] = json.loads(Path(told["run_file"]).read_text("utf-8"))
        return made[key]

    return run

"""Runs real frameworks through ``portbench run`` in their pinned environments; each run is made once a session.

A session of pytest-xdist has several processes: they share a folder of run files, and whoever needs one first makes
it. Tests that share a long run are in one group (``pytest.mark.xdist_group``), so that no process waits for another.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from portbench.targets.catalog import find_targets
from portbench.targets.environments import create_environment
from portbench.util.repository import find_checkout
from runners.core.prediction.compiling import Compiler
from tests.contract.contracts import ROOT


@pytest.fixture(scope="session")
def environment_python() -> Callable[[str], Path]:
    """The Python of a target's environment, which is made if it is not there."""

    def python(name: str) -> Path:
        (target,) = find_targets([name], find_checkout())
        return create_environment(target, print)

    return python


@pytest.fixture
def compilers() -> Iterator[Callable[[str], Compiler]]:
    """Starts the compiler for a device; each is closed after the test."""
    made: list[Compiler] = []

    def make(device: str) -> Compiler:
        made.append(Compiler(device))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder of this session, the same for all of its processes."""
    own = tmp_path_factory.getbasetemp()
    folder = (own if worker_id == "master" else own.parent) / "runs"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def run_manifest(shared_folder: Path) -> Callable[..., dict[str, Any]]:
    """Runs a manifest and returns the run file. Options as those of ``portbench run``: runs=2, protocol="cold",
    function=["torch.a", "torch.b"]; and device, cpu unless given, and env, environment variables by name. The same
    options give the same run."""
    made: dict[str, dict[str, Any]] = {}

    def run(framework: str, version: str, manifest: Path | str, **options: Any) -> dict[str, Any]:
        target = f"{framework}-{version}-{options.pop('device', 'cpu')}"
        env = options.pop("env", {})
        content = manifest.read_text("utf-8") if isinstance(manifest, Path) else manifest
        key = hashlib.sha256(
            repr((target, content, sorted(options.items()), sorted(env.items()))).encode()
        ).hexdigest()[:16]
        if key not in made:
            with _locked(shared_folder / f"{key}.lock"):
                if not (shared_folder / key).exists():
                    _run(target, manifest, options, env, shared_folder / key)
            failure = shared_folder / key / "failure"
            assert not failure.exists(), failure.read_text("utf-8")
            (path,) = (shared_folder / key).glob("*.json")
            made[key] = json.loads(path.read_text("utf-8"))
        return made[key]

    return run


@pytest.fixture(scope="session")
def check_device(environment_python: Callable[[str], Path]) -> Callable[..., None]:
    """Runs the checks of a module in a target's environment, all of a target at once, and asserts that one passed."""
    failures: dict[tuple[str, str], dict[str, str]] = {}

    def check(module: str, target: str, arguments: list[str], name: str) -> None:
        if (module, target) not in failures:
            command = [str(environment_python(target)), "-m", f"tests.contract.{module}", *arguments]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr[-3000:]
            failures[module, target] = json.loads(done.stdout.splitlines()[-1])
        assert failures[module, target][name] == ""

    return check


def _run(target: str, manifest: Path | str, options: dict[str, Any], env: dict[str, str], out: Path) -> None:
    """Leaves the run file in ``out``, or a file ``failure`` with the end of what was said."""
    command = [sys.executable, "-m", "portbench", "run", target, "--backend", "venv", "--manifest", str(manifest)]
    for name, value in options.items():
        for each in value if isinstance(value, list) else [value]:
            command += [f"--{name.replace('_', '-')}", str(each)]
    command += ["--out", str(out)]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **env}, capture_output=True, text=True)
    if done.returncode:
        out.mkdir(exist_ok=True)
        (out / "failure").write_text(f"exit status {done.returncode}: {done.stderr[-3000:]}", "utf-8")


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield

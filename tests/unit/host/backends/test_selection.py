"""The arguments that every backend passes on to the runner."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from portbench.backends import Backend
from portbench.backends.current import Current
from portbench.backends.docker import Docker
from portbench.backends.venv import Venv
from portbench.run.model import RunnerArguments, RunnerOptions
from portbench.targets.catalog import find_targets
from portbench.util.repository import find_checkout
from tests.unit.host.described_machine import Described

CHECKOUT = find_checkout()


@pytest.mark.parametrize(
    "backend", [Docker(CHECKOUT, Described().with_docker()), Venv(CHECKOUT), Current(CHECKOUT)], ids=lambda it: it.name
)
def test_synchronization_and_memory_are_passed_on(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PORTBENCH_PYTHON", sys.executable)
    (target,) = find_targets(["jax-cpu"], CHECKOUT)
    manifest = CHECKOUT.manifests / "study" / "jax.json"
    arguments = RunnerArguments(manifest, tmp_path, RunnerOptions(sync="as-published", memory="2G"))
    argv = backend.command(target, arguments).argv
    assert argv[argv.index("--sync") + 1] == "as-published"
    assert argv[argv.index("--memory") + 1] == "2G"


@pytest.mark.parametrize("backend", [Venv(CHECKOUT), Current(CHECKOUT)], ids=lambda it: it.name)
def test_the_runner_learns_the_backend(backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORTBENCH_PYTHON", sys.executable)
    monkeypatch.setenv("PORTBENCH_BACKEND", "docker")
    (target,) = find_targets(["jax-cpu"], CHECKOUT)
    arguments = RunnerArguments(CHECKOUT.manifests / "study" / "jax.json", tmp_path)
    assert backend.command(target, arguments).env["PORTBENCH_BACKEND"] == backend.name


def test_a_container_learns_the_backend_also_from_docker_compose_alone() -> None:
    assert re.search(r"^    PORTBENCH_BACKEND: docker\b", (CHECKOUT.root / "compose.yaml").read_text(), re.MULTILINE)

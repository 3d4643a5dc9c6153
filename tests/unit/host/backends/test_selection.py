"""The arguments that every backend passes on to the runner."""

from __future__ import annotations

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

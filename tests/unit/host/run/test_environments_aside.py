"""Environments that are created beside each other and beside predicted targets, with a stand-in for uv."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from portbench.cli import cli
from portbench.targets import environments, pythons
from portbench.targets.catalog import find_targets, needed_environments
from portbench.util.parallel import cores
from portbench.util.repository import Checkout
from tests.unit.host.clones import make_clone

# uv venv makes an environment of this Python; uv pip sync, whose last word is the lock, runs the test's commands.
UV = """#!/bin/sh
for last; do :; done
if [ "$1" = venv ]; then
  mkdir -p "$last/bin"
  printf '#!/bin/sh\\nexec {python} "$@"\\n' > "$last/bin/python"
  chmod +x "$last/bin/python"
  exit
fi
case "$last" in
  */torch/*) {torch};;
  *) {fake};;
esac
"""


class Scene:
    """A clone with the frameworks fake and torch, none of whose environments exists."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clone = make_clone(folder)
        self.clone.add_version("torch", "1.12.0")
        self.clone.add_predicted_tpus()
        self.pipe = folder / "pipe"
        os.mkfifo(self.pipe)
        self._uv = folder / "uv"
        monkeypatch.setattr(environments, "find_uv_bin", lambda: str(self._uv))
        monkeypatch.setattr(pythons, "obtain_python", lambda version: Path("/python", version))
        for name, value in self.clone.environment("passes").items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(self.clone.root)

    def installs(self, fake: str = "exit 0", torch: str = "exit 0") -> None:
        self._uv.write_text(UV.format(python=sys.executable, fake=fake, torch=torch))
        self._uv.chmod(0o755)

    def create(self, target: str) -> None:
        """The environments of a target, before the run."""
        checkout = Checkout(self.clone.root)
        for each in needed_environments(*find_targets([target], checkout), checkout):
            environments.create_environment(each, print)

    def run(self, *arguments: str) -> Result:
        return CliRunner().invoke(cli, ["run", *arguments, "--backend", "venv"])


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    made = Scene(tmp_path, monkeypatch)
    made.installs()
    return made


def test_missing_environments_are_created_at_the_same_time(scene: Scene) -> None:
    """Each installation needs the other one to be running."""
    scene.installs(fake=f"timeout 60 cat {scene.pipe}", torch=f"timeout 60 sh -c 'echo > {scene.pipe}'")
    done = scene.run("fake-cpu", "torch-cpu", "--json")
    assert done.exit_code == 0, done.output
    assert [target["error"] for target in json.loads(done.stdout)["targets"]] == [None, None]
    for target in ("fake-1.0.0-cpu", "torch-1.12.0-cpu"):
        assert f"creating the environment of {target}" in done.stderr
        assert f"{target}: environment created" in done.stderr


def test_one_that_fails_is_an_error_and_the_other_target_runs(scene: Scene) -> None:
    scene.installs(torch="echo 'hash mismatch for torch' >&2; exit 1")
    done = scene.run("torch-cpu", "fake-cpu", "--json")
    assert done.exit_code == 6
    assert "hash mismatch for torch" in done.stderr
    torch, fake = json.loads(done.stdout)["targets"]
    assert (torch["run_file"], torch["exit_status"]) == (None, 6)
    assert fake["outcomes"] == {"passed": 1, "failed": 1}


@pytest.mark.skipif(cores() < 2, reason="predicted targets run beside others from two cores on")
def test_predicted_targets_run_meanwhile_and_timed_ones_afterwards(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.create("fake-cpu")
    scene.create("fake-tpu-v5e")
    monkeypatch.setenv("STAND_IN", "tells_when_it_runs")
    monkeypatch.setenv("STAND_IN_TELL", str(scene.pipe))
    # Goes on when the predicted target has ended.
    events = tmp_path / "events"
    reads = f'while read -r line; do echo "$line" >> {events}; [ "$line" = "tpu-v5e ends" ] && exit 0; done'
    scene.installs(torch=f"timeout 60 sh -c '{reads}' < {scene.pipe}")
    held = os.open(scene.pipe, os.O_RDWR)
    done = scene.run("fake-cpu", "torch-cpu", "fake-tpu-v5e", "--json")
    afterwards = os.read(held, 4096).decode().splitlines()
    os.close(held)
    assert done.exit_code == 0, done.output
    assert events.read_text().splitlines() == ["tpu-v5e begins", "tpu-v5e ends"]
    assert afterwards == ["cpu begins", "cpu ends"] * 2


def test_ctrl_c_ends_all_of_them(scene: Scene, tmp_path: Path) -> None:
    held = tmp_path / "held"
    os.mkfifo(held)
    reader: list[str] = []
    thread = threading.Thread(target=lambda: reader.append(held.read_text()))
    thread.start()
    # Both keep the pipe open while they or their children live; the second one interrupts the caller.
    scene.installs(
        fake=f"exec 3> {held}; echo > {scene.pipe}; sleep 1000 & wait",
        torch=f"exec 3> {held}; cat {scene.pipe}; sleep 1000 & kill -INT $PPID; wait",
    )
    done = scene.run("fake-cpu", "torch-cpu")
    thread.join(timeout=60)
    assert reader == [""]
    assert done.exit_code == 130
    assert done.output.count("To continue:") == 1
    assert "portbench run fake-cpu torch-cpu --backend venv --resume" in done.output
    assert "environment created" not in done.output
    for target in find_targets(["fake-cpu", "torch-cpu"], Checkout(scene.clone.root)):
        assert not environments.environment_exists(target)

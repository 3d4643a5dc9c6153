"""Environments created from locks, with a stand-in for uv that records its calls."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner

from portbench.backends.venv import Venv
from portbench.cli import cli
from portbench.errors import EnvironmentFailed, StorageFailed, TargetUnavailable
from portbench.run.model import RunnerArguments
from portbench.targets import environments, pythons
from portbench.targets.catalog import Target, find_targets
from portbench.util.repository import Checkout
from tests.unit.host.clones import Clone, make_clone

# uv venv creates the folder, uv pip sync runs the test's commands.
UV = """#!/bin/sh
echo "$@" >> {calls}
if [ "$1" = venv ]; then for last; do :; done; mkdir -p "$last/bin"; echo python > "$last/bin/python"; exit; fi
{install}
"""


class Machine:
    """A clone, a cache and a uv."""

    def __init__(self, clone: Clone, folder: Path) -> None:
        self.clone = clone
        self.uv = folder / "uv"
        self.calls = folder / "calls"
        self.said: list[str] = []
        self.install("exit 0")

    def install(self, script: str) -> None:
        """Sets the commands of uv pip sync."""
        self.uv.write_text(UV.format(calls=self.calls, install=script))
        self.uv.chmod(0o755)

    @property
    def target(self) -> Target:
        (target,) = find_targets(["fake-cpu"], Checkout(self.clone.root))
        return target

    def make(self) -> Path:
        return environments.create_environment(self.target, self.said.append)

    def called(self, word: str) -> int:
        """The number of calls of that command of uv."""
        return sum(line.startswith(word) for line in self.calls.read_text().splitlines()) if self.calls.exists() else 0


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(make_clone(tmp_path), tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(environments, "find_uv_bin", lambda: str(made.uv))
    monkeypatch.setattr(pythons, "obtain_python", lambda version: Path("/python", version))
    return made


def test_it_is_created_once_from_the_lock_with_hashes_required(machine: Machine, tmp_path: Path) -> None:
    assert not environments.environment_exists(machine.target)
    python = machine.make()
    assert python.is_file()
    assert python.is_relative_to(tmp_path / "cache" / "portbench" / "environments")
    assert machine.make() == python
    venv, sync = machine.calls.read_text().splitlines()
    assert "--python /python/3.11" in venv
    assert sync.startswith("pip sync")
    assert "--require-hashes" in sync
    assert sync.endswith(str(machine.target.lock))
    assert environments.environment_exists(machine.target)
    assert any("creating the environment of fake-1.0.0-cpu" in line for line in machine.said)


def test_another_lock_or_another_python_is_another_environment(machine: Machine) -> None:
    first = machine.make()
    assert machine.target.lock is not None
    machine.target.lock.write_text("# something else\n")
    second = machine.make()
    (machine.clone.root / "images" / "fake" / "1.0.0" / "python-version").write_text("3.12\n")
    third = machine.make()
    assert len({first, second, third}) == 3
    assert first.is_file()


def test_targets_with_the_same_lock_share_one(machine: Machine) -> None:
    (machine.clone.root / "images" / "fake" / "1.0.0" / "xla.Dockerfile").touch()
    cpu, xla = find_targets(["fake-cpu", "fake-xla"], Checkout(machine.clone.root))
    assert environments.create_environment(cpu, print) == environments.create_environment(xla, print)
    assert machine.called("pip sync") == 1
    (machine.clone.root / "images" / "fake" / "1.0.0" / "xla.lock").touch()
    (xla,) = find_targets(["fake-xla"], Checkout(machine.clone.root))
    assert not environments.environment_exists(xla)


def test_an_incomplete_one_is_created_again(machine: Machine) -> None:
    machine.install("exit 1")
    with pytest.raises(EnvironmentFailed):
        machine.make()
    folder = environments.environment_folder(machine.target)
    (folder / "left-behind").touch()
    assert not environments.environment_exists(machine.target)
    machine.install("exit 0")
    machine.make()
    assert not (folder / "left-behind").exists()
    assert environments.environment_exists(machine.target)


def test_a_failed_install_is_reported_with_the_end_of_uvs_output(machine: Machine) -> None:
    machine.install("for i in $(seq 100); do echo line $i; done >&2; echo 'hash mismatch for attrs' >&2; exit 1")
    with pytest.raises(EnvironmentFailed) as caught:
        machine.make()
    assert "environment of fake-1.0.0-cpu could not be created" in str(caught.value)
    assert "hash mismatch for attrs" in str(caught.value)
    assert "line 10\n" not in str(caught.value)
    assert caught.value.exit_status == 6


def test_at_a_terminal_the_installers_own_progress_is_shown(machine: Machine) -> None:
    """uv draws it only where its stderr is a terminal."""
    machine.install("[ -t 2 ] && echo 'Downloading torch (190.6MiB)' >&2; exit 1")
    program = (
        "import sys; from pathlib import Path; from portbench.targets import environments as e\n"
        "from portbench.targets.catalog import find_targets; from portbench.util.repository import Checkout\n"
        "e.find_uv_bin = lambda: sys.argv[1]\n"
        "(target,) = find_targets(['fake-cpu'], Checkout(Path(sys.argv[2])))\n"
        "try: e.create_environment(target, print)\n"
        "except Exception as error: print(error)\n"
    )
    own, its = pty.openpty()
    command = [sys.executable, "-c", program, str(machine.uv), str(machine.clone.root)]
    done = subprocess.run(command, stderr=its, stdout=subprocess.PIPE, text=True, timeout=60)
    os.close(its)
    assert os.read(own, 4096).decode().strip() == "Downloading torch (190.6MiB)"
    os.close(own)
    assert "'uv pip' ended with status 1\nits output is above" in done.stdout


def test_a_full_disk_is_reported(machine: Machine) -> None:
    machine.install("echo 'error: failed to write: No space left on device (os error 28)' >&2; exit 2")
    with pytest.raises(StorageFailed) as caught:
        machine.make()
    assert "the disk is full" in str(caught.value)
    assert "GB are free" in caught.value.remedy
    assert caught.value.exit_status == 5


def test_a_cache_that_cannot_be_written_is_reported(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where a folder should be")
    with pytest.raises(StorageFailed) as caught:
        machine.make()
    assert "XDG_CACHE_HOME" in caught.value.remedy


def test_a_target_without_a_lock_has_no_environment(machine: Machine) -> None:
    lock = machine.target.lock
    assert lock is not None
    (lock.parent / "cpu.Dockerfile").touch()
    lock.unlink()
    with pytest.raises(TargetUnavailable):
        machine.make()


def test_two_processes_create_it_once(machine: Machine, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    machine.install(f"cat {gate} > /dev/null")
    waiting = threading.Event()

    def say(line: str) -> None:
        if "is being created already" in line:
            waiting.set()

    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(environments.create_environment, machine.target, say) for _ in range(2)]
        assert waiting.wait(timeout=60)
        with gate.open("w"):
            pass
        first, second = (each.result(timeout=60) for each in both)
    assert first == second
    assert machine.called("venv") == 1


def test_ctrl_c_meanwhile_leaves_no_process_and_shows_how_to_continue(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = tmp_path / "held"
    os.mkfifo(held)
    # Keeps the pipe open while it or its child lives, and interrupts its caller.
    machine.install(f"exec 3> {held}; sleep 1000 & kill -INT $PPID; wait")
    monkeypatch.chdir(machine.clone.root)
    reader: list[str] = []
    thread = threading.Thread(target=lambda: reader.append(held.read_text()))
    thread.start()
    result = CliRunner().invoke(cli, ["run", "fake-cpu", "--backend", "venv"])
    thread.join(timeout=60)
    assert reader == [""]
    assert result.exit_code == 130
    assert "portbench run fake-cpu --backend venv --resume" in result.output
    assert not environments.environment_exists(machine.target)


def test_the_runner_gets_an_environment_without_the_users_other_pythons(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PYTHONPATH", "PYTHONHOME", "PYTHONSAFEPATH", "VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.setenv(name, "/elsewhere")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    checkout = Checkout(machine.clone.root)
    arguments = RunnerArguments(Path("/m.json"), Path("/out"))
    command = Venv(checkout).command(machine.target, arguments)
    python = environments.python_of(machine.target)
    assert command.argv[:3] == [str(python), "-m", "runners"]
    assert command.argv[command.argv.index("--version") + 1] == "1.0.0"
    assert command.cwd == checkout.root
    assert not [name for name, value in command.env.items() if value == "/elsewhere"]
    assert command.env["OMP_NUM_THREADS"] == "2"
    assert (command.env["PYTHONNOUSERSITE"], command.env["PYTHONUNBUFFERED"]) == ("1", "1")
    assert command.env["PATH"].startswith(str(python.parent))

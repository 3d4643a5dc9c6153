"""The choice of Python for an environment, with stand-ins for Pythons and uv in an otherwise empty home."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from portbench.errors import TargetUnavailable
from portbench.targets import pythons


class Machine:
    """A machine with the Pythons of a test; uv knows those in ``managed``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = [folder / "first", folder / "second"]
        self.uv = folder / "uv"
        self.managed: list[Path] = []
        self.uv_does()

    def python(self, path: Path, answer: str = "3.9", status: int = 0, mode: int = 0o755) -> Path:
        """A program that always prints ``answer``."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\necho '{answer}'\nexit {status}\n")
        path.chmod(mode)
        return path

    def uv_does(self, install: str = "echo 'error: network is unreachable' >&2; exit 2") -> None:
        """uv lists ``managed`` as it is when called; ``install`` has its commands to install a Python."""
        listed = self.folder / "managed.json"
        self.uv.write_text(f'#!/bin/sh\nif [ "$2" = list ]; then cat {listed}; else {install}; fi\n')
        self.uv.chmod(0o755)
        listed.write_text(json.dumps([{"path": str(path)} for path in self.managed]))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PYENV_ROOT", raising=False)
    monkeypatch.setenv("PATH", os.pathsep.join([*map(str, made.path), "/usr/bin", "/bin"]))
    monkeypatch.setattr(pythons, "find_uv_bin", lambda: str(made.uv))
    return made


def test_the_newest_of_pyenvs_versions_is_taken(machine: Machine) -> None:
    versions = machine.folder / "home" / ".pyenv" / "versions"
    for patch in ("3.9.2", "3.9.18", "3.9-dev"):
        machine.python(versions / patch / "bin" / "python")
    machine.python(versions / "3.90.1" / "bin" / "python", answer="3.90")
    assert pythons.find_python("3.9") == versions / "3.9.18" / "bin" / "python"


def test_pyenvs_folder_can_be_set(machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "elsewhere"))
    python = machine.python(tmp_path / "elsewhere" / "versions" / "3.9.1" / "bin" / "python")
    assert pythons.find_python("3.9") == python


def test_uvs_own_python_comes_before_the_others(machine: Machine) -> None:
    machine.python(machine.path[0] / "python3.9")
    own = machine.python(machine.folder / "uv-pythons" / "python3.9")
    machine.managed = [own]
    machine.uv_does()
    assert pythons.find_python("3.9") == own


@pytest.mark.parametrize(
    ("answer", "status", "mode"),
    [
        ("", 127, 0o755),  # a shim of pyenv whose version is not installed
        ("3.8", 0, 0o755),  # not what its name says
        ("other", 0, 0o755),  # not CPython, or the free-threaded build
        ("3.9", 0, 0o644),  # cannot be started
    ],
)
def test_a_python_that_reports_another_version_is_skipped(
    machine: Machine, answer: str, status: int, mode: int
) -> None:
    machine.python(machine.path[0] / "python3.9", answer, status, mode)
    assert pythons.find_python("3.9") is None
    good = machine.python(machine.path[1] / "python3.9")
    assert pythons.find_python("3.9") == good


def test_uv_downloads_one_where_there_is_none(machine: Machine) -> None:
    fetched = machine.folder / "fetched" / "python3.9"
    script = machine.python(machine.folder / "prepared")
    fetched.parent.mkdir()
    listed = machine.folder / "managed.json"
    machine.uv_does(install=f'cp {script} {fetched}; echo \'[{{"path": "{fetched}"}}]\' > {listed}')
    assert pythons.find_python("3.9") is None
    assert pythons.obtain_python("3.9") == fetched


def test_a_failed_download_is_one_error_that_says_what_to_install(machine: Machine) -> None:
    with pytest.raises(TargetUnavailable) as caught:
        pythons.obtain_python("3.9")
    assert "Python 3.9 is not on this machine" in str(caught.value)
    assert "network is unreachable" in str(caught.value)
    for way in ("apt-get install python3.9", "pyenv install 3.9", "uv python install 3.9"):
        assert way in caught.value.remedy


def test_the_python_that_runs_portbench_is_a_candidate() -> None:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    found = pythons.find_python(version)
    assert found is not None
    assert found.resolve() == Path(getattr(sys, "_base_executable", sys.executable)).resolve()

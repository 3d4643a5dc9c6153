"""Finds the Python for an environment: uv's own, pyenv's, or one on PATH. Otherwise uv downloads it.

Each candidate is started and must report the wanted version. pyenv's shims, for example, are on PATH for every version
and fail for most versions.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from uv import find_uv_bin

from portbench.errors import TargetUnavailable
from portbench.util import processes

# The frameworks publish wheels for the standard CPython only: not for PyPy or the free-threaded build.
_PRINT_VERSION = (
    "import sys; print('.'.join(map(str, sys.version_info[:2]))"
    " if sys.implementation.name == 'cpython' and 't' not in getattr(sys, 'abiflags', '') else 'other')"
)
_TIMEOUT_S = 30


def find_python(version: str) -> Path | None:
    """A CPython of this minor version ("3.10") on this machine, or None. Does not download one."""
    return next((path for path in _candidates(version) if _is_cpython(path, version)), None)


def obtain_python(version: str) -> Path:
    """A CPython of this minor version. uv downloads one if the machine has none.

    Raises TargetUnavailable, with the commands to install one, if the download fails.
    """
    found = find_python(version)
    if found:
        return found
    command = [find_uv_bin(), "python", "install", "--no-bin", "--no-progress", version]
    done = processes.run_captured(command)
    found = next((path for path in _managed_by_uv(version) if _is_cpython(path, version)), None)
    if done.returncode == 0 and found:
        return found
    reason = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
    raise TargetUnavailable(
        f"Python {version} is not on this machine (not among uv's and pyenv's, no python{version} on PATH), "
        f"and uv could not download it: {reason[0].strip()}",
        f"Install it, by one of: apt-get install python{version}; pyenv install {version}; "
        f"or, with a network, uv python install {version}.",
    )


def _candidates(version: str) -> Iterator[Path]:
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        yield Path(getattr(sys, "_base_executable", sys.executable))
    yield from _managed_by_uv(version)
    yield from _managed_by_pyenv(version)
    for folder in os.get_exec_path():
        yield Path(folder, f"python{version}")


def _managed_by_uv(version: str) -> Iterator[Path]:
    command = [find_uv_bin(), "python", "list", version, "--managed-python", "--only-installed", "--offline"]
    done = subprocess.run([*command, "--output-format", "json"], capture_output=True, text=True)
    if done.returncode == 0:
        for entry in json.loads(done.stdout or "[]"):
            if entry.get("path"):
                yield Path(entry["path"])


def _managed_by_pyenv(version: str) -> Iterator[Path]:
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    installed = (folder for folder in root.glob(f"versions/{version}.*") if folder.name.split(".")[-1].isdigit())
    for folder in sorted(installed, key=lambda folder: int(folder.name.split(".")[-1]), reverse=True):
        yield folder / "bin" / "python"


def _is_cpython(path: Path, version: str) -> bool:
    if not os.access(path, os.X_OK):
        return False
    try:
        done = subprocess.run(
            [path, "-I", "-c", _PRINT_VERSION], capture_output=True, text=True, errors="replace", timeout=_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and done.stdout.strip() == version

"""Virtual environments made from the locks, each once, in the user's cache folder.

    <cache>/portbench/environments/torch-1.12.0-cpu-<12 hex>/                 the hex is of lock and Python
    <cache>/portbench/environments/torch-1.12.0-cpu-<12 hex>/portbench.json   written last: it makes it complete

So another lock is another folder, and targets with the same lock share one. One without that file was left unfinished
and is made anew; two processes never make the same one at once.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from uv import find_uv_bin

from portbench.errors import EnvironmentFailed, StorageFailed, TargetUnavailable
from portbench.targets import pythons
from portbench.targets.catalog import Target
from portbench.util import processes

_MARKER = "portbench.json"


def environments_folder() -> Path:
    """Where they lie: $XDG_CACHE_HOME or ~/.cache, portbench/environments."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "portbench" / "environments"


def environment_folder(target: Target) -> Path:
    """Where the environment of a target lies, made or not. Raises TargetUnavailable if the target has no lock."""
    if target.lock is None:
        raise TargetUnavailable(f"{target.name} has no lock, so no virtual environment can be made for it")
    digest = hashlib.sha256(target.lock.read_bytes() + target.python.encode()).hexdigest()
    return environments_folder() / f"{target.environment}-{digest[:12]}"


def environment_exists(target: Target) -> bool:
    """Whether the target's environment is there and complete."""
    return target.lock is not None and (environment_folder(target) / _MARKER).is_file()


def python_of(target: Target) -> Path:
    """The Python of the target's environment, made or not."""
    return environment_folder(target) / "bin" / "python"


def create_environment(target: Target, say: Callable[[str], None]) -> Path:
    """Makes the target's environment unless it is there; returns its Python. ``say`` gets a line on what takes time.

    Raises TargetUnavailable (no fitting Python), EnvironmentFailed (the install failed), StorageFailed (no space).
    """
    if environment_exists(target):
        return python_of(target)
    folder = environment_folder(target)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _locked(folder.with_name(f"{folder.name}.lock"), say):
            if not environment_exists(target):
                _make(target, folder, say)
    except OSError as error:
        raise StorageFailed(f"cannot make the environment of {target.name}: {error}", _space_left(folder)) from error
    return python_of(target)


def _make(target: Target, folder: Path, say: Callable[[str], None]) -> None:
    python = pythons.obtain_python(target.python)
    if folder.exists():
        shutil.rmtree(folder)
    say(f"making the environment of {target.name} in {folder} (once; this downloads its packages)")
    _uv(target, folder, "venv", "--quiet", "--no-project", "--python", str(python), str(folder))
    install = ("pip", "sync", "--quiet", "--require-hashes", "--python", str(folder / "bin" / "python"))
    _uv(target, folder, *install, str(target.lock))
    marker = {"target": target.environment, "python": str(python), "lock": str(target.lock)}
    unfinished = folder / f"{_MARKER}.unfinished"
    unfinished.write_text(json.dumps(marker, indent=1) + "\n")
    unfinished.replace(folder / _MARKER)


def _uv(target: Target, folder: Path, *arguments: str) -> None:
    env = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "CONDA_PREFIX")}
    done = processes.run_captured([find_uv_bin(), *arguments], env=env)
    if done.returncode == 0:
        return
    said = processes.tail(done.stderr)
    if "No space left on device" in done.stderr or "os error 28" in done.stderr:
        raise StorageFailed(
            f"the disk is full: the environment of {target.name} was not made\n{said}", _space_left(folder)
        )
    raise EnvironmentFailed(
        f"the environment of {target.name} could not be made: 'uv {arguments[0]}' ended with {done.returncode}\n{said}",
        "Check that the package index is reached (uv honours UV_INDEX_URL, HTTPS_PROXY, SSL_CERT_FILE) and try again.",
    )


@contextlib.contextmanager
def _locked(path: Path, say: Callable[[str], None]) -> Iterator[None]:
    with path.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another portbench that makes the same environment")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _space_left(folder: Path) -> str:
    there = next(parent for parent in folder.parents if parent.exists())
    free = shutil.disk_usage(there).free / 1e9
    return f"{free:.1f} GB are free in {there}. Make room, or set XDG_CACHE_HOME to a folder on another disk."

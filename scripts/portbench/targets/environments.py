"""Creates virtual environments from the locks, each once, in the user's cache folder.

    <cache>/portbench/environments/torch-1.12.0-cpu-<12 hex>/                 the digest of lock and Python
    <cache>/portbench/environments/torch-1.12.0-cpu-<12 hex>/portbench.lock   what was installed, by version and hash
    <cache>/portbench/environments/torch-1.12.0-cpu-<12 hex>/portbench.json   written last, marks it as complete

A changed lock gives another folder, and targets with the same lock share one. An environment without portbench.json is
incomplete and is created again. Only one process at a time creates an environment; different ones are created side by
side. uv links their files to its cache where both are on one disk, so a package takes space once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from platformdirs import user_cache_path
from uv import find_uv_bin

from portbench.errors import EnvironmentFailed, StorageFailed
from portbench.targets import pythons
from portbench.targets.catalog import Target
from portbench.targets.pinning import FOUND_AT_INSTALL, PINNED, pinning, require_vendor, requirements
from portbench.util import processes
from portbench.util.machine import Machine

_MARKER = "portbench.json"


def cache_folder() -> Path:
    """Where portbench keeps what it can make again."""
    return user_cache_path("portbench", appauthor=False)


def kernel_list(framework: str, version: str) -> Path:
    """Where the list of GPU kernels of a version that is not in images/ is kept."""
    return cache_folder() / "kernels" / framework / f"{version}.json"


def environments_folder() -> Path:
    """The folder of all environments: portbench/environments in the user's cache, $XDG_CACHE_HOME or ~/.cache."""
    return cache_folder() / "environments"


def environment_folder(target: Target) -> Path:
    """The folder of a target's environment, which may not exist. Raises TargetUnavailable if nothing pins it."""
    digest = hashlib.sha256(requirements(target).read_bytes() + target.python.encode()).hexdigest()
    return environments_folder() / f"{target.environment}-{digest[:12]}"


def environment_exists(target: Target) -> bool:
    """Whether the target's environment exists and is complete."""
    return pinning(target) is not None and (environment_folder(target) / _MARKER).is_file()


def python_of(target: Target) -> Path:
    """The Python of the target's environment, which may not exist."""
    return environment_folder(target) / "bin" / "python"


def create_environment(target: Target, say: Callable[[str], None], keep_downloads: bool = True) -> Path:
    """Creates the target's environment unless it exists; returns its Python. ``say`` gets a line for each slow step.
    Without ``keep_downloads`` the packages do not stay in uv's cache, for an environment that is removed soon.

    Raises TargetUnavailable (no matching Python; a vendor that is not reached), EnvironmentFailed (the install failed),
    StorageFailed (no space).
    """
    if environment_exists(target):
        return python_of(target)
    folder = environment_folder(target)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _locked(folder.with_name(f"{folder.name}.lock"), say):
            if not environment_exists(target):
                _create(target, folder, say, keep_downloads)
    except OSError as error:
        raise StorageFailed(
            f"{target.name}: its environment cannot be created: {error}", _space_left(folder)
        ) from error
    return python_of(target)


def remove_environment(target: Target, say: Callable[[str], None]) -> None:
    """Removes the target's environment, complete or not. Raises StorageFailed."""
    folder = environment_folder(target)
    try:
        with _locked(folder.with_name(f"{folder.name}.lock"), say):
            # Whoever looks at it from here on finds it incomplete.
            (folder / _MARKER).unlink(missing_ok=True)
            if folder.exists():
                shutil.rmtree(folder)
    except OSError as error:
        raise StorageFailed(f"{folder} cannot be removed: {error.strerror or error}", "Remove it by hand.") from error


def _create(target: Target, folder: Path, say: Callable[[str], None], keep_downloads: bool) -> None:
    require_vendor(target, Machine())
    python = pythons.obtain_python(target.python)
    if folder.exists():
        shutil.rmtree(folder)
    say(f"creating the environment of {target.name} in {folder} (once; this downloads its packages)")
    _uv(target, folder, "venv", "--quiet", "--no-project", "--python", str(python), str(folder))
    lock = folder / "portbench.lock"  # a runner records it
    if target.lock is None:
        say(f"{target.name} is {PINNED}: finding the hashes of its packages")
        _resolve(target, folder, lock)
    install = ("pip", "sync", "--require-hashes", "--python", str(folder / "bin" / "python"))
    uncached = () if keep_downloads else ("--no-cache",)
    _uv(target, folder, *install, *uncached, str(target.lock or lock), shown=_owns_terminal())
    if target.lock is not None:
        shutil.copyfile(target.lock, lock)
    marker = {"target": target.environment, "python": str(python), "requirements": str(requirements(target))}
    unfinished = folder / f"{_MARKER}.unfinished"
    unfinished.write_text(json.dumps(marker, indent=1) + "\n")
    unfinished.replace(folder / _MARKER)


def _resolve(target: Target, folder: Path, lock: Path) -> None:
    """Writes the lock that a target without one is installed from, as images/install does in an image."""
    resolve = ("pip", "compile", "--quiet", "--python", str(folder / "bin" / "python"), "--generate-hashes")
    form = ("--emit-find-links", "--no-header", "--no-annotate", "--output-file", str(lock))
    _uv(target, folder, *resolve, *form, str(requirements(target)))
    lock.write_text(FOUND_AT_INSTALL + lock.read_text())


def _owns_terminal() -> bool:
    """Whether uv may draw its progress on the terminal. Environments that other threads create would draw over it."""
    return sys.stderr.isatty() and threading.current_thread() is threading.main_thread()


def _uv(target: Target, folder: Path, *arguments: str, shown: bool = False) -> None:
    """``shown``: with its progress on the terminal."""
    env = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "CONDA_PREFIX")}
    command = [find_uv_bin(), *arguments]
    done = processes.run_shown(command, env) if shown else processes.run_captured(command, env=env)
    if done.returncode == 0:
        return
    log = "its output is above" if shown else processes.tail(done.stderr)
    if "No space left on device" in done.stderr or "os error 28" in done.stderr:
        raise StorageFailed(
            f"the disk is full: the environment of {target.name} was not created\n{log}", _space_left(folder)
        )
    raise EnvironmentFailed(
        f"the environment of {target.name} could not be created: "
        f"'uv {arguments[0]}' ended with status {done.returncode}\n{log}",
        "Check the network. uv reads UV_INDEX_URL, HTTPS_PROXY and SSL_CERT_FILE. Then try again.",
    )


@contextlib.contextmanager
def _locked(path: Path, say: Callable[[str], None]) -> Iterator[None]:
    from filelock import FileLock, Timeout  # imports asyncio, which every command would wait for

    lock = FileLock(path)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        say(f"waiting for the environment {path.stem}, which is being created already")
        lock.acquire(cancel_check=processes.is_killed)
    try:
        yield
    finally:
        lock.release()


def _space_left(folder: Path) -> str:
    existing = next(parent for parent in folder.parents if parent.exists())
    free = shutil.disk_usage(existing).free / 1e9
    return f"{free:.1f} GB are free in {existing}. Make room, or set XDG_CACHE_HOME to a folder on another disk."

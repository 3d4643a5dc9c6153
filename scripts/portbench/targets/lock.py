"""Regenerates the locks: all packages of an environment with version and hash, from the requirements in a source file.

    images/<framework>/<version>/<device>.in   ->  <device>.lock, for that version's Python on x86-64 Linux
    images/installer.in                        ->  installer.lock, the uv inside the images
    pyproject.toml, with the group dev         ->  scripts/host.lock, for any platform

uv keeps the versions of the existing lock as long as they fit, so a lock changes only with its source or ``upgrade``.

Some packages are only on a vendor's release page, which the .in file names. Where that page cannot be reached, the lock
cannot be created. The other locks are created all the same.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from uv import find_uv_bin

from portbench.errors import BadInput, EnvironmentFailed, StorageFailed
from portbench.targets.catalog import python_version
from portbench.util import processes
from portbench.util.repository import Checkout

_INSTALLER_PYTHON = "3.8"
_HOST_PYTHON = "3.11"
# The oldest C library that all wheels in use accept; the images' Debian has a newer one. libtpu needs 2.31.
_PLATFORM = "x86_64-manylinux_2_28"
_TPU_PLATFORM = "x86_64-manylinux_2_31"


class Unreached(EnvironmentFailed):
    """An address, of the package index or of a vendor, did not answer."""

    def __init__(self, message: str, address: str, reason: str) -> None:
        super().__init__(message)
        self.address = address
        self.reason = reason


@dataclass(frozen=True)
class Lock:
    """One lock and uv's arguments for it. Paths are relative to the checkout's root."""

    path: Path
    source: Path
    arguments: tuple[str, ...]


def all_locks(checkout: Checkout, selection: str | None = None) -> list[Lock]:
    """All locks, or those of a selection: ``torch``, ``torch/2.9.0`` or ``torch/2.9.0/tpu``.

    Raises BadInput if the selection matches no lock.
    """
    locks = [
        _image_lock(source.relative_to(checkout.root), source) for source in sorted(checkout.images.glob("*/*/*.in"))
    ]
    if selection is not None:
        chosen = [lock for lock in locks if f"{_name(lock)}/".startswith(f"{selection.rstrip('/')}/")]
        if not chosen:
            known = ", ".join(_name(lock) for lock in locks)
            raise BadInput(f"images/{selection} has no .in file", f"Give one of these or its first part: {known}.")
        return chosen
    everywhere = ("--universal", "--python-version")
    installer = Path("images", "installer.lock")
    return [
        *locks,
        Lock(installer, installer.with_suffix(".in"), (*everywhere, _INSTALLER_PYTHON)),
        Lock(Path("scripts", "host.lock"), Path("pyproject.toml"), (*everywhere, _HOST_PYTHON, "--group", "dev")),
    ]


def regenerate(locks: list[Lock], checkout: Checkout, upgrade: bool, done: Callable[[Lock, str], None]) -> None:
    """Regenerates each lock atomically. Calls ``done`` with each lock and "changed", "unchanged" or "failed".

    A lock that fails stays unchanged, and the other locks are still regenerated. Raises EnvironmentFailed at the end,
    with uv's message for each failed lock. Raises StorageFailed immediately.
    """
    failures: list[EnvironmentFailed] = []
    for lock in locks:
        try:
            word = "changed" if _regenerate(lock, checkout, upgrade) else "unchanged"
        except EnvironmentFailed as failure:
            failures.append(failure)
            word = "failed"
        done(lock, word)
    if failures:
        remedy = (
            "Check the requirements in each source. One with a vendor's page needs a machine that can reach the page."
        )
        if len(failures) == 1:
            failures[0].remedy = remedy
            raise failures[0]
        raise EnvironmentFailed("\n".join(str(failure) for failure in failures), remedy)


def _regenerate(lock: Lock, checkout: Checkout, upgrade: bool) -> bool:
    path = checkout.root / lock.path
    before = path.read_bytes() if path.is_file() else b""
    with contextlib.ExitStack() as stack:
        try:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix=".lock-", dir=path.parent))
            fresh = Path(folder, path.name)
            if before and not upgrade:
                shutil.copyfile(path, fresh)
            _compile(lock, checkout, fresh, upgrade)
            after = fresh.read_bytes()
            if after != before:
                fresh.replace(path)
        except OSError as error:
            raise StorageFailed(f"cannot write {path}: {error.strerror}") from error
    return after != before


def _compile(lock: Lock, checkout: Checkout, fresh: Path, upgrade: bool) -> None:
    command = [find_uv_bin(), "pip", "compile", "--quiet", "--generate-hashes", "--no-emit-index-url"]
    command += ["--custom-compile-command", "make lock", *lock.arguments]
    command += [*(["--upgrade"] if upgrade else []), str(lock.source), "--output-file", str(fresh)]
    done = processes.run_captured(command, cwd=checkout.root)
    if done.returncode:
        before = "the old lock stays" if (checkout.root / lock.path).is_file() else "there is no lock yet"
        failed = f"{lock.path} could not be created ({before})"
        address = re.search(r"Failed to fetch: `?([^\s`]+)", done.stderr)
        if address:
            reason = done.stderr.strip().splitlines()[-1].strip().removeprefix("cause: ")
            raise Unreached(f"{failed}: {address[1]} cannot be reached: {reason}", address[1], reason)
        raise EnvironmentFailed(f"{failed}: {lock.source} cannot be resolved\n{processes.tail(done.stderr)}")


def _image_lock(path: Path, source: Path) -> Lock:
    platform = _TPU_PLATFORM if source.stem in ("tpu", "tpu-aot") else _PLATFORM
    python = python_version(source.parent, source.stem)
    # A vendor's page in the .in file is copied to the lock, so that the lock's reader finds the package.
    arguments = ("--python-version", python, "--python-platform", platform, "--emit-find-links")
    return Lock(path.with_suffix(".lock"), path, arguments)


def _name(lock: Lock) -> str:
    return "/".join(lock.path.with_suffix("").parts[1:])

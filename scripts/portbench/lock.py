"""Remakes the locks: every package of an environment by exact version and hash, from the few that a person wrote down.

    images/<framework>/<version>/<device>.in   ->  <device>.lock, for that version's Python on x86-64 Linux
    images/installer.in                        ->  installer.lock, the uv inside the images
    pyproject.toml, with the group dev         ->  scripts/host.lock, for any platform

uv keeps what a lock pins already as long as it fits, so a lock changes when its source does, or with ``upgrade``.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from uv import find_uv_bin

from portbench import processes
from portbench.checkout import Checkout
from portbench.errors import BadInput, EnvironmentFailed, StorageFailed

_INSTALLER_PYTHON = "3.8"
_HOST_PYTHON = "3.11"
# The oldest C library that all wheels in use accept; the images' Debian has a newer one.
_IMAGE_PLATFORM = "x86_64-manylinux_2_28"


@dataclass(frozen=True)
class Lock:
    """One lock, and how uv makes it. Paths are relative to the checkout's root."""

    path: Path
    source: Path
    arguments: tuple[str, ...]


def all_locks(checkout: Checkout, selection: str | None = None) -> list[Lock]:
    """Every lock there is to make; with a selection (``torch`` or ``torch/2.9.0``) those of its images only.

    Raises BadInput if the selection names nothing.
    """
    locks = [
        _image_lock(source.relative_to(checkout.root), (source.parent / "python-version").read_text().strip())
        for source in sorted(checkout.images.glob("*/*/*.in"))
    ]
    if selection is not None:
        chosen = [lock for lock in locks if selection in (_framework(lock), f"{_framework(lock)}/{_version(lock)}")]
        if not chosen:
            known = sorted({f"{_framework(lock)}/{_version(lock)}" for lock in locks})
            raise BadInput(f"images/{selection} holds no .in file", f"Give a framework, or one of: {', '.join(known)}.")
        return chosen
    everywhere = ("--universal", "--python-version")
    installer = Path("images", "installer.lock")
    return [
        *locks,
        Lock(installer, installer.with_suffix(".in"), (*everywhere, _INSTALLER_PYTHON)),
        Lock(Path("scripts", "host.lock"), Path("pyproject.toml"), (*everywhere, _HOST_PYTHON, "--group", "dev")),
    ]


def remake(locks: list[Lock], checkout: Checkout, upgrade: bool, done: Callable[[Lock, bool], None]) -> None:
    """Remakes each lock, each replaced as a whole; ``done`` is told each, and whether it changed.

    Raises EnvironmentFailed with what uv said, StorageFailed; the locks before are kept as remade.
    """
    for lock in locks:
        done(lock, _remake(lock, checkout, upgrade))


def _remake(lock: Lock, checkout: Checkout, upgrade: bool) -> bool:
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
    done = processes.run_to_end(command, cwd=checkout.root)
    if done.returncode:
        raise EnvironmentFailed(
            f"{lock.path} could not be made from {lock.source}; the old one stays\n{processes.tail(done.stderr)}",
            "Check the requirements in that file, and that the package index is reached.",
        )


def _image_lock(source: Path, python: str) -> Lock:
    arguments = ("--python-version", python, "--python-platform", _IMAGE_PLATFORM)
    return Lock(source.with_suffix(".lock"), source, arguments)


def _framework(lock: Lock) -> str:
    return lock.path.parts[1]


def _version(lock: Lock) -> str:
    return lock.path.parts[2]

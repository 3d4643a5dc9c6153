"""Remakes the locks: every package of an environment by exact version and hash, from the few that a person wrote down.

    images/<framework>/<version>/<device>.in   ->  <device>.lock, for that version's Python on x86-64 Linux
    images/installer.in                        ->  installer.lock, the uv inside the images
    pyproject.toml, with the group dev         ->  scripts/host.lock, for any platform

uv keeps what a lock pins already as long as it fits, so a lock changes when its source does, or with ``upgrade``.

Some packages lie on a vendor's release page only, which the .in file names. Where that page is not reached the lock
cannot be made; the others are made all the same.
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
from portbench.targets.catalog import Target, python_version
from portbench.util import processes
from portbench.util.findings import Finding, error
from portbench.util.repository import Checkout

_INSTALLER_PYTHON = "3.8"
_HOST_PYTHON = "3.11"
# The oldest C library that all wheels in use accept; the images' Debian has a newer one. libtpu wants 2.31.
_PLATFORM = "x86_64-manylinux_2_28"
_TPU_PLATFORM = "x86_64-manylinux_2_31"


@dataclass(frozen=True)
class Lock:
    """One lock, and how uv makes it. Paths are relative to the checkout's root."""

    path: Path
    source: Path
    arguments: tuple[str, ...]


def all_locks(checkout: Checkout, selection: str | None = None) -> list[Lock]:
    """Every lock there is to make; with a selection (``torch``, ``torch/2.9.0`` or ``torch/2.9.0/tpu``) those alone.

    Raises BadInput if the selection names nothing.
    """
    locks = [
        _image_lock(source.relative_to(checkout.root), source) for source in sorted(checkout.images.glob("*/*/*.in"))
    ]
    if selection is not None:
        chosen = [lock for lock in locks if f"{_name(lock)}/".startswith(f"{selection.rstrip('/')}/")]
        if not chosen:
            known = ", ".join(_name(lock) for lock in locks)
            raise BadInput(f"images/{selection} holds no .in file", f"Give one of: {known}; or the first part of one.")
        return chosen
    everywhere = ("--universal", "--python-version")
    installer = Path("images", "installer.lock")
    return [
        *locks,
        Lock(installer, installer.with_suffix(".in"), (*everywhere, _INSTALLER_PYTHON)),
        Lock(Path("scripts", "host.lock"), Path("pyproject.toml"), (*everywhere, _HOST_PYTHON, "--group", "dev")),
    ]


def remake(locks: list[Lock], checkout: Checkout, upgrade: bool, done: Callable[[Lock, str], None]) -> None:
    """Remakes each lock, each replaced as a whole; ``done`` is told each, and whether it changed or failed.

    One that cannot be made stays as it was and does not keep the others from being made. Raises EnvironmentFailed at
    the end, with what uv said of each that failed; StorageFailed at once.
    """
    failures: list[EnvironmentFailed] = []
    for lock in locks:
        try:
            word = "changed" if _remake(lock, checkout, upgrade) else "unchanged"
        except EnvironmentFailed as failure:
            failures.append(failure)
            word = "failed"
        done(lock, word)
    if failures:
        raise EnvironmentFailed(
            "\n".join(str(failure) for failure in failures),
            "Check the requirements in each source; one that names a vendor's page needs a machine that reaches it.",
        )


def missing_lock(target: Target) -> Finding | None:
    """The finding that the target's lock has not been made yet, with the command that makes it, or None."""
    if target.lock is not None or target.source is None:
        return None
    hosts = dict.fromkeys(re.findall(r"https://([^/\s]+)/", target.source.read_text()))
    where = f" where {' and '.join(hosts)} is reached" if hosts else ""
    command = f"portbench lock {target.framework}/{target.version}/{target.packages}"
    return error(
        "lock",
        f"{target.name} is not locked: '{command}'{where} makes its {target.packages}.lock",
        "Call it there and keep the file it writes; or use --backend current with an environment of your own.",
    )


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
    done = processes.run_captured(command, cwd=checkout.root)
    if done.returncode:
        before = "the old one stays" if (checkout.root / lock.path).is_file() else "there is none yet"
        raise EnvironmentFailed(f"{lock.path} could not be made ({before}): {_reason(done.stderr, lock)}")


def _reason(said: str, lock: Lock) -> str:
    address = re.search(r"Failed to fetch: `?([^\s`]+)", said)
    if address:
        return f"{address[1]} was not reached: {said.strip().splitlines()[-1].strip().removeprefix('cause: ')}"
    return f"{lock.source} cannot be resolved\n{processes.tail(said)}"


def _image_lock(path: Path, source: Path) -> Lock:
    platform = _TPU_PLATFORM if source.stem == "tpu" else _PLATFORM
    python = python_version(source.parent, source.stem)
    # A vendor's page that the .in file names is where the lock's reader finds the package, too.
    arguments = ("--python-version", python, "--python-platform", platform, "--emit-find-links")
    return Lock(path.with_suffix(".lock"), path, arguments)


def _name(lock: Lock) -> str:
    return "/".join(lock.path.with_suffix("").parts[1:])

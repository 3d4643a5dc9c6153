"""The digest of an image's sources: in the name of the image, and compared with what the image records.

images/describe.py computes the same digest while an image is built, also by 'docker compose'. The digest depends on
content and not on time stamps: a fresh clone or a file saved without a change makes no image stale. A base image that
has changed under its tag is not noticed.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from portbench.errors import StorageFailed
from portbench.targets.catalog import Target
from portbench.util.repository import Checkout

_IGNORED = "__pycache__"  # as in .dockerignore


def source_sha256(target: Target, checkout: Checkout) -> str:
    """The SHA-256 of the target's Dockerfile and every file that the Dockerfile copies.

    It covers names, content and permission to execute. A missing file is no part of it. Raises StorageFailed
    where a file cannot be read.
    """
    assert target.dockerfile is not None
    files = {target.dockerfile}
    for source in copied(target.dockerfile):
        # A pattern such as tpu.lock* may match nothing.
        for path in checkout.root.glob(source):
            files |= set(_files(path))
    digest = hashlib.sha256()
    try:
        for path in sorted(files):
            status = path.stat()
            executable = "x" if status.st_mode & 0o100 else "-"
            content = _sha256(path, status.st_mtime_ns, status.st_size)
            digest.update(f"{path.relative_to(checkout.root)}\0{executable}\0{content}\n".encode())
    except OSError as error:
        raise StorageFailed(f"{error.filename} cannot be read: {error.strerror}", "Check its permissions.") from error
    return digest.hexdigest()


def copied(dockerfile: Path) -> list[str]:
    """The files and folders of the clone in a Dockerfile's COPY and ADD instructions."""
    sources: list[str] = []
    for instruction in dockerfile.read_text().replace("\\\n", " ").splitlines():
        word, _, rest = instruction.strip().partition(" ")
        words = shlex.split(rest) if word.upper() in ("COPY", "ADD") else []
        if words and not any(each.startswith("--from=") for each in words):
            sources += [each for each in words if not each.startswith("--")][:-1]
    return sources


def _files(path: Path) -> Iterator[Path]:
    found = path.rglob("*") if path.is_dir() else [path]
    yield from (each for each in found if each.is_file() and _IGNORED not in each.parts)


@cache
def _sha256(path: Path, changed_ns: int, size: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()

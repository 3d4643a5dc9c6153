"""What an image is made from, as one SHA-256: put on it as a label when it is built, compared with the clone's later.

Content decides, never a time stamp: a clone made anew, or a file saved without a change, makes no image stale. A base
image that has moved under its tag is not seen.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from portbench.errors import StorageFailed
from portbench.targets.catalog import Target
from portbench.util.repository import Checkout

_IGNORED = "__pycache__"  # as in .dockerignore


def source_sha256(target: Target, checkout: Checkout) -> str:
    """The digest of the target's Dockerfile, of its python-version and of every file that the Dockerfile copies.

    Names and permissions to execute count; a file that is missing counts as such. Raises StorageFailed where one cannot
    be read.
    """
    assert target.dockerfile is not None
    own_python = target.dockerfile.with_name(f"{target.packages}.python-version")
    files = {target.dockerfile, own_python if own_python.is_file() else own_python.with_name("python-version")}
    for source in copied(target.dockerfile):
        files |= set(_files(checkout.root / source))
    digest = hashlib.sha256()
    try:
        for path in sorted(files):
            content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "missing"
            executable = "x" if os.access(path, os.X_OK) else "-"
            digest.update(f"{path.relative_to(checkout.root)}\0{executable}\0{content}\n".encode())
    except OSError as error:
        raise StorageFailed(f"{error.filename} cannot be read: {error.strerror}", "Check its permissions.") from error
    return digest.hexdigest()


def copied(dockerfile: Path) -> list[str]:
    """The files and folders of the clone that a Dockerfile's COPY and ADD instructions name."""
    sources: list[str] = []
    for instruction in dockerfile.read_text().replace("\\\n", " ").splitlines():
        word, _, rest = instruction.strip().partition(" ")
        words = shlex.split(rest) if word.upper() in ("COPY", "ADD") else []
        if words and not any(each.startswith("--from=") for each in words):
            sources += [each for each in words if not each.startswith("--")][:-1]
    return sources


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from (each for each in path.rglob("*") if each.is_file() and _IGNORED not in each.parts)
    else:
        yield path

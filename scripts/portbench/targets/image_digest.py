"""The digest of an image's sources: a label of the image, which is compared with the clone later.

The digest depends on content and not on time stamps: a fresh clone or a file saved without a change makes no image
stale. A base image that has changed under its tag is not noticed.
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
    """The SHA-256 of the target's Dockerfile, its python-version and every file that the Dockerfile copies.

    It covers names, content and permission to execute. A missing file is part of it as missing. Raises StorageFailed
    where a file cannot be read.
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
    """The files and folders of the clone in a Dockerfile's COPY and ADD instructions."""
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

"""Writes files atomically: a reader sees the old content or the new one, never a part."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from portbench.errors import StorageFailed
from portbench.util.strict_json import shown


def write_text(path: Path, text: str) -> None:
    """Writes ``text`` in UTF-8, as ``write_bytes`` does."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """Creates or replaces ``path``. Creates its folder where that is missing.

    Raises StorageFailed where the file cannot be written; an existing file stays as it was.
    """
    staged = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, staged = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(staged).chmod(0o644)
        Path(staged).replace(path)
    except OSError as error:
        if staged:
            with contextlib.suppress(OSError):
                Path(staged).unlink()
        raise StorageFailed(f"{shown(path)} cannot be written: {error.strerror}", "Give another folder.") from error

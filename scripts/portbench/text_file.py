"""Writes a text file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from portbench.errors import StorageFailed
from portbench.jsonfile import shown


def write_text(path: Path, text: str) -> None:
    """Replaces or makes ``path``, and its folder where that is missing.

    Raises StorageFailed, with the file as it was.
    """
    staged = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, staged = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        Path(staged).chmod(0o644)
        Path(staged).replace(path)
    except OSError as error:
        if staged:
            with contextlib.suppress(OSError):
                Path(staged).unlink()
        raise StorageFailed(f"{shown(path)} cannot be written: {error.strerror}", "Give another folder.") from error

"""Writes a run file: whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any, Iterable, Iterator, Mapping

from runners.core.errors import StorageFailed
from runners.core.result import TestResult


def write(path: Path, header: Mapping[str, Any], results: Iterable[TestResult]) -> None:
    """Writes a run file; one result at a time is in memory. Raises StorageFailed, and what ``results`` raise, and
    leaves no part of it behind."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.writelines(_text(header, results))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            raise storage_failed(path, error) from error
        raise


def storage_failed(path: Path, error: OSError) -> StorageFailed:
    """The error for a file in the output folder that cannot be written."""
    return StorageFailed(
        f"{path}: cannot be written: {error.strerror}",
        "Make room or choose another --out, then run again with --resume.",
    )


def _text(header: Mapping[str, Any], results: Iterable[TestResult]) -> Iterator[str]:
    """The top level is indented, and each result is one line, so that a person can read and compare files."""
    head = json.dumps(header, indent=1, allow_nan=False)
    yield head[: head.rindex("\n}")] + ',\n "results": [\n'
    end = ""
    for result in results:
        yield end + "  " + json.dumps(result, allow_nan=False)
        end = ",\n"
    yield "\n ]\n}\n"

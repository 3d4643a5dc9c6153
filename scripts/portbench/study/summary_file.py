"""Writes study.json, and reads it again without parsing the entries of its targets.

    STUDY/tables-<16 hex>/INDEX    where the entry of each target is in study.json, and the file's digest

A merge copies the entries of the targets that it does not touch, as text. The digest says that portbench wrote the file
and nobody changed it since; then it need not be checked again. Without an index, or where it does not fit, the whole
file is read and checked: studies that older versions wrote have none.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, cast

import orjson

from portbench.errors import PortbenchError
from portbench.study.document import StudySummary, TargetEntry
from portbench.study.model import COMPLETE, Target, TargetKey
from portbench.util.strict_json import bytes_of

INDEX = "INDEX"
_INDENT = b"\n  "


@dataclass(frozen=True)
class _Stored:
    """A part of an open file, which stays as it is when another file takes its place."""

    file: BufferedReader
    start: int
    end: int

    def read(self) -> bytes:
        return os.pread(self.file.fileno(), self.end - self.start, self.start)


@dataclass(frozen=True)
class TargetText:
    """The entry of a target as study.json has it. ``functions`` and ``missing_tests`` are their numbers in it. A text
    that is in a file is read when it is needed: those of a large study take much memory."""

    key: TargetKey
    functions: int
    missing_tests: int
    content: bytes | _Stored

    @property
    def text(self) -> bytes:
        """The entry as JSON."""
        return self.content if isinstance(self.content, bytes) else self.content.read()

    @classmethod
    def of(cls, entry: TargetEntry) -> TargetText:
        """The text of an entry."""
        # Absent in the summaries of older versions.
        missing = entry.get("missing")
        tests = missing["tests"] if missing else 0
        return cls(TargetKey.of_entry(entry), len(entry["functions"]), tests, b"".join(_lines(entry, _INDENT)))

    @property
    def order(self) -> tuple[Any, ...]:
        """Sorts the targets of a study."""
        key = self.key
        return Target(*key[:3]).order, key.machine, key.sync != COMPLETE, key.sync


def write(file: IO[bytes], head: StudySummary, targets: Sequence[TargetText]) -> bytes:
    """Writes a summary: ``head`` has everything but the targets. Returns its index. Raises OSError."""
    digest = hashlib.sha256()
    place = 0
    entries = []
    for piece in _lines(head, b"\n", targets):
        if isinstance(piece, TargetText):
            text = piece.text
            entries.append([*piece.key, piece.functions, piece.missing_tests, place, place + len(text)])
        else:
            text = piece
        file.write(text)
        digest.update(text)
        place += len(text)
    file.write(b"\n")
    digest.update(b"\n")
    return orjson.dumps({"sha256": digest.hexdigest(), "targets": entries}) + b"\n"


def read(file: BufferedReader, index: Path) -> tuple[StudySummary, list[TargetText]] | None:
    """The head and the targets of an open summary; None without an index that fits it."""
    try:
        found = orjson.loads(bytes_of(index))
        file.seek(0)
        if found["sha256"] != hashlib.file_digest(file, "sha256").hexdigest():
            return None
        targets = [
            TargetText(TargetKey(*key), functions, missing_tests, _Stored(file, start, end))
            for *key, functions, missing_tests, start, end in found["targets"]
        ]
        first, last = found["targets"][0][-2], found["targets"][-1][-1]
        head = orjson.loads(_Stored(file, 0, first).read() + _Stored(file, last, file.tell()).read())
        return (cast("StudySummary", head), targets) if head["targets"] == [] else None
    except (PortbenchError, ValueError, KeyError, TypeError, IndexError, OSError):
        return None


def _lines(data: Mapping[str, Any], start: bytes, targets: Iterable[Any] = ()) -> Iterator[Any]:
    """A part of the summary as JSON with a line for each run file and each function, since large studies have many.

    Yields pieces, because joining them takes longer than creating them; ``targets`` are yielded as they are.
    """
    before = b"{"
    for key, value in data.items():
        yield before + start + b" " + orjson.dumps(key) + b": "
        before = b","
        rows = list(targets) if key == "targets" else value
        if not rows or not isinstance(rows, list):
            yield orjson.dumps(value)
            continue
        between = b"["
        for row in rows:
            yield between + start + b"  "
            between = b","
            yield row if key == "targets" else orjson.dumps(row)
        yield start + b" ]"
    yield start + b"}"

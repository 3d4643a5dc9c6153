"""A study on disk: the file ``study.json``, and the folder of Parquet tables that it names.

    STUDY/study.json          the summary (schema/study.schema.json)
    STUDY/tables-<16 hex>/    the tables (portbench.study.parquet)

A change writes the new tables under a hidden name, renames them, replaces study.json, and only then removes the old
tables. If it ends early, study.json still names complete tables, and the next change removes the remains.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import duckdb
import orjson

from portbench.errors import BadInput, StorageFailed
from portbench.formats.documents import read_document
from portbench.study.document import StudySummary
from portbench.study.parquet import connect, create_views, require_tables, sync
from portbench.util.strict_json import shown

__all__ = [
    "SUMMARY",
    "Study",
    "connect",
    "create_views",
    "is_study",
    "lock",
    "publish",
    "read_study",
    "staging",
]

SUMMARY = "study.json"
_STAGED = ".merging-"


@dataclass(frozen=True)
class Study:
    """A study at the time when it was read. ``summary`` fits schema/study.schema.json."""

    path: Path
    summary: StudySummary

    @property
    def tables(self) -> Path:
        """The folder of the Parquet files."""
        return self.path / str(self.summary["tables"])


def is_study(path: Path) -> bool:
    """Whether a folder is a study."""
    return (path / SUMMARY).is_file()


def read_study(path: Path) -> Study:
    """Reads a study's summary. Raises BadInput if it is no study, or if tables are missing."""
    study = Study(path, cast("StudySummary", read_document(path / SUMMARY, "study").data))
    require_tables(study.tables)
    return study


@contextlib.contextmanager
def lock(path: Path) -> Iterator[None]:
    """Locks the folder of a study, which it creates if necessary: no other merge can change it meanwhile.

    Raises BadInput if the folder has other files or another merge holds the lock, StorageFailed if it cannot be
    created. A new folder that stays empty is removed. The lock is on the folder itself, so that it leaves no file.
    """
    is_new = not path.exists()
    try:
        path.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise StorageFailed(f"{shown(path)} cannot be created: {error.strerror}", "Give another folder.") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not is_study(path) and any(not _is_ours(entry) for entry in path.iterdir()):
            raise BadInput(
                f"{shown(path)} is neither a study nor empty",
                "Give a study to add to, or a folder that is new or empty.",
            )
        yield
    except BlockingIOError:
        raise BadInput(f"{shown(path)}: another merge is changing this study", "Try again when it has ended.") from None
    finally:
        os.close(descriptor)
        if is_new:
            with contextlib.suppress(OSError):
                path.rmdir()


@contextlib.contextmanager
def staging(path: Path) -> Iterator[Path]:
    """A hidden folder in the study for incomplete files; it is removed at the end.

    Raises StorageFailed for every failure to write, also for DuckDB's own.
    """
    folder = None
    try:
        folder = Path(tempfile.mkdtemp(prefix=_STAGED, dir=path))
        folder.chmod(0o755)
        yield folder
    except (OSError, duckdb.IOException, duckdb.OutOfMemoryException) as error:
        raise StorageFailed(
            f"{shown(path)}: the study cannot be written: {error}", "Free some space; the study is as it was before."
        ) from error
    finally:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)


def publish(path: Path, tables: Path, summary: StudySummary) -> None:
    """Replaces the tables of a study by a staged folder, and its summary by ``summary``, which names them.

    Raises OSError; the study is as it was then.
    """
    home = path / tables.name
    for file in tables.rglob("*"):
        sync(file)
    shutil.rmtree(home, ignore_errors=True)
    tables.rename(home)
    staged = tables.with_name(SUMMARY)
    with staged.open("wb") as written:
        written.writelines(_text(summary))
        written.write(b"\n")
    sync(staged)
    sync(path)
    staged.replace(path / SUMMARY)
    sync(path)
    for entry in path.iterdir():
        if _is_ours(entry) and entry != home and not staged.is_relative_to(entry):
            shutil.rmtree(entry, ignore_errors=True)


def _text(data: Mapping[str, Any], start: bytes = b"\n") -> Iterator[bytes]:
    """The summary as JSON with a line for each run file and each function, since large studies have many.

    Yields pieces, because joining them takes longer than creating them.
    """
    before = b"{"
    for key, value in data.items():
        yield before + start + b" " + orjson.dumps(key) + b": "
        before = b","
        if not value or not isinstance(value, list):
            yield orjson.dumps(value)
            continue
        between = b"["
        for row in value:
            yield between + start + b"  "
            between = b","
            if key == "targets":
                yield from _text(row, start + b"  ")
            else:
                yield orjson.dumps(row)
        yield start + b" ]"
    yield start + b"}"


def _is_ours(entry: Path) -> bool:
    return entry.name.startswith((_STAGED, "tables-"))

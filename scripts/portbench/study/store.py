"""A study on disk: the file ``study.json``, and the folder of Parquet tables that it names.

    STUDY/study.json          the summary (schema/study.schema.json)
    STUDY/tables-<16 hex>/    the tables (portbench.study.parquet)
    STUDY/.portbench.json     what portbench wrote there (portbench.util.owned_folder)

A change writes the new tables under a hidden name, renames them, replaces study.json, and only then removes the old
tables. If it ends early, study.json still names complete tables, and the next change removes the remains. Files that
the marker does not list stay. A study of an older version has no marker: study.json names its tables.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import duckdb
import orjson

from portbench.errors import StorageFailed
from portbench.formats.documents import read_document
from portbench.study.document import StudySummary
from portbench.study.parquet import connect, create_views, require_tables, sync
from portbench.study.tables_check import check_tables, write_sums
from portbench.util import owned_folder
from portbench.util.owned_folder import Kind
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
_KIND = Kind("study", re.compile(r"study\.json|tables-[0-9a-f]{16}"))


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
    """Reads a study's summary. Raises BadInput if it is no study, or if its tables are not those that it describes."""
    study = Study(path, cast("StudySummary", read_document(path / SUMMARY, "study").data))
    require_tables(study.tables)
    check_tables(study.tables, study.summary)
    return study


@contextlib.contextmanager
def lock(path: Path) -> Iterator[None]:
    """Locks the folder of a study, which it creates if necessary: no other merge can change it meanwhile.

    Raises BadInput if the folder is neither a study nor empty, or if another merge holds the lock; StorageFailed if it
    cannot be created. A new folder that stays empty is removed.
    """
    with owned_folder.locked(path, _KIND):
        if not is_study(path):
            owned_folder.require_ours(path, _KIND)
        yield


@contextlib.contextmanager
def staging(path: Path, there: Study | None) -> Iterator[Path]:
    """A hidden folder in the study for incomplete files; it is removed at the end. Removes what a killed merge left.
    ``there``: the study at ``path``, if there is one already.

    Raises StorageFailed for every failure to write, also for DuckDB's own.
    """
    try:
        named = {SUMMARY, there.tables.name} if there else set()
        if named and owned_folder.listed(path, _KIND) is None:
            owned_folder.take_over(path, _KIND, named)
        owned_folder.remove_others(path, _KIND, named)
        with owned_folder.staging(path, _KIND) as folder:
            yield folder
    except (OSError, duckdb.IOException, duckdb.OutOfMemoryException) as error:
        raise StorageFailed(
            f"{shown(path)}: the study cannot be written: {error}", "Free some space; the study is as it was before."
        ) from error


def publish(path: Path, tables: Path, summary: StudySummary) -> None:
    """Replaces the tables of a study by a staged folder, and its summary by ``summary``, which names them.

    Raises OSError; the study is as it was then.
    """
    owned_folder.add(path, _KIND, SUMMARY, tables.name)
    write_sums(tables)
    for file in tables.rglob("*"):
        sync(file)
    tables.rename(path / tables.name)
    staged = tables.with_name(SUMMARY)
    with staged.open("wb") as written:
        written.writelines(_text(summary))
        written.write(b"\n")
    sync(staged)
    sync(path)
    staged.replace(path / SUMMARY)
    sync(path)
    owned_folder.remove_others(path, _KIND, {SUMMARY, tables.name, tables.parent.name})


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

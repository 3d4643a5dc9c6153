"""A study on disk: the file ``study.json``, and the folder of Parquet tables that it names.

    STUDY/study.json          the summary (schema/study.schema.json)
    STUDY/tables-<16 hex>/    the tables (portbench.study.parquet), and an index of study.json (.summary_file)
    STUDY/.portbench.json     what portbench wrote there (portbench.util.owned_folder)

A change writes the new tables under a hidden name, renames them, replaces study.json, and only then removes the old
tables. If it ends early, study.json still names complete tables, and the next merge removes the remains. Files that
the marker does not list stay. A study of an older version has no marker: study.json names its tables.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import cast

import duckdb
import orjson

from portbench.errors import StorageFailed
from portbench.formats.documents import read_document
from portbench.study import summary_file
from portbench.study.document import StudySummary, TargetEntry
from portbench.study.parquet import connect, create_views, require_tables, sync
from portbench.study.summary_file import TargetText
from portbench.study.tables_check import check_tables, write_sums
from portbench.util import owned_folder
from portbench.util.owned_folder import Kind
from portbench.util.strict_json import open_file, shown

__all__ = [
    "SUMMARY",
    "Study",
    "connect",
    "create_views",
    "is_study",
    "lock",
    "publish",
    "read_study",
    "remove_remains",
    "staging",
]

SUMMARY = "study.json"
_NAMED_TABLES = re.compile(rb'\n "tables": "(tables-[0-9a-f]{16})"')
_KIND = Kind("study", re.compile(r"study\.json|tables-[0-9a-f]{16}"))


@dataclass(frozen=True)
class Study:
    """A study at the time when it was read. ``head``: its summary without the entries of targets, which are
    ``targets``."""

    path: Path
    head: StudySummary
    targets: Sequence[TargetText]

    @cached_property
    def summary(self) -> StudySummary:
        """The whole summary, which fits schema/study.schema.json."""
        return self.read_summary()

    def read_summary(self) -> StudySummary:
        """The summary, parsed for the caller alone: that of a large study takes much memory."""
        return {**self.head, "targets": list(self.read_targets())}

    def read_targets(self) -> Iterator[TargetEntry]:
        """The entries of the targets, each parsed when it is reached."""
        return (orjson.loads(target.text) for target in self.targets)

    @property
    def tables(self) -> Path:
        """The folder of the Parquet files."""
        return self.path / str(self.head["tables"])


def is_study(path: Path) -> bool:
    """Whether a folder is a study."""
    return (path / SUMMARY).is_file()


def read_study(path: Path) -> Study:
    """Reads a study's summary. Raises BadInput if it is no study, or if its tables are not those that it describes."""
    study = _indexed(path) or _checked(path)
    require_tables(study.tables)
    check_tables(study.tables, study.head)
    return study


def _indexed(path: Path) -> Study | None:
    """The study, if its summary is as portbench wrote it, with an index."""
    file = open_file(path / SUMMARY)
    named = _NAMED_TABLES.search(file.read(400))
    found = summary_file.read(file, path / named[1].decode() / summary_file.INDEX) if named else None
    if found is None:
        file.close()
        return None
    return Study(path, *found)


def _checked(path: Path) -> Study:
    summary = cast("StudySummary", read_document(path / SUMMARY, "study").data)
    study = Study(path, *split(summary))
    study.__dict__["summary"] = summary
    return study


def split(summary: StudySummary) -> tuple[StudySummary, list[TargetText]]:
    """The head of a summary and the texts of its targets."""
    return {**summary, "targets": []}, [TargetText.of(entry) for entry in summary["targets"]]


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


def remove_remains(path: Path, there: Study | None) -> None:
    """Removes what killed merges left at ``path``. ``there``: the study at ``path``, if there is one.

    Raises StorageFailed where the marker cannot be written.
    """
    owned_folder.remove_others(path, _KIND, _names(there) if there else ())


def _names(study: Study) -> set[str]:
    return {SUMMARY, study.tables.name}


@contextlib.contextmanager
def staging(path: Path, there: Study | None) -> Iterator[Path]:
    """A hidden folder in the study for incomplete files; it is removed at the end. Removes what a killed merge left.
    ``there``: the study at ``path``, if there is one already.

    Raises StorageFailed for every failure to write, also for DuckDB's own.
    """
    try:
        if there and owned_folder.listed(path, _KIND) is None:
            owned_folder.take_over(path, _KIND, _names(there))
        remove_remains(path, there)
        with owned_folder.staging(path, _KIND) as folder:
            yield folder
    except (OSError, duckdb.IOException, duckdb.OutOfMemoryException) as error:
        raise StorageFailed(
            f"{shown(path)}: the study cannot be written: {error}", "Free some space; the study is as it was before."
        ) from error


def publish(path: Path, tables: Path, head: StudySummary, targets: Sequence[TargetText]) -> Study:
    """Replaces the tables of a study by a staged folder, and its summary by one that names them: ``head`` with the
    entries of ``targets``.

    Raises OSError; the study is as it was then.
    """
    owned_folder.add(path, _KIND, SUMMARY, tables.name)
    write_sums(tables)
    staged = tables.with_name(SUMMARY)
    with staged.open("wb") as written:
        index = summary_file.write(written, head, targets)
    (tables / summary_file.INDEX).write_bytes(index)
    for file in tables.rglob("*"):
        sync(file)
    tables.rename(path / tables.name)
    sync(staged)
    sync(path)
    staged.replace(path / SUMMARY)
    sync(path)
    owned_folder.remove_others(path, _KIND, {SUMMARY, tables.name, tables.parent.name})
    return Study(path, head, targets)

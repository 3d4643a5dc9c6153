"""A study on disk: ``study.json`` and, beside it, the folder of Parquet tables that it names.

    STUDY/study.json          the summary (schema/study.schema.json)
    STUDY/tables-<16 hex>/    runs.parquet, results.parquet, samples.parquet

A change writes the new tables under a hidden name, renames them, replaces study.json, and only then removes the old
tables. Wherever that ends early, study.json names tables that are whole; the next change removes what is left over.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import duckdb

from portbench.errors import BadInput, StorageFailed
from portbench.jsonfile import shown
from portbench.validate import read_document

SUMMARY = "study.json"
TABLES = ("runs", "results", "samples")
_STAGED = ".merging-"
_AGAIN = "Merge the run files again, into a new folder."


@dataclass(frozen=True)
class Study:
    """A study as it was when it was read; ``summary`` fits schema/study.schema.json."""

    path: Path
    summary: dict[str, Any]

    @property
    def tables(self) -> Path:
        """The folder of the Parquet files."""
        return self.path / str(self.summary["tables"])


def is_study(path: Path) -> bool:
    """Whether a folder holds a study."""
    return (path / SUMMARY).is_file()


def read_study(path: Path) -> Study:
    """Reads a study's summary. Raises BadInput where it is none, or where its tables are gone."""
    study = Study(path, read_document(path / SUMMARY, "study").data)
    for table in TABLES:
        if not (study.tables / f"{table}.parquet").is_file():
            raise BadInput(f"{shown(path)}: {study.tables.name}/{table}.parquet is missing", _AGAIN)
    return study


def connect(spill: Path | None = None) -> duckdb.DuckDBPyConnection:
    """DuckDB in memory, which never fetches an extension; what does not fit goes to the folder ``spill``."""
    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "preserve_insertion_order": "false",
    }
    if spill:
        config["temp_directory"] = str(spill)
    return duckdb.connect(config=config)


def statements(name: str) -> str:
    """The SQL of ``sql/<name>.sql``."""
    return (resources.files("portbench") / "sql" / f"{name}.sql").read_text("utf-8")


def show_tables(connection: duckdb.DuckDBPyConnection, folder: Path, prefix: str = "") -> None:
    """Makes the Parquet files of ``folder`` the views runs, results and samples.

    What a table of an older version has no column for is null. Raises BadInput where one is missing or damaged.
    """
    connection.execute(statements("added_columns"))
    for table in TABLES:
        file = folder / f"{table}.parquet"
        try:
            connection.read_parquet(str(file)).create_view(f"{prefix}stored_{table}")
            both = f"FROM {prefix}stored_{table} UNION ALL BY NAME FROM added_{table}"
            connection.execute(f"CREATE TEMP VIEW {prefix}{table} AS {both}")
        except duckdb.Error as error:
            raise BadInput(f"{shown(file)} is missing or damaged: {error}", _AGAIN) from error


def tables_name(sha256s: Iterable[str]) -> str:
    """The name of the tables that hold the run files with these digests."""
    version = "portbench/study 3"
    return "tables-" + hashlib.sha256("\n".join([version, *sorted(sha256s)]).encode()).hexdigest()[:16]


@contextlib.contextmanager
def lock(path: Path) -> Iterator[None]:
    """Makes the folder of a study, if need be, and keeps others from changing it.

    Raises BadInput where the folder holds something else or another change is under way, StorageFailed where it cannot
    be made. A folder that was made for nothing is removed.
    """
    is_new = not path.exists()
    try:
        path.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise StorageFailed(f"{shown(path)} cannot be made: {error.strerror}", "Give another folder.") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not is_study(path) and any(not _is_ours(entry) for entry in path.iterdir()):
            raise BadInput(
                f"{shown(path)} is no study, and not empty", "Give a study to add to, or a folder that is new or empty."
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
    """A hidden folder in the study for what is not whole yet; it is removed at the end.

    Turns every failure to write, DuckDB's too, into StorageFailed.
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


def publish(path: Path, tables: Path, summary: dict[str, Any]) -> None:
    """Makes a staged folder of tables, and the summary that names it, the study's.

    Raises OSError, with the study as it was.
    """
    home = path / tables.name
    for file in tables.iterdir():
        _sync(file)
    shutil.rmtree(home, ignore_errors=True)
    tables.rename(home)
    staged = tables.with_name(SUMMARY)
    staged.write_text(json.dumps(summary, indent=1, ensure_ascii=False, allow_nan=False) + "\n", "utf-8")
    _sync(staged)
    _sync(path)
    staged.replace(path / SUMMARY)
    _sync(path)
    for entry in path.iterdir():
        if _is_ours(entry) and entry != home and not staged.is_relative_to(entry):
            shutil.rmtree(entry, ignore_errors=True)


def _is_ours(entry: Path) -> bool:
    return entry.name.startswith((_STAGED, "tables-"))


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

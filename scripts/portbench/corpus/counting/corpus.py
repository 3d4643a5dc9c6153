"""The parts of a corpus of Python source. A part is the unit of work and holds documents.

    folder              its .py files, and every file below it that is one of these:
    .py                 one document
    .jsonl .jsonl.gz .jsonl.zst .json.gz    one object per line, the source in one of its columns
    .parquet            the source in one of its columns
    .zip .whl .tar .tar.gz .tgz .tar.zst    the .py files in it
    hf://datasets/...   Parquet or JSON lines of a data set, read by DuckDB

Parts are small, so that all cores count one large file: 8 MB of files of a folder or zip, 16 MB of a plain .jsonl, row
groups of a .parquet. A compressed stream is one part, which the local engine divides (``documents.chunks``).
"""

from __future__ import annotations

import glob
import os
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb

from portbench.errors import BadInput, StorageFailed
from portbench.util.strict_json import shown
from portbench.util.text import escape_control

LINES = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".json.gz", ".ndjson")
STREAMS = (".jsonl.gz", ".jsonl.zst", ".json.gz")
TARS = (".tar", ".tar.gz", ".tgz", ".tar.zst")
ZIPS = (".zip", ".whl")
TABLES = (".parquet",)
SUFFIXES = (".py", *LINES, *TARS, *ZIPS, *TABLES)
REMOTE = "hf://"
_FILES_BYTES = 8_000_000
_LINES_BYTES = 16_000_000
_ROW_GROUPS_BYTES = 8_000_000
_GIVE = (
    "Give a folder, a .py, .jsonl (also .gz, .zst), .parquet, .zip or .tar file, or an address that begins with hf://."
)


@dataclass(frozen=True)
class Part:
    """``key`` identifies it on every machine. ``items`` are files, or members of the zip file at ``path``."""

    key: str
    path: str
    size_bytes: int
    items: tuple[str, ...] = ()
    start: int = 0
    end: int | None = None
    """Of a plain .jsonl file: the part holds the lines that begin from ``start`` to here, in bytes. Of a .parquet file:
    the rows from ``start`` to here. ``lines``: those of a compressed stream from ``start`` on, if they were read."""
    lines: bytes = b""

    @property
    def is_stream(self) -> bool:
        """Whether it is a compressed file of lines, which only one process can read."""
        return not self.lines and self.path.endswith(STREAMS) and not self.path.startswith(REMOTE)


def find_parts(corpus: Iterable[str]) -> list[Part]:
    """All parts of the corpus, sorted by key.

    Raises BadInput for a path that is no corpus, StorageFailed for one that cannot be read or reached.
    """
    parts = [part for place, given in enumerate(corpus) for part in _parts_of(given, f"{place}:")]
    if not parts:
        raise BadInput("the corpus holds no Python source", _GIVE)
    return sorted(parts, key=lambda part: part.key)


def _parts_of(given: str, key: str) -> Iterator[Part]:
    if given.startswith(REMOTE):
        yield from _remote(given, key)
        return
    path = Path(given)
    try:
        if path.is_dir():
            yield from _in_folder(path, key)
        elif not path.is_file():
            raise BadInput(f"{shown(path)}: no such file or folder", _GIVE)
        elif not path.name.endswith(SUFFIXES):
            raise BadInput(f"{shown(path)}: unknown kind of corpus", _GIVE)
        else:
            yield from _of_file(path, key + path.name)
    except OSError as error:
        raise StorageFailed(f"{shown(path)} cannot be read: {error.strerror}", "Give another corpus.") from error


def _in_folder(folder: Path, key: str) -> Iterator[Part]:
    sources: list[tuple[str, int]] = []
    for home, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(home, name)
            if name.endswith(SUFFIXES) and path.is_file():
                if name.endswith(".py"):
                    sources.append((str(path), path.stat().st_size))
                else:
                    yield from _of_file(path, key + path.relative_to(folder).as_posix())
    for items, size in _grouped(sources):
        yield Part(key + Path(items[0]).relative_to(folder).as_posix(), str(folder), size, items)


def _of_file(path: Path, key: str) -> Iterator[Part]:
    size = path.stat().st_size
    if path.suffix == ".py":
        yield Part(key, str(path), size, (str(path),))
    elif path.name.endswith(ZIPS):
        yield from _in_zip(path, key)
    elif path.suffix in (".jsonl", ".ndjson"):
        for start in range(0, max(size, 1), _LINES_BYTES):
            end = min(size, start + _LINES_BYTES)
            yield Part(f"{key}:{start:015}", str(path), end - start, start=start, end=end)
    elif path.suffix == ".parquet":
        yield from _in_table(path, key, size)
    else:
        yield Part(key, str(path), size)


def _in_table(path: Path, key: str, size: int) -> Iterator[Part]:
    """Groups of neighbouring row groups. A file that is no Parquet is one part, whose reader says so."""
    query = (
        "SELECT any_value(row_group_num_rows), sum(total_compressed_size) FROM parquet_metadata(?) "
        "GROUP BY row_group_id ORDER BY row_group_id"
    )
    try:
        with connect() as connection:
            groups = connection.execute(query, [str(path)]).fetchall()
    except duckdb.Error:
        groups = []
    if not groups:
        yield Part(key, str(path), size)
    first = row = stored = 0
    for place, (rows, compressed) in enumerate(groups, 1):
        row, stored = row + rows, stored + int(compressed)
        if stored >= _ROW_GROUPS_BYTES or place == len(groups):
            yield Part(f"{key}:{first:015}", str(path), stored, start=first, end=row)
            first, stored = row, 0


def _in_zip(path: Path, key: str) -> Iterator[Part]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = [(info.filename, info.file_size) for info in archive.infolist() if info.filename.endswith(".py")]
    except zipfile.BadZipFile as error:
        raise BadInput(f"{shown(path)}: not a zip file: {escape_control(str(error))}", "Get the file again.") from None
    for items, size in _grouped(sorted(members)):
        yield Part(f"{key}:{items[0]}", str(path), size, items)


def _grouped(files: list[tuple[str, int]]) -> Iterator[tuple[tuple[str, ...], int]]:
    group: list[str] = []
    size = 0
    for name, length in files:
        group.append(name)
        size += length
        if size >= _FILES_BYTES:
            yield tuple(group), size
            group, size = [], 0
    if group:
        yield tuple(group), size


def _remote(address: str, key: str) -> Iterator[Part]:
    try:
        with connect(remote=True) as connection:
            files = connection.execute("SELECT file FROM glob(?) ORDER BY file", [address]).fetchall()
    except duckdb.Error as error:
        raise unreachable(address, error) from None
    names = [file for (file,) in files] if glob.has_magic(address) else [address]
    if any(not name.endswith((*TABLES, *LINES)) for name in names) or not names:
        raise BadInput(f"{escape_control(address)}: no Parquet file and no JSON lines", "Give the address of files.")
    for name in names:
        yield Part(key + name, name, 1)


def connect(remote: bool = False) -> duckdb.DuckDBPyConnection:
    """Opens a DuckDB with one thread and little memory. ``remote``: it also reads hf://."""
    connection = duckdb.connect(config={"threads": 1, "memory_limit": "2GB"})
    connection.execute("SET enable_progress_bar = false")
    if remote:
        connection.execute("INSTALL httpfs")
        connection.execute("LOAD httpfs")
    return connection


def unreachable(address: str, error: duckdb.Error) -> StorageFailed:
    """The error for a remote data set that cannot be reached."""
    said = str(error).strip().splitlines()[0]
    return StorageFailed(
        f"{escape_control(address)} cannot be reached: {escape_control(said)}",
        "Download the data set on a machine with network access, and give its folder.",
    )

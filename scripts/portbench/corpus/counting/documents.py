"""Reads the documents of one part of a corpus, one at a time, whatever the size of the part."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import tarfile
import zipfile
import zlib
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO

import duckdb
import zstandard

from portbench.corpus.counting.corpus import LINES, REMOTE, TARS, ZIPS, Part, connect, unreachable
from portbench.errors import BadInput, StorageFailed
from portbench.util.strict_json import shown
from portbench.util.text import escape_control

LARGEST_BYTES = 10_000_000
"""A larger document is counted as too large and not parsed: no person wrote it. CodeParrot-clean stops at 1 MB."""
CHUNK_BYTES = 8_000_000
"""The size of a part of a compressed stream, unpacked."""
# JSON may write one byte as six: \\u0041.
_LONGEST_LINE = 7 * LARGEST_BYTES


def documents(part: Part, column: str) -> Iterator[bytes | None]:
    """Yields the documents of a part as stored, which need not be valid UTF-8; None for one above LARGEST_BYTES.

    ``column`` holds the source in .jsonl and .parquet files. Raises BadInput if a file does not have the format that
    its name says, StorageFailed if it cannot be read.
    """
    path = Path(part.path)
    with _readable(path):
        if part.path.startswith(REMOTE) or path.suffix == ".parquet":
            yield from _of_table(part, column)
        elif path.name.endswith(LINES):
            yield from _of_lines(part, column)
        elif path.name.endswith(TARS):
            yield from _of_tar(path)
        elif path.name.endswith(ZIPS):
            yield from _of_zip(path, part.items)
        else:
            yield from map(_of_file, part.items)


def chunks(part: Part, done: Collection[str]) -> Iterator[Part]:
    """The lines of a compressed stream as parts of about CHUNK_BYTES, each with the stored size that was read for it.

    The parts whose key is in ``done`` come without their lines. Raises what ``documents`` raises.
    """
    path = Path(part.path)
    with _readable(path), path.open("rb") as stored, _unpacked(path, stored) as stream:
        start = place = read = 0
        lines: list[bytes] = []
        while True:
            line = stream.readline(_LONGEST_LINE)
            lines.append(line)
            place += len(line)
            # The rest of a line that is too long is skipped: nothing may follow it.
            is_cut = len(line) == _LONGEST_LINE and not line.endswith(b"\n")
            if is_cut:
                place += _rest_of_line(stream)
            if place - start >= CHUNK_BYTES or is_cut or (not line and place > start):
                key = f"{part.key}:{start:015}"
                size, read = stored.tell() - read, stored.tell()
                yield replace(
                    part, key=key, size_bytes=size, start=start, lines=b"" if key in done else b"".join(lines)
                )
                start, lines = place, []
            if not line:
                return


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Raises BadInput or StorageFailed, which name the file, for each error of a reader inside of the block."""
    try:
        yield
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, zstandard.ZstdError, EOFError, gzip.BadGzipFile) as error:
        message = f"{shown(path)}: damaged: {escape_control(str(error))}"
        raise BadInput(message, "Get the file again, or leave it out.") from None
    except OSError as error:
        raise StorageFailed(
            f"{shown(path)} cannot be read: {error.strerror or error}", "Fix it, then continue with --resume."
        ) from None


def _of_file(name: str) -> bytes | None:
    with Path(name).open("rb") as file:
        return _limited(file, os.fstat(file.fileno()).st_size)


def _limited(file: IO[bytes], size: int) -> bytes | None:
    return None if size > LARGEST_BYTES else file.read()


def _of_zip(path: Path, members: tuple[str, ...]) -> Iterator[bytes | None]:
    with zipfile.ZipFile(path) as archive:
        for name in members:
            try:
                info = archive.getinfo(name)
                with archive.open(info) as file:
                    yield _limited(file, info.file_size)
            except (RuntimeError, NotImplementedError) as error:
                message = f"{shown(path)}: {escape_control(name)}: {escape_control(str(error))}"
                raise BadInput(message, "Give a zip file without a password, packed by deflate.") from None


def _of_tar(path: Path) -> Iterator[bytes | None]:
    with _opened(path) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            if member.isfile() and member.name.endswith(".py") and (file := archive.extractfile(member)):
                yield _limited(file, member.size)


def _opened(path: Path) -> IO[bytes]:
    return _unpacked(path, path.open("rb"))


def _unpacked(path: Path, stored: IO[bytes]) -> IO[bytes]:
    if path.suffix in (".gz", ".tgz"):
        return gzip.open(stored, "rb")  # type: ignore[return-value]
    if path.suffix == ".zst":
        decompressor = zstandard.ZstdDecompressor(max_window_size=2**31)
        return io.BufferedReader(decompressor.stream_reader(stored, read_across_frames=True, closefd=True))
    return stored


def _of_lines(part: Part, column: str) -> Iterator[bytes | None]:
    with io.BytesIO(part.lines) if part.lines else _opened(Path(part.path)) as stream:
        if part.start and not part.lines:
            stream.seek(part.start - 1)
            _rest_of_line(stream)
        place = part.start
        while part.end is None or stream.tell() < part.end:
            line = stream.readline(_LONGEST_LINE)
            if not line:
                return
            if len(line) == _LONGEST_LINE and not line.endswith(b"\n"):
                _rest_of_line(stream)
                yield None
            elif line.strip():
                yield _of_line(line, part.path, place, column)
            place += len(line)


def _rest_of_line(stream: IO[bytes]) -> int:
    """Skips the rest of a line. Returns its length in bytes."""
    size = 0
    while piece := stream.readline(1 << 20):
        size += len(piece)
        if piece.endswith(b"\n"):
            break
    return size


def _of_line(line: bytes, path: str, place: int, column: str) -> bytes | None:
    try:
        text = json.loads(line)[column]
    except (ValueError, RecursionError):
        raise BadInput(f"{shown(Path(path))}: the line at byte {place} is not JSON", "Fix the file.") from None
    except (KeyError, TypeError, IndexError):
        text = None
    if not isinstance(text, str):
        message = f"{shown(Path(path))}: the line at byte {place} has no text under {escape_control(column)!r}"
        raise BadInput(message, "Name the column that holds the source: --column NAME.")
    return _encoded(text)


def _encoded(text: str) -> bytes | None:
    source = text.encode("utf-8", "replace")
    return source if len(source) <= LARGEST_BYTES else None


def _of_table(part: Part, column: str) -> Iterator[bytes | None]:
    path = part.path
    quoted = '"' + column.replace('"', '""') + '"'
    remote = path.startswith(REMOTE)
    reader = "read_parquet(?)" if path.endswith(".parquet") else "read_ndjson(?)"
    if part.end is not None:
        # DuckDB reads the row groups with these rows alone.
        chosen = f"file_row_number BETWEEN {part.start} AND {part.end - 1}"
        reader = f"read_parquet(?, file_row_number = true) WHERE {chosen}"
    try:
        with connect(remote) as connection:
            rows = connection.execute(f"SELECT CAST({quoted} AS VARCHAR) FROM {reader}", [path])
            while batch := rows.fetchmany(256):
                yield from (_encoded(text) for (text,) in batch if text is not None)
    except duckdb.BinderException:
        message = f"{escape_control(path)}: no column {escape_control(column)!r}"
        raise BadInput(message, "Name the column that holds the source: --column NAME.") from None
    except duckdb.Error as error:
        if remote:
            raise unreachable(path, error) from None
        said = escape_control(str(error).strip().splitlines()[0])
        raise BadInput(f"{escape_control(path)}: {said}", "Get the file again, or leave it out.") from None

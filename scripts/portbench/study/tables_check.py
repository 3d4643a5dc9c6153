"""Holds the tables of a study against its summary: each part is there, whole, unchanged, and no other is.

    <tables>/SHA256SUMS    a line for each part, as sha256sum writes it ('sha256sum -c' checks it, too)

The digests say that no part was removed, added, swapped or cut since portbench wrote it. The numbers of rows, the run
files and the outcomes are those of study.json and the format, whoever wrote the tables. Studies up to version 4 have
neither digests nor numbers of rows; the rest is checked for them, too.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb

from portbench.errors import BadInput, StorageFailed
from portbench.study.document import StudySummary
from portbench.study.parquet import AGAIN, TABLES, connect, files_of, literal
from portbench.util.strict_json import bytes_of, quoted, shown
from portbench.util.text import escape_control, shortened

SUMS = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-f]{64})  ((?:runs|results|samples|functions)/[0-9a-z]{1,32}\.parquet)")
# A row of results is longer than that, however well it is compressed; a file of a few bytes may claim any number.
_MOST_ROWS_PER_BYTE = 32
_OUTCOMES = ("passed", "failed", "timed_out", "crashed", "skipped", "error")


def write_sums(tables: Path) -> None:
    """Lists the digest of every part. Raises OSError."""
    parts = [file for table in TABLES for file in files_of(tables, table)]
    lines = [f"{_digest(file)}  {file.relative_to(tables)}\n" for file in parts]
    (tables / SUMS).write_text("".join(lines), "utf-8")


def check_tables(tables: Path, summary: StudySummary) -> None:
    """Raises BadInput for the first part of ``tables`` that is not as ``summary`` and SHA256SUMS say."""
    parts = {table: files_of(tables, table) for table in TABLES}
    for file in (file for files in parts.values() for file in files):
        if not stat.S_ISREG(file.lstat().st_mode):
            raise BadInput(f"{shown(file)} is not a regular file", AGAIN)
    rows = summary.get("rows")
    if rows is not None:
        _check_sums(tables, [file for files in parts.values() for file in files])
    try:
        with connect(threads=1) as connection:
            for table, files in parts.items():
                found = _rows(connection, files)
                stated = found if rows is None else rows.get(table, found)
                if found != stated:
                    raise BadInput(f"{shown(tables / table)}: found {found} rows, expected {stated}", AGAIN)
            _check_runs(connection, tables, parts["runs"], summary)
            _check_outcomes(connection, tables, parts["results"])
    except duckdb.Error as error:
        raise damaged(tables, error) from error


@contextlib.contextmanager
def reading(tables: Path) -> Iterator[None]:
    """Raises BadInput or StorageFailed, which name the tables, for each error of DuckDB inside of the block."""
    try:
        yield
    except duckdb.Error as error:
        raise damaged(tables, error) from error


def damaged(tables: Path, error: duckdb.Error) -> BadInput | StorageFailed:
    """The error for tables that DuckDB cannot read."""
    reason = escape_control(shortened(str(error).split("\n", 1)[0], 300))
    if isinstance(error, duckdb.OutOfMemoryException):
        remedy = "Free some memory. If the study is small, its tables are damaged: merge the run files again."
        return StorageFailed(f"{shown(tables)}: too little memory to read these tables: {reason}", remedy)
    return BadInput(f"{shown(tables)}: these tables are damaged: {reason}", AGAIN)


def _check_sums(tables: Path, files: Sequence[Path]) -> None:
    sums = tables / SUMS
    stated = {}
    for number, line in enumerate(bytes_of(sums).decode("utf-8", "replace").splitlines(), 1):
        found = _LINE.fullmatch(line)
        if not found:
            raise BadInput(f"{shown(sums)}, line {number}: found no digest of a part, expected one", AGAIN)
        stated[tables / found[2]] = found[1]
    for file in sorted(stated.keys() | set(files)):
        if file not in stated:
            raise BadInput(f"{shown(file)} is no part of this study: {SUMS} does not list it", AGAIN)
        if file not in files:
            raise BadInput(f"{shown(file)} is missing, {SUMS} lists it", AGAIN)
        if _digest(file) != stated[file]:
            raise BadInput(f"{shown(file)} was changed or damaged: its digest is not the one in {SUMS}", AGAIN)


def _rows(connection: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> int:
    """The number of rows of files, by their last bytes."""
    total = 0
    for file in files:
        query = f"SELECT num_rows FROM parquet_file_metadata({literal(str(file))})"
        ((rows,),) = connection.execute(query).fetchall()
        if rows > _MOST_ROWS_PER_BYTE * file.stat().st_size:
            raise BadInput(f"{shown(file)}: found {rows} rows in {file.stat().st_size} bytes, expected fewer", AGAIN)
        total += rows
    return total


def _check_runs(
    connection: duckdb.DuckDBPyConnection, tables: Path, files: Sequence[Path], summary: StudySummary
) -> None:
    listed = ", ".join(literal(str(file)) for file in files)
    query = f"SELECT sha256, run_id FROM read_parquet([{listed}], union_by_name = true)"
    found = Counter(connection.execute(query).fetchall())
    stated = Counter((run["sha256"], run["run_id"]) for run in summary["run_files"])
    if found != stated:
        ((_, run_id), *_) = sorted((found - stated) + (stated - found), key=str)
        raise BadInput(
            f"{shown(tables / 'runs')}: its run files are not those of study.json, for example {quoted(str(run_id))}",
            AGAIN,
        )


def _check_outcomes(connection: duckdb.DuckDBPyConnection, tables: Path, files: Sequence[Path]) -> None:
    listed = ", ".join(literal(str(file)) for file in files)
    query = (
        f"SELECT DISTINCT left(outcome::VARCHAR, 60) FROM read_parquet([{listed}], union_by_name = true) "
        f"WHERE outcome NOT IN {_OUTCOMES} LIMIT 1"
    )
    for (outcome,) in connection.execute(query).fetchall():
        expected = f"expected one of {', '.join(_OUTCOMES)}"
        raise BadInput(f"{shown(tables / 'results')}: found the outcome {quoted(outcome)}, {expected}", AGAIN)


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()

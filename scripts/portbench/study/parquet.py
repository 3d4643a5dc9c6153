"""The Parquet tables of a study: written in parts, shown as views.

    <tables>/<table>/<part>.parquet     runs, results, samples, functions: each in parts, the same for all four

A part is never changed; the number and order of parts have no meaning. Studies up to version 3 have one file for each
table, ``<tables>/<table>.parquet``, and no table functions.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import resource
import shutil
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

import duckdb

from portbench.errors import BadInput
from portbench.formats.upgrade import RENAMED_CATEGORIES, RENAMED_COLUMNS, RENAMED_SYNC
from portbench.study.model import COMPLETE, TargetKey
from portbench.util.sql import load_sql
from portbench.util.strict_json import shown

TABLES = ("runs", "results", "samples", "functions")
AGAIN = "Merge the run files again, into a new folder."
_SINCE_VERSION_4 = ("functions",)

# The view that shows each table. The view functions is one of the analysis.
VIEWS = {"runs": "runs", "results": "results", "samples": "timed_calls", "functions": "listed_functions"}

# The modules, in addition to this package's SQL and to util/messages.py, that derived columns of the tables and the
# summary follow from.
_DERIVATION = ("document.py", "model.py", "summary.py", "drift.py", "failures.py", "fingerprints.py")

_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")

# Below it more threads cost more time than they save.
SMALL_BYTES = 2**20

# Parts with fewer rows of results are joined when there are many of them.
_SMALL_ROWS = 20_000
_MOST_SMALL = 16


def connect(spill: Path | None = None, threads: int = 0) -> duckdb.DuckDBPyConnection:
    """Connects to DuckDB in memory, which never downloads an extension and writes what does not fit to ``spill``.

    ``threads``: the greatest number of threads; 0: as many as there are cores.
    """
    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "preserve_insertion_order": "false",
        "memory_limit": _memory_limit(),
    }
    if spill:
        config["temp_directory"] = str(spill)
    if threads:
        config["threads"] = threads
    connection = duckdb.connect(config=config)
    # The progress bar would go to stdout, between the lines of a command.
    connection.execute("SET enable_progress_bar = false")
    # Its tables can be compressed (release_memory), temporary ones cannot.
    connection.execute("ATTACH ':memory:' AS tables (COMPRESS)")
    connection.execute("USE tables")
    return connection


def release_memory(connection: duckdb.DuckDBPyConnection) -> None:
    """Compresses tables that are not temporary, and gives the system back what earlier queries freed, which DuckDB does
    where its limit is set: it keeps hundreds of megabytes otherwise."""
    connection.execute("CHECKPOINT")
    connection.execute(f"SET memory_limit = {literal(_memory_limit())}")


def _memory_limit() -> str:
    """Half of what this process may have at most: a small file can ask for any amount."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    limits += [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_DATA, resource.RLIMIT_AS)]
    with contextlib.suppress(OSError, ValueError):
        limits.append(int(_CGROUP_LIMIT.read_text("ascii")))
    return f"{min(limit for limit in limits if limit > 0) // 2000} KB"


def set_variable(connection: duckdb.DuckDBPyConnection, name: str, value: str | int) -> None:
    """Sets a variable that the SQL reads."""
    connection.execute(f"SET VARIABLE {name} = {literal(value)}")


def literal(value: str | int) -> str:
    """A value as a literal of SQL. A parameter would make DuckDB import pandas if it is installed: one second."""
    if not isinstance(value, str):
        return str(value)
    quoted = value.replace("'", "''").replace("\0", "' || chr(0) || '")
    return f"('{quoted}')"


def files_of(tables: Path, table: str) -> list[Path]:
    """The Parquet files of one table; none if it is missing."""
    older = tables / f"{table}.parquet"
    return [older] if older.is_file() else sorted((tables / table).glob("*.parquet"))


def require_tables(tables: Path) -> None:
    """Raises BadInput if a table is missing."""
    for table in TABLES:
        if table not in _SINCE_VERSION_4 and not files_of(tables, table):
            raise BadInput(f"{shown(tables / table)} is missing", AGAIN)


def create_views(
    connection: duckdb.DuckDBPyConnection, tables: Path, only: TargetKey | None = None, function: str | None = None
) -> None:
    """Creates the views runs, results, timed_calls, samples (a row for each raw sample) and listed_functions.

    With ``only`` they have the rows of that key alone, and read only the parts with such rows; with ``function`` only
    results and samples of that function, and of the successors tried in its place. Columns that a table of an older
    version lacks are null. Raises BadInput if a table is missing or damaged.
    """
    require_tables(tables)
    stored = {table: files_of(tables, table) for table in TABLES}
    if sum(file.stat().st_size for files in stored.values() for file in files) <= SMALL_BYTES:
        connection.execute("SET threads = 1")
    connection.execute(load_sql("study", "added_columns"))
    parts = None
    for table in TABLES:
        files = [file for file in stored[table] if parts is None or file.name in parts]
        try:
            columns = _show_stored(connection, table, files)
            if table == "runs" and only:
                parts = _parts_with(connection, files, only)
            _show_rows(connection, table, columns, _wanted(table, only, function))
        except duckdb.Error as error:
            raise BadInput(f"{shown(tables / table)} is missing or damaged: {error}", AGAIN) from error
    connection.execute(load_sql("study", "shown_tables"))


def _show_stored(connection: duckdb.DuckDBPyConnection, table: str, files: Collection[Path]) -> list[str]:
    """Creates the view stored_<table> of files. Returns its columns."""
    if not files:
        connection.execute(f"CREATE TEMP VIEW stored_{table} AS FROM added_{table}")
        return []
    stored = connection.read_parquet([str(file) for file in files], union_by_name=True)
    stored.create_view(f"stored_{table}")
    return stored.columns


def _wanted(table: str, only: TargetKey | None, function: str | None) -> str:
    """The condition for the rows of a table that ``create_views`` shows."""
    conditions = ["true"]
    if only and table != "functions":
        conditions += [f"{name} = getvariable('only_{name}')" for name in only._fields]
    if function is not None and table in ("results", "samples"):
        conditions.append(f"{literal(function)} IN (function, successor_of)")
    return " AND ".join(conditions)


def _show_rows(connection: duckdb.DuckDBPyConnection, table: str, columns: Collection[str], wanted: str) -> None:
    # The table samples had a row for each raw sample up to version 3.
    kind = "older_samples" if table == "samples" and "protocol" in columns else table
    both = f"FROM stored_{table} UNION ALL BY NAME FROM added_{kind}"
    view = {"samples": "timed_calls", "functions": "functions_of_parts"}.get(kind, kind)
    present = "*" if table == "functions" else _present(table, columns)
    connection.execute(f"CREATE TEMP VIEW {view} AS FROM (SELECT {present} FROM ({both})) WHERE {wanted}")
    if kind == "older_samples":
        connection.execute(load_sql("study", "older_samples"))


def _present(table: str, columns: Collection[str]) -> str:
    """All columns of a table, with the names and values of the present version; ``columns`` are those of its files."""
    older = [name for name in RENAMED_COLUMNS if name in columns]
    exclude = f" EXCLUDE ({', '.join(older)})" if older else ""
    replaced = [
        f"CASE sync {_cases(RENAMED_SYNC)} ELSE coalesce(sync, {literal(COMPLETE)}) END AS sync",
        *(("coalesce(cold, 'test') AS cold",) if table == "runs" else ()),
        *(
            f"CASE {name} {_cases(RENAMED_CATEGORIES)} ELSE {name} END AS {name}"
            for name in columns
            if name == "category"
        ),
        *(f"coalesce({RENAMED_COLUMNS[name]}, {name}) AS {RENAMED_COLUMNS[name]}" for name in older),
    ]
    return f"*{exclude} REPLACE ({', '.join(replaced)})"


def _cases(renamed: Mapping[str, str]) -> str:
    return " ".join(f"WHEN {literal(old)} THEN {literal(new)}" for old, new in renamed.items())


def _parts_with(connection: duckdb.DuckDBPyConnection, files: Collection[Path], only: TargetKey) -> set[str]:
    """The names of the parts with run files of a key."""
    for name, value in only._asdict().items():
        set_variable(connection, f"only_{name}", value)
    where = " AND ".join(f"{name} = getvariable('only_{name}')" for name in only._fields)
    stored = f"FROM read_parquet({_list(files)}, filename = true, union_by_name = true)"
    runs = f"SELECT {_present('runs', ())} FROM ({stored} UNION ALL BY NAME FROM added_runs)"
    query = f"SELECT DISTINCT parse_filename(filename) FROM ({runs}) WHERE {where}"
    return {name for (name,) in connection.execute(query).fetchall()}


def write_part(
    connection: duckdb.DuckDBPyConnection, tables: Path, part: str, views: Mapping[str, str] = VIEWS
) -> None:
    """Writes one part of every table, from the view that ``views`` names for it."""
    for table in TABLES:
        # Without parents: a process that outlives its killed merge must not make the removed folder again.
        (tables / table).mkdir(exist_ok=True)
        file = tables / table / f"{part}.parquet"
        connection.sql(f"FROM {views[table]}").write_parquet(str(file), compression="zstd")


def link_parts(old: Path, new: Path) -> None:
    """Links the parts of old tables into new ones, and joins many small parts. The old tables stay as they are."""
    small = _small_parts(old)
    part = hashlib.sha256("\n".join(small).encode()).hexdigest()[:16]
    for table in TABLES:
        (new / table).mkdir(parents=True, exist_ok=True)
        for file in files_of(old, table):
            if file.name not in small:
                _link(file, new / table / file.name)
        if small:
            with connect() as connection:
                rows = connection.read_parquet([str(old / table / name) for name in small], union_by_name=True)
                rows.write_parquet(str(new / table / f"{part}.parquet"), compression="zstd")


def _small_parts(tables: Path) -> list[str]:
    """The names of the parts to join: those with few rows, if there are many of them."""
    files = files_of(tables, "results")
    if len(files) < _MOST_SMALL:
        return []
    with connect() as connection:
        query = f"SELECT file_name, num_rows FROM parquet_file_metadata({_list(files)})"
        try:
            rows = connection.execute(query).fetchall()
        except duckdb.Error as error:
            raise BadInput(f"{shown(tables / 'results')} is missing or damaged: {error}", AGAIN) from error
    small = sorted(Path(name).name for name, count in rows if count < _SMALL_ROWS)
    return small if len(small) >= _MOST_SMALL else []


def _list(files: Iterable[Path]) -> str:
    return f"[{', '.join(literal(str(file)) for file in files)}]"


def _link(file: Path, link: Path) -> None:
    try:
        link.hardlink_to(file)
    except OSError:
        # Not every file system has hard links.
        shutil.copyfile(file, link)


def sync(path: Path) -> None:
    """Waits until a file, or the entries of a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def tables_name(sha256s: Iterable[str]) -> str:
    """The name of the tables of the run files with these digests, derived by this version of the code."""
    lines = ["portbench/study 5", _derivation(), *sorted(sha256s)]
    return "tables-" + hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


@cache
def _derivation() -> str:
    return derivation_digest(derivation_files())


def derivation_files() -> list[Traversable]:
    """The code that tables and summary follow from, in a fixed order."""
    package = resources.files("portbench.study")
    sql = sorted((package / "sql").iterdir(), key=lambda file: file.name)
    messages = resources.files("portbench.util") / "messages.py"
    return [*(package / name for name in _DERIVATION), messages, *sql]


def derivation_digest(files: Iterable[Traversable]) -> str:
    """SHA-256 of the contents of files. A merge derives a study again that code with another digest has derived."""
    digest = hashlib.sha256()
    for file in files:
        content = file.read_bytes()
        digest.update(len(content).to_bytes(8, "big") + content)
    return digest.hexdigest()

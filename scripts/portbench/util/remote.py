"""Reads files from object stores and web servers, and writes to object stores, through DuckDB.

DuckDB reads URLs by its extension httpfs, which is installed as a Python package and never downloaded. It takes
credentials from the variables AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, ... for S3, and from DuckDB's
persistent secrets for S3 and all other stores.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import duckdb

from portbench.errors import BadInput, StorageFailed
from portbench.util.text import escape_control

_STORES = ("s3://", "s3a://", "s3n://", "gs://", "gcs://", "r2://")
_SCHEMES = (*_STORES, "hf://", "https://", "http://")


def is_url(given: str) -> bool:
    """Whether a path is the URL of a file, or a glob of URLs, in an object store or on a web server."""
    return given.lower().startswith(_SCHEMES)


def is_store(given: str) -> bool:
    """Whether a text is the URL of a folder in an object store, to which files can be written."""
    scheme, _, bucket = given.partition("://")
    return f"{scheme.lower()}://" in _STORES and bucket[:1].isalnum() and not set(bucket) & set("*?[]#")


def check_extension() -> None:
    """Raises StorageFailed if DuckDB's extension is missing."""
    connect().close()


def store(file: Path, folder: str) -> str:
    """Copies a file to a folder of an object store, replacing one of its name. Returns the URL of the copy.

    Raises StorageFailed, which says where the file is here.
    """
    url = f"{folder.rstrip('/')}/{file.name}"
    try:
        with connect() as connection:
            connection.execute("CREATE TEMP TABLE copied AS SELECT ?::BLOB AS content", [file.read_bytes()])
            # COPY takes no parameters.
            connection.execute(f"COPY copied TO '{url.replace(chr(39), 2 * chr(39))}' (FORMAT BLOB)")
    except duckdb.Error as error:
        raise StorageFailed(
            f"{escape_control(url)} cannot be written: {escape_control(str(error).splitlines()[0])}",
            f"The file is complete here: {escape_control(str(file))}. Check the URL, the network and the credentials, "
            "then copy it, or give the same command with --resume: it only copies.",
        ) from error
    return url


def fetch(url: str, folder: Path) -> Iterator[tuple[Path, str]]:
    """Downloads the file at ``url``, or all files of a glob, to ``folder``. Yields the path and the URL of each.

    Raises BadInput if there is no file, StorageFailed if it cannot be read or DuckDB's extension is missing.
    """
    try:
        with connect() as connection:
            names = [name for (name,) in connection.execute("SELECT file FROM glob(?)", [url]).fetchall()]
            if not names:
                raise BadInput(f"{escape_control(url)}: no file there", "Check the URL.")
            for name in sorted(names):
                (row,) = connection.execute("SELECT content FROM read_blob(?)", [name]).fetchall()
                folder.mkdir(parents=True, exist_ok=True)
                file = folder / f"{len(list(folder.iterdir()))}.json"
                file.write_bytes(row[0])
                yield file, name
    except duckdb.Error as error:
        raise StorageFailed(
            f"{escape_control(url)} cannot be read: {escape_control(str(error).splitlines()[0])}",
            "Check the URL, the network and the credentials; or copy the files here and give their folder.",
        ) from error


def connect() -> duckdb.DuckDBPyConnection:
    """A connection that reads and writes URLs. Raises StorageFailed if DuckDB's extension is missing."""
    try:
        package = resources.files("duckdb_extension_httpfs")
    except ModuleNotFoundError:
        raise StorageFailed(
            "the package duckdb-extension-httpfs is missing; DuckDB needs it to read URLs",
            "Install it in portbench's environment; or copy the files here and give their folder.",
        ) from None
    # Changes neither settings nor secrets of this machine's DuckDB, and looks for extensions nowhere else.
    connection = duckdb.connect(config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"})
    file = package / "extensions" / f"v{duckdb.__version__}" / "httpfs.duckdb_extension"
    with resources.as_file(file) as path:
        connection.execute(f"LOAD '{str(path).replace(chr(39), 2 * chr(39))}'")
    return connection

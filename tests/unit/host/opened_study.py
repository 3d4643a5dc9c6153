"""A study that is made of run documents and opened for analysis."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from portbench.analysis import analyse
from portbench.merge import merge
from portbench.study import connect, read_study, show_tables

Document = dict[str, Any]
LISTED = ("framework", "manifest", "function", "decile", "uses", "top20", "listed_as")


def opened(documents: Sequence[Document], folder: Path) -> duckdb.DuckDBPyConnection:
    """Merges run documents in ``folder`` and opens the study with the views of the analysis."""
    runs = folder / "runs"
    runs.mkdir()
    for number, document in enumerate(documents):
        (runs / f"{number}.json").write_text(json.dumps(document), "utf-8")
    merge([str(runs)], folder / "study")
    return opened_study(folder / "study", documents)


def opened_study(
    path: Path, documents: Sequence[Document], strict_placement: bool = False
) -> duckdb.DuckDBPyConnection:
    """Opens a study with the views of the analysis."""
    connection = connect()
    show_tables(connection, read_study(path).tables)
    analyse(connection, strict_placement)
    if not connection.sql("SELECT 1 FROM duckdb_views() WHERE view_name = 'listed_functions'").fetchall():
        _list(connection, documents)
    return connection


def _list(connection: duckdb.DuckDBPyConnection, documents: Sequence[Document]) -> None:
    """The table that a study of version 4 brings along."""
    connection.execute(
        "CREATE TEMP TABLE listed_functions (framework VARCHAR, manifest VARCHAR, function VARCHAR, decile BIGINT, "
        "uses BIGINT, top20 BOOLEAN, listed_as VARCHAR)"
    )
    for document in documents:
        for row in document["manifest"].get("functions", []):
            values = [document["target"]["framework"], document["manifest"]["name"], row["name"]]
            values += [row[name] for name in LISTED[3:]]
            connection.execute("INSERT INTO listed_functions VALUES (?, ?, ?, ?, ?, ?, ?)", values)


def listed(
    name: str, decile: int | None, uses: int | None, top20: bool | None, listed_as: str | None = None
) -> Document:
    """A function as a run file's manifest lists it."""
    return {"name": name, "tests": 1, "decile": decile, "uses": uses, "top20": top20, "listed_as": listed_as}

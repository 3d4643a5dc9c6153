"""A study that is made of run documents and opened for analysis."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from portbench.study.merge import merge
from portbench.study.store import connect, create_views, read_study
from portbench.study.summary import analyse

Document = dict[str, Any]


def opened(documents: Sequence[Document], folder: Path) -> duckdb.DuckDBPyConnection:
    """Merges run documents in ``folder`` and opens the study with the views of the analysis."""
    runs = folder / "runs"
    runs.mkdir()
    for number, document in enumerate(documents):
        (runs / f"{number}.json").write_text(json.dumps(document), "utf-8")
    merge([str(runs)], folder / "study")
    return opened_study(folder / "study")


def opened_study(path: Path, strict_placement: bool = False) -> duckdb.DuckDBPyConnection:
    """Opens a study with the views of the analysis."""
    connection = connect()
    create_views(connection, read_study(path).tables)
    analyse(connection, strict_placement)
    return connection


def listed(
    name: str, decile: int | None, uses: int | None, top20: bool | None, listed_as: str | None = None
) -> Document:
    """A function as a run file's manifest lists it."""
    return {"name": name, "tests": 1, "decile": decile, "uses": uses, "top20": top20, "listed_as": listed_as}

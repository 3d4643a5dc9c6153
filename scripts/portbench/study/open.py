"""Opens a study to read it: one that is on disk, or a temporary one made of run files.

Report, compare and explain call this. Raises BadInput for paths that hold neither a study nor run files.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from portbench.study.document import StudySummary
from portbench.study.merge import merge
from portbench.study.store import Study, connect, create_views, is_study, read_study
from portbench.study.summary import analyse, runs_of, summarise


@dataclass(frozen=True)
class Analysed:
    """A study with the views of the analysis on ``connection``. ``summary`` has the same placement rule applied."""

    connection: duckdb.DuckDBPyConnection
    summary: StudySummary


@contextmanager
def study_of(paths: Sequence[str]) -> Iterator[Study]:
    """The study at a path, or else a temporary study of the run files that the paths hold."""
    if len(paths) == 1 and is_study(Path(paths[0])):
        yield read_study(Path(paths[0]))
    else:
        with tempfile.TemporaryDirectory(prefix="portbench-") as folder:
            yield merge(paths, Path(folder, "study"), allow_drift=True).study


@contextmanager
def analysed(study: Study, strict_placement: bool = False) -> Iterator[Analysed]:
    """Reads a study; its tables may be of an older version. Raises BadInput where they are missing or damaged.

    With ``strict_placement`` a test that passed, but not wholly on the device, counts as failed.
    """
    with connect() as connection:
        create_views(connection, study.tables)
        analyse(connection, strict_placement)
        summary = summarise(
            connection,
            runs_of(study.summary),
            study.tables.name,
            strict_placement,
            study.summary.get("classification"),
        )
        yield Analysed(connection, summary)

"""Opens a study to read it: one that is on disk, or a temporary one made of run files.

Report, compare and explain call this. Raises BadInput for paths that hold neither a study nor run files.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from portbench.study.contradictions import Mixture, SeveralContents
from portbench.study.document import StudySummary, TargetEntry
from portbench.study.merge import merge
from portbench.study.parquet import release_memory, tables_name
from portbench.study.run_files import Source
from portbench.study.store import Study, connect, create_views, is_study, read_study
from portbench.study.summary import analyse, runs_of, summarise
from portbench.study.tables_check import reading
from portbench.util.temporary import temporary_folder
from portbench.util.text import escape_control, pluralize


@dataclass(frozen=True)
class Analysed:
    """A study with the views of the analysis on ``connection``. ``head`` is its summary, maybe without targets.
    ``read_targets`` reads them, with the placement rule of ``connection``, one by one: those of a large study take much
    memory together."""

    connection: duckdb.DuckDBPyConnection
    head: StudySummary
    read_targets: Callable[[], Iterator[TargetEntry]]

    @property
    def summary(self) -> StudySummary:
        """The whole summary, read for the caller."""
        return {**self.head, "targets": list(self.read_targets())}


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr)


@contextmanager
def study_of(paths: Sequence[str], notify: Callable[[str], None] = _to_stderr) -> Iterator[Study]:
    """The study at a path, or else a temporary study of the run files and studies that the paths hold.

    Where a manifest was changed between runs, each target is shown with the newest content that it ran; ``notify`` gets
    one line about the run files that were left out.
    """
    if len(paths) == 1 and is_study(Path(paths[0])):
        yield read_study(Path(paths[0]))
        return
    with temporary_folder() as folder:
        path = folder / "study"
        try:
            merged = merge(paths, path, allow_drift=True)
        except SeveralContents as error:
            merged = merge(paths, path, allow_drift=True, left_out={source.run.sha256 for source in error.older})
            if error.older:
                notify(_left_out(error.older))
        yield merged.study


@contextmanager
def studies_of(paths: Sequence[str]) -> Iterator[list[Study]]:
    """The study of several paths, as ``study_of`` opens it, or two: of collected tests and of others, which are never
    in one study. A path with both is refused."""
    with ExitStack() as stack:
        try:
            studies = [stack.enter_context(study_of(paths))]
        except Mixture:
            if len(paths) == 1:
                raise
            kinds: dict[bool, list[str]] = {}
            for path in paths:
                with study_of([path], notify=lambda _line: None) as study:
                    kinds.setdefault(is_collected(study), []).append(path)
            studies = [stack.enter_context(study_of(kinds[kind])) for kind in sorted(kinds)]
        yield studies


def is_collected(study: Study) -> bool:
    """Whether a study is of collected tests."""
    return any(run.is_collected for run in runs_of(study.head))


def _left_out(older: Sequence[Source]) -> str:
    names = ", ".join(escape_control(source.name) for source in older)
    manifests = ", ".join(dict.fromkeys(escape_control(source.run.manifest) for source in older))
    return f"left out {pluralize(len(older), 'run file')} of an older content of {manifests}: {names}"


@contextmanager
def analysed(study: Study, strict_placement: bool = False) -> Iterator[Analysed]:
    """Reads a study; its tables may be of an older version. Raises BadInput where they are missing or damaged.

    With ``strict_placement`` a test that passed, but not wholly on the device, counts as failed.
    """
    with reading(study.tables), connect() as connection:
        create_views(connection, study.tables)
        analyse(connection, strict_placement)
        release_memory(connection)
        runs = runs_of(study.head)
        is_current = study.tables.name == tables_name(run.sha256 for run in runs)
        targets = {target.key for target in study.targets}
        if not strict_placement and is_current and targets == {run.key for run in runs}:
            # This version of the code has derived it, by the same rules, and nobody renamed a target in it.
            yield Analysed(connection, study.head, study.read_targets)
            return
        classification = study.head.get("classification")
        summary = summarise(connection, runs, study.tables.name, strict_placement, classification)
        yield Analysed(connection, summary, lambda: iter(summary["targets"]))

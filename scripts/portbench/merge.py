"""Merges run files of any number of machines into a study.

The result depends on the set of run files alone: their order, their names, and how often one is given do not matter.
Python checks each file and compares their keys; DuckDB reads what they hold and writes it as Parquet.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path

import duckdb

from portbench import study as studies
from portbench.analysis import RunFile, Target, analyse, runs_of, summarise
from portbench.errors import BadInput, Contradiction
from portbench.failures import put_fingerprints
from portbench.jsonfile import shown
from portbench.printable import printable
from portbench.study import Study, statements
from portbench.validate import JOURNAL, Document, files_below, read_document

_SMALLEST_BUFFER_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class Source:
    """A run file that was given: where it lies and what it is."""

    path: Path
    size_bytes: int
    run: RunFile


@dataclass(frozen=True)
class Found:
    """What the given paths hold. ``unfinished``: journals without a run file; ``others``: manifests and studies."""

    sources: tuple[Source, ...]
    unfinished: tuple[Path, ...]
    others: tuple[Path, ...]


@dataclass(frozen=True)
class Merged:
    """What a merge did. ``known``: run files that the study had already; ``unclassified``: what 'portbench classify'
    had made of its categories was taken back, since there are new failures."""

    study: Study
    added: int
    known: int
    unfinished: tuple[Path, ...]
    others: tuple[Path, ...]
    unclassified: bool = False


def merge(paths: Iterable[str], path: Path) -> Merged:
    """Merges run files, the folders and globs that hold them, into the study at ``path``, new or not.

    Raises BadInput for what is no valid run file, Contradiction for run files that cannot be in one study,
    StorageFailed where the study cannot be written. After an error the study is as it was.
    """
    found = find_run_files(paths)
    with studies.lock(path):
        old = studies.read_study(path) if studies.is_study(path) else None
        before = runs_of(old.summary) if old else []
        digests = {run.sha256 for run in before}
        new = [source for source in found.sources if source.run.sha256 not in digests]
        _refuse_contradictions(before, path, found.sources)
        merged = _write(path, old, before, new) if new or old is None else old
    unclassified = bool(new and old and old.summary.get("classification"))
    return Merged(merged, len(new), len(found.sources) - len(new), found.unfinished, found.others, unclassified)


def find_run_files(paths: Iterable[str]) -> Found:
    """Reads and checks every run file that files, folders and globs hold; each content is taken once.

    Raises BadInput for a path that holds none, and for a file that is not valid.
    """
    sources: dict[str, Source] = {}
    unfinished: list[Path] = []
    others: list[Path] = []
    for given in paths:
        files = _files(given)
        journals = [file for file in files if file.name.endswith(JOURNAL)]
        found = False
        for file in (file for file in files if not file.name.endswith(JOURNAL)):
            document = read_document(file, "run" if str(file) == given else "")
            if document.kind == "run":
                found = True
                sources.setdefault(document.sha256, _source(document))
            else:
                others.append(file)
        if not found:
            raise _no_run_file(given, journals)
        unfinished += [journal for journal in journals if not _run_file_of(journal).exists()]
    return Found(tuple(sources.values()), tuple(dict.fromkeys(unfinished)), tuple(dict.fromkeys(others)))


def _files(given: str) -> list[Path]:
    """The .json files and journals that a path stands for, which is a file, a folder or a glob."""
    path = Path(given)
    if path.exists() or not has_magic(given):
        matches = [path]
    else:
        matches = [Path(match) for match in sorted(glob(given, recursive=True))]  # noqa: PTH207 (Path.glob: relative only)
    return [file for match in matches for file in (files_below(match) if match.is_dir() else [match])]


def _run_file_of(journal: Path) -> Path:
    return journal.with_name(journal.name.removesuffix(JOURNAL) + ".json")


def _no_run_file(given: str, journals: Sequence[Path]) -> BadInput:
    if journals:
        return BadInput(
            f"{printable(given)}: no run file, only what an unfinished run left: {shown(journals[0])}",
            "Finish the run with 'portbench run --resume', then merge again.",
        )
    return BadInput(
        f"{printable(given)}: no run file there", "Give the files that 'portbench run' wrote, or their folder."
    )


def _source(document: Document) -> Source:
    data = document.data
    mutant = data["protocol"].get("mutant")
    if mutant:
        raise BadInput(
            f"{shown(document.path)}: its functions were broken on purpose (mutant {mutant}), to audit the tests",
            "Such results say nothing about a framework: leave the file out.",
        )
    return Source(
        document.path,
        document.size_bytes,
        RunFile(
            run_id=data["run_id"],
            sha256=document.sha256,
            target=Target(**data["target"]),
            machine=data["environment"]["machine"],
            sync=data["protocol"].get("sync", "complete"),
            manifest=data["manifest"]["name"],
            manifest_sha256=data["manifest"]["sha256"],
            started_at=data["started_at"],
        ),
    )


def _refuse_contradictions(known: Iterable[RunFile], study: Path, sources: Iterable[Source]) -> None:
    """Raises Contradiction for one run_id with two contents, and for one manifest name with two contents."""
    all_runs = [*((run, f"in {shown(study)}") for run in known), *((s.run, f"of {shown(s.path)}") for s in sources)]
    files: dict[str, tuple[str, str]] = {}
    manifests: dict[str, tuple[str, str]] = {}
    for run, place in all_runs:
        file, where = files.setdefault(run.run_id, (run.sha256, place))
        if file != run.sha256:
            raise Contradiction(
                f"run_id {run.run_id} stands for two contents: sha256 {file} {where}, {run.sha256} {place}",
                "One of them was changed after the run: keep the file that the runner wrote.",
            )
        manifest, where = manifests.setdefault(run.manifest, (run.manifest_sha256, place))
        if manifest != run.manifest_sha256:
            raise Contradiction(
                f"manifest {printable(run.manifest)} stands for two contents: "
                f"sha256 {manifest} {where}, {run.manifest_sha256} {place}",
                "Merge them into two studies, or give the changed manifest a name of its own and run it again.",
            )


def _write(path: Path, old: Study | None, known: Sequence[RunFile], new: Sequence[Source]) -> Study:
    """Adds run files to the study at ``path``, or makes it."""
    runs = [*known, *(source.run for source in new)]
    name = studies.tables_name(run.sha256 for run in runs)
    with studies.staging(path) as staged:
        tables = staged / name
        tables.mkdir()
        with studies.connect(spill=staged / "spill") as connection:
            _read(connection, new)
            if old:
                studies.show_tables(connection, old.tables, prefix="old_")
            else:
                connection.execute(statements("added_columns"))
            for table in studies.TABLES:
                before = f"FROM old_{table}" if old else f"FROM added_{table}"
                both = f"{before} UNION ALL BY NAME FROM new_{table}"
                connection.execute(f"CREATE TEMP VIEW both_{table} AS {both}")
            connection.execute(statements("merged_results"))
            put_fingerprints(connection, "told_results")
            for table, view in (("runs", "both_runs"), ("results", "merged_results"), ("samples", "both_samples")):
                connection.sql(f"FROM {view}").write_parquet(str(tables / f"{table}.parquet"), compression="zstd")
            studies.show_tables(connection, tables)
            analyse(connection)
            summary = summarise(connection, runs, name)
        studies.publish(path, tables, summary)
    return Study(path, summary)


def _read(connection: duckdb.DuckDBPyConnection, sources: Sequence[Source]) -> None:
    # Links named by digest: DuckDB would take a name with a star in it for a glob, and tells files apart by name alone.
    with tempfile.TemporaryDirectory(prefix="portbench-") as links:
        files = [Path(links, f"{source.run.sha256}.json") for source in sources]
        for file, source in zip(files, sources, strict=True):
            file.symlink_to(source.path.resolve())
        largest = max(_SMALLEST_BUFFER_BYTES, *(source.size_bytes for source in sources))
        connection.execute("SET VARIABLE files = ?", [[str(file) for file in files]])
        connection.execute("SET VARIABLE largest_bytes = ?", [largest])
        connection.execute(statements("read_run_files"))
        connection.execute(statements("new_tables"))

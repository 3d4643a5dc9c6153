"""Merges run files of any number of machines into a study.

What a study says depends on the set of run files alone: their order, their names, how often one is given and in how
many merges they came do not matter. A merge reads new run files only, and derives anew only what they have a part in.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import orjson

from portbench.errors import Contradiction
from portbench.study import store as studies
from portbench.study.drift import Drift, drifts
from portbench.study.failures import put_fingerprints
from portbench.study.parquet import (
    VIEWS,
    TargetKey,
    connect,
    create_views,
    files_of,
    link_parts,
    tables_name,
    write_part,
)
from portbench.study.run_files import InputFile, Listing, Source, list_files, no_run_file, write_run_files
from portbench.study.store import Study
from portbench.study.summary import Row, RunFile, analyse, analyse_failures, key_of, runs_of, summarise, target_entries
from portbench.util.parallel import gc_paused, map_processes
from portbench.util.sql import load_sql
from portbench.util.strict_json import shown
from portbench.util.text import escape_control, shortened

# So many bytes of run files are read into one part, by one process.
_BATCH_BYTES = 32 * 1024 * 1024
# Where the table results is larger, each target is analysed by itself, in several processes.
_LARGE_BYTES = 4 * 1024 * 1024

Accepted = Mapping[str, Source | None]


@dataclass(frozen=True)
class Merged:
    """What a merge did. ``known``: run files that the study had already; ``unfinished``: journals without a run file;
    ``others``: manifests and studies among the files; ``unclassified``: what 'portbench classify' had made of its
    categories was taken back, since there are new failures."""

    study: Study
    added: int
    known: int
    unfinished: tuple[Path, ...]
    others: tuple[str, ...]
    unclassified: bool = False


def merge(paths: Iterable[str], path: Path, allow_drift: bool = False) -> Merged:
    """Merges run files, and the folders, globs and URLs that hold them, into the study at ``path``, new or not.

    Raises BadInput for what is no valid run file; Contradiction for run files that cannot be in one study and, without
    ``allow_drift``, for drift that they bring (portbench.drift); StorageFailed where something cannot be read or the
    study cannot be written. After an error the study is as it was.
    """
    with gc_paused(), tempfile.TemporaryDirectory(prefix="portbench-") as downloads:
        listings = list_files(paths, Path(downloads))
        with studies.lock(path):
            old = studies.read_study(path) if studies.is_study(path) else None
            known = {run.sha256 for run in runs_of(old.summary)} if old else set()
            study, taken = _add(path, old, _new_files(listings, known), listings, allow_drift)
    added = sum(source is not None for source in taken.values())
    given = {file.sha256: file.name for listing in listings for file in listing.files}
    return Merged(
        study=study,
        added=added,
        known=len(known & given.keys()),
        unfinished=tuple(dict.fromkeys(chain.from_iterable(listing.unfinished for listing in listings))),
        others=tuple(given[sha256] for sha256, source in taken.items() if source is None),
        unclassified=bool(added and old and old.summary.get("classification")),
    )


def _new_files(listings: Iterable[Listing], known: set[str]) -> list[InputFile]:
    """The files whose content the study does not have, each content once: named by itself, if it is anywhere."""
    found: dict[str, InputFile] = {}
    for file in chain.from_iterable(listing.files for listing in listings):
        if file.sha256 not in known and (file.is_named or file.sha256 not in found):
            found[file.sha256] = file
    return list(found.values())


def _add(
    path: Path, old: Study | None, files: Sequence[InputFile], listings: Sequence[Listing], allow_drift: bool
) -> tuple[Study, Accepted]:
    """Adds what is new to a study, or makes it. Returns it and what each file turned out to be."""
    if old and not files:
        return old, {}
    before = runs_of(old.summary) if old else []
    with studies.staging(path) as staged:
        tables = staged / "tables"
        taken = _read(files, tables)
        new = [source for source in taken.values() if source]
        for listing in listings:
            if all(file.sha256 in taken and not taken[file.sha256] for file in listing.files):
                raise no_run_file(listing.path, listing.journals)
        _refuse_contradictions(before, path, new)
        if old and not new:
            return old, taken
        runs = [*before, *(source.run for source in new)]
        is_current = old is not None and old.tables.name == tables_name(run.sha256 for run in before)
        if old and is_current:
            link_parts(old.tables, tables)
        elif old:
            _tell_again(old, tables, staged / "spill")
        tables = tables.rename(staged / tables_name(run.sha256 for run in runs))
        touched = {key_of(source.run) for source in new}
        kept = [entry for entry in _entries(old) if key_of(entry) not in touched] if is_current else []
        summary = _summary(tables, runs, kept, staged / "spill", path, {} if allow_drift else _names(new))
        studies.publish(path, tables, summary)
    return Study(path, summary), taken


def _entries(study: Study | None) -> list[Row]:
    return list(study.summary["targets"]) if study else []


def _names(sources: Iterable[Source]) -> dict[str, str]:
    return {source.run.sha256: source.name for source in sources}


def _read(files: Sequence[InputFile], tables: Path) -> Accepted:
    """Reads new files into parts of ``tables``, batch by batch."""
    tables.mkdir()
    batches = list(_batches(files))
    threads = 1 if batches[1:] else 0
    sources = map_processes(write_run_files, [(batch, tables, threads) for batch in batches])
    return dict(zip((file.sha256 for file in files), chain.from_iterable(sources), strict=True))


def _batches(files: Sequence[InputFile]) -> Iterator[list[InputFile]]:
    batch: list[InputFile] = []
    for file in files:
        if batch and sum(each.size_bytes for each in batch) + file.size_bytes > _BATCH_BYTES:
            yield batch
            batch = []
        batch.append(file)
    yield batch


def _tell_again(old: Study, tables: Path, spill: Path) -> None:
    """Writes the tables of a study of an older version, or one that was classified, as a part of new tables."""
    with connect(spill) as connection:
        create_views(connection, old.tables)
        connection.execute(load_sql("study", "recorded_results"))
        put_fingerprints(connection, "recorded_results")
        connection.execute(load_sql("study", "part_results"))
        part = hashlib.sha256(old.tables.name.encode()).hexdigest()[:16]
        write_part(connection, tables, part, {**VIEWS, "results": "part_results"})


def _summary(
    tables: Path, runs: Sequence[RunFile], kept: Sequence[Row], spill: Path, path: Path, new: Mapping[str, str]
) -> Row:
    """The summary of new tables; entries of targets that nothing was added to are ``kept``.

    Raises Contradiction for drift that the files ``new`` (digest → name) bring.
    """
    with connect(spill) as connection:
        create_views(connection, tables)
        for drift in drifts(connection):
            _refuse_drift(drift, path, new)
        if sum(file.stat().st_size for file in files_of(tables, "results")) <= _LARGE_BYTES:
            analyse(connection)
            return summarise(connection, runs, tables.name)
        analyse_failures(connection)
        keys = sorted({key_of(run) for run in runs} - {key_of(entry) for entry in kept})
        threads = 1 if keys[1:] else 0
        entries = map_processes(_entries_as_json, [(tables, key, threads) for key in keys])
        return summarise(connection, runs, tables.name, targets=chain(kept, *map(orjson.loads, entries)))


def _entries_as_json(tables: Path, key: TargetKey, threads: int) -> bytes:
    """The entries of one target; as JSON, since pickled they take many times as long from process to process."""
    return orjson.dumps(target_entries(tables, key, threads))


def _refuse_contradictions(known: Iterable[RunFile], study: Path, sources: Iterable[Source]) -> None:
    """Raises Contradiction for one run_id with two contents, and for one manifest name with two contents."""
    all_runs = [
        *((run, f"in {shown(study)}") for run in known),
        *((s.run, f"of {escape_control(s.name)}") for s in sources),
    ]
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
                f"manifest {escape_control(run.manifest)} stands for two contents: "
                f"sha256 {manifest} {where}, {run.manifest_sha256} {place}",
                "Merge them into two studies, or give the changed manifest a name of its own and run it again.",
            )


def _refuse_drift(drift: Drift, study: Path, new: Mapping[str, str]) -> None:
    """Raises Contradiction where only new run files have one of the values."""
    brought = [value for value, digests in drift.values.items() if all(digest in new for digest in digests)]
    if brought:
        other = next(value for value in drift.values if value != brought[-1])
        places = [
            f"{escape_control(shortened(value, 80))} {_place(drift.values[value], study, new)}"
            for value in (other, brought[-1])
        ]
        raise Contradiction(
            f"{escape_control(str(drift))} is not the same in all run files: {', '.join(places)}",
            "Merge them into two studies, or allow it with --allow-drift; the report shows it then.",
        )


def _place(digests: Sequence[str], study: Path, new: Mapping[str, str]) -> str:
    named = [new[digest] for digest in digests if digest in new]
    return f"of {escape_control(named[0])}" if named else f"in {shown(study)}"

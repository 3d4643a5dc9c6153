"""Merges run files of any number of machines, and other studies, into a study.

A merge is five steps: find the files, read and check the new ones, append their parts to the tables, derive what
changed, write the summary. What a study says depends on the set of run files alone: their order, their names,
duplicates among them and the number of merges do not matter. A merge reads new run files only, and derives again only
the targets that they add results to.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from portbench.study import store as studies
from portbench.study.contradictions import refuse_contradictions, refuse_drift, refuse_pooling
from portbench.study.document import StudySummary
from portbench.study.drift import drifts
from portbench.study.failures import put_fingerprints
from portbench.study.model import RunFile, TargetKey
from portbench.study.parquet import (
    SMALL_BYTES,
    connect,
    create_views,
    files_of,
    link_parts,
    literal,
    tables_name,
    write_part,
)
from portbench.study.run_files import InputFile, Listing, Source, list_files, no_run_file, write_run_files
from portbench.study.store import Study
from portbench.study.summary import analyse, analyse_failures, runs_of, summarise, target_entries
from portbench.study.summary_file import TargetText
from portbench.util.parallel import gc_paused, map_processes
from portbench.util.sql import load_sql
from portbench.util.temporary import temporary_folder

# One process reads run files of up to this size into one part.
_BATCH_BYTES = 32 * 1024 * 1024
# Where the table results is larger, several processes derive one target each.
_LARGE_BYTES = 4 * 1024 * 1024

_CHOSEN = {
    "runs": "chosen_runs",
    "results": "chosen_results",
    "samples": "chosen_calls",
    "functions": "chosen_functions",
}

Accepted = Mapping[str, Source | None]
"""What each new file turned out to be, by its digest; None: no run file."""


@dataclass(frozen=True)
class Merged:
    """The result of a merge. ``known``: run files that the study had already; ``unfinished``: journals without a run
    file; ``others``: manifests and summaries of studies among the files; ``unclassified``: the categories of
    'portbench classify' were removed, because there are new failures, or since another study had them."""

    study: Study
    added: int
    known: int
    unfinished: tuple[Path, ...]
    others: tuple[str, ...]
    unclassified: bool = False


def merge(
    paths: Iterable[str], path: Path, allow_drift: bool = False, left_out: Collection[str] | None = None
) -> Merged:
    """Merges run files, the folders, globs and URLs that hold them, and studies into the study at ``path``, new or not.

    Files with a digest in ``left_out`` are not read. If it is given, a manifest may have several contents.

    Raises BadInput for a file that is no valid run file; Contradiction for run files that cannot be in one study and,
    without ``allow_drift``, for drift that they bring (portbench.study.drift); StorageFailed where something cannot be
    read or the study cannot be written. After an error the study is as it was.
    """
    paths = list(dict.fromkeys(paths))
    of_studies = [each for each in paths if studies.is_study(Path(each))]
    others = [studies.read_study(Path(each)) for each in of_studies]
    with gc_paused(), temporary_folder() as downloads:
        listings = list_files((each for each in paths if each not in of_studies), downloads)
        with studies.lock(path):
            old = studies.read_study(path) if studies.is_study(path) else None
            known = {run.sha256 for run in _runs(old)}
            files = _new_files(listings, known | set(left_out or ()))
            joined = _new_runs(others, known | set(left_out or ()) | {file.sha256 for file in files})
            study, accepted = _add(path, old, files, joined, listings, allow_drift, left_out is not None)
    added = len(_sources(accepted, joined))
    given = {file.sha256: file.name for listing in listings for file in listing.files}
    given_by_studies = {run.sha256 for other in others for run in _runs(other)}
    return Merged(
        study=study,
        added=added,
        known=len(known & (given.keys() | given_by_studies)),
        unfinished=tuple(dict.fromkeys(chain.from_iterable(listing.unfinished for listing in listings))),
        others=tuple(given[sha256] for sha256, source in accepted.items() if source is None),
        unclassified=bool(added) and any(each.head.get("classification") for each in (old, *others) if each),
    )


def _add(
    path: Path,
    old: Study | None,
    files: Sequence[InputFile],
    joined: Mapping[Path, Sequence[Source]],
    listings: Sequence[Listing],
    allow_drift: bool,
    several_contents: bool,
) -> tuple[Study, Accepted]:
    """Adds new files, and the run files ``joined`` of other studies, to a study, or creates it. Returns the study, and
    what each file turned out to be."""
    if old and not files and not joined:
        studies.remove_remains(path, old)
        return old, {}
    with studies.staging(path, old) as staged:
        tables, spill = staged / "tables", staged / "spill"
        accepted = _read_and_check(files, listings, tables)
        new = _sources(accepted, joined)
        refuse_contradictions(_runs(old), path, new, several_contents)
        if old and not new:
            return old, accepted
        runs = [*_runs(old), *(source.run for source in new)]
        kept = _append_old_parts(old, {source.run.key for source in new}, tables, spill)
        for other, sources in joined.items():
            _append_part(other, [source.run for source in sources], tables, spill)
        tables = tables.rename(staged / tables_name(run.sha256 for run in runs))
        brought = {} if allow_drift else {source.run.sha256: source.name for source in new}
        head, targets = _derive(tables, runs, kept, spill, path, brought)
        return studies.publish(path, tables, head, targets), accepted


def _runs(study: Study | None) -> list[RunFile]:
    return runs_of(study.head) if study else []


def _sources(accepted: Accepted, joined: Mapping[Path, Sequence[Source]]) -> list[Source]:
    """The run files among new files, and those of other studies."""
    return [source for source in (*accepted.values(), *chain.from_iterable(joined.values())) if source]


def _new_files(listings: Iterable[Listing], known: set[str]) -> list[InputFile]:
    """The files whose content the study does not have, each content once; a file that was named by itself first."""
    found: dict[str, InputFile] = {}
    for file in chain.from_iterable(listing.files for listing in listings):
        if file.sha256 not in known and (file.is_named or file.sha256 not in found):
            found[file.sha256] = file
    return list(found.values())


def _new_runs(others: Iterable[Study], known: set[str]) -> dict[Path, list[Source]]:
    """The run files of other studies that the study does not have, by the folder of their tables, each once."""
    seen = set(known)
    found: dict[Path, list[Source]] = {}
    for other in others:
        runs = [run for run in _runs(other) if run.sha256 not in seen]
        if runs:
            found[other.tables] = [Source(str(other.path), run) for run in runs]
        seen.update(run.sha256 for run in runs)
    return found


def _read_and_check(files: Sequence[InputFile], listings: Iterable[Listing], tables: Path) -> Accepted:
    """Reads new files into parts of ``tables``, batch by batch.

    Raises BadInput for a file that is not valid, and for a listing with new files, none of which is a run file.
    """
    tables.mkdir()
    batches = list(_batches(files))
    is_small = sum(file.size_bytes for file in files) <= SMALL_BYTES
    threads = 1 if batches[1:] or is_small else 0
    sources = map_processes(write_run_files, [(batch, tables, threads) for batch in batches])
    accepted = dict(zip((file.sha256 for file in files), chain.from_iterable(sources), strict=True))
    for listing in listings:
        if all(file.sha256 in accepted and not accepted[file.sha256] for file in listing.files):
            raise no_run_file(listing.path, listing.journals)
    return accepted


def _batches(files: Sequence[InputFile]) -> Iterator[list[InputFile]]:
    batch: list[InputFile] = []
    for file in files:
        if batch and sum(each.size_bytes for each in batch) + file.size_bytes > _BATCH_BYTES:
            yield batch
            batch = []
        batch.append(file)
    yield batch


def _append_old_parts(old: Study | None, touched: set[TargetKey], tables: Path, spill: Path) -> list[TargetText]:
    """Gives new tables the parts of a study. Returns the entries of its summary that stay as they are.

    Parts of an older version, of other code or of 'portbench classify' are derived again; no entry stays then.
    """
    if old is None:
        return []
    if old.tables.name == tables_name(run.sha256 for run in _runs(old)):
        link_parts(old.tables, tables)
        return [target for target in old.targets if target.key not in touched]
    _append_part(old.tables, _runs(old), tables, spill)
    return []


def _append_part(source: Path, runs: Sequence[RunFile], tables: Path, spill: Path) -> None:
    """Writes some run files of a study, whose tables are at ``source``, as one part of new tables."""
    with connect(spill) as connection:
        create_views(connection, source)
        ids = ", ".join(literal(run.run_id) for run in runs)
        connection.execute(f"CREATE TEMP TABLE chosen AS SELECT unnest([{ids}]) AS run_id")
        connection.execute(load_sql("study", "recorded_results"))
        put_fingerprints(connection, "recorded_results")
        for name in ("part_results", "chosen_rows"):
            connection.execute(load_sql("study", name))
        lines = [source.name, *sorted(run.sha256 for run in runs)]
        part = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
        write_part(connection, tables, part, _CHOSEN)


def _derive(
    tables: Path,
    runs: Sequence[RunFile],
    kept: Sequence[TargetText],
    spill: Path,
    path: Path,
    brought: Mapping[str, str],
) -> tuple[StudySummary, list[TargetText]]:
    """The summary of new tables, its targets apart; the entries ``kept`` are not derived again.

    Raises Contradiction for first calls of two kinds of one target, and for drift that the files ``brought`` (digest →
    name) bring.
    """
    with connect(spill) as connection:
        create_views(connection, tables)
        refuse_pooling(connection, path)
        refuse_drift(drifts(connection), path, brought)
        keys = sorted({run.key for run in runs} - {target.key for target in kept})
        is_small = sum(file.stat().st_size for file in files_of(tables, "results")) <= _LARGE_BYTES
        if is_small and len(keys) > len(kept):
            analyse(connection)
            return studies.split(summarise(connection, runs, tables.name))
        analyse_failures(connection)
        calls = [(tables, key, 1 if keys[1:] else 0) for key in keys]
        found = [_texts(*call) for call in calls] if is_small else map_processes(_texts, calls)
        targets = sorted(chain(kept, *found), key=lambda target: target.order)
        return summarise(connection, runs, tables.name, targets=()), targets


def _texts(tables: Path, key: TargetKey, threads: int) -> list[TargetText]:
    """The entries of one target as text: pickled they take many times as long from process to process."""
    return [TargetText.of(entry) for entry in target_entries(tables, key, threads)]

"""Finds run files, checks each, and writes a batch of them as one part of a study's tables.

The parsed results that were checked go to DuckDB as lines of JSON; DuckDB does not read the files themselves.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path
from typing import Any

import duckdb
import orjson

from portbench.errors import BadInput
from portbench.formats.documents import JOURNAL, Document, files_below, read_document
from portbench.formats.typed_results import TypedRun, parse_run
from portbench.study.failures import put_fingerprints
from portbench.study.model import RunFile
from portbench.study.parquet import connect, set_variable, write_part
from portbench.util import remote
from portbench.util.sql import load_sql
from portbench.util.strict_json import bytes_of, shown
from portbench.util.text import escape_control

_SMALLEST_BUFFER_BYTES = 16 * 1024 * 1024
_RECORDED = re.compile(r"recorded-[0-9a-f]{12}")
_REPLAYS = ("replay", "program")
_SCALING = "scaling"
_PART = {"runs": "new_runs", "results": "part_results", "samples": "new_samples", "functions": "new_functions"}


@dataclass(frozen=True)
class InputFile:
    """A file that may be a run file. ``path``: its local path; ``name``: path or URL, for messages."""

    path: Path
    name: str
    sha256: str
    size_bytes: int
    is_named: bool
    """Whether the user named this very file: then it must be a run file."""


@dataclass(frozen=True)
class Source:
    """A run file and the name by which it was given."""

    name: str
    run: RunFile


@dataclass(frozen=True)
class Listing:
    """The files of one given path: files that may be run files, and journals."""

    path: str
    files: tuple[InputFile, ...]
    journals: tuple[Path, ...]

    @property
    def unfinished(self) -> tuple[Path, ...]:
        """The journals without a run file."""
        return tuple(journal for journal in self.journals if not _run_file_of(journal).exists())


def list_files(paths: Iterable[str], downloads: Path) -> list[Listing]:
    """Finds the files of each path, which is a file, folder, glob or URL. Remote files are downloaded to ``downloads``.

    Raises BadInput if a path has no file that could be a run file, StorageFailed if one cannot be read.
    """
    return [_listing(path, downloads) for path in paths]


def _listing(given: str, downloads: Path) -> Listing:
    if remote.is_url(given):
        return Listing(given, _hashed(remote.fetch(given, downloads), is_named=True), ())
    files = _local(given)
    journals = tuple(file for file in files if file.name.endswith(JOURNAL))
    candidates = ((file, str(file)) for file in files if not file.name.endswith(JOURNAL))
    found = _hashed(candidates, is_named=False, given=given)
    if not found:
        raise no_run_file(given, journals)
    return Listing(given, found, journals)


def _local(given: str) -> list[Path]:
    """The .json files and journals of a path, which is a file, a folder or a glob."""
    path = Path(given)
    if path.exists() or not has_magic(given):
        matches = [path]
    else:
        matches = [Path(match) for match in sorted(glob(given, recursive=True))]  # noqa: PTH207 (Path.glob: relative only)
    return [file for match in matches for file in (files_below(match) if match.is_dir() else [match])]


def _hashed(files: Iterable[tuple[Path, str]], is_named: bool, given: str = "") -> tuple[InputFile, ...]:
    def hashed(file: tuple[Path, str]) -> InputFile:
        path, name = file
        content = bytes_of(path)
        return InputFile(path, name, hashlib.sha256(content).hexdigest(), len(content), is_named or name == given)

    with ThreadPoolExecutor() as threads:
        return tuple(threads.map(hashed, files))


def _run_file_of(journal: Path) -> Path:
    return journal.with_name(journal.name.removesuffix(JOURNAL) + ".json")


def no_run_file(given: str, journals: Sequence[Path]) -> BadInput:
    """The error for a path without a run file."""
    if journals:
        return BadInput(
            f"{escape_control(given)}: no run file, only the journal of an unfinished run: {shown(journals[0])}",
            "Finish the run with 'portbench run --resume', then merge again.",
        )
    return BadInput(
        f"{escape_control(given)}: no run file there that can be part of a study",
        "Give the files that 'portbench run' wrote, or their folder. 'portbench scaling' shows those of --protocol "
        "scaling, 'portbench verdict' those of recorded programs.",
    )


def write_run_files(files: Sequence[InputFile], tables: Path, threads: int = 0) -> list[Source | None]:
    """Checks files and writes the run files among them as one part of ``tables``; None for each other file, and for the
    run files of recorded programs and of the protocol scaling.

    Raises BadInput for a file that is not valid, OSError or DuckDB's own errors if nothing can be written.
    """
    with tempfile.TemporaryDirectory(prefix="lines-", dir=tables.parent) as folder:
        heads, lines = Path(folder, "heads.jsonl"), Path(folder, "results.jsonl")
        with heads.open("wb") as head_file, lines.open("wb") as line_file:
            longest = 0
            taken: list[Source | None] = []
            for number, file in enumerate(files):
                run = _read(number, file)
                taken.append(_source(file, run.head) if run else None)
                if run:
                    head_file.write(orjson.dumps({**run.head, "sha256": file.sha256, "run_file": number}) + b"\n")
                    line_file.write(run.lines)
                    longest = max(longest, _longest_line(run.lines))
        if any(taken):
            with connect(Path(folder, "spill"), threads) as connection:
                _write_part(connection, heads, lines, longest, tables)
    return taken


def _read(number: int, file: InputFile) -> TypedRun | None:
    """A run file, checked; None for a file of another kind, and for a run file that is part of no study.

    Raises BadInput for a file that is not valid or has another digest than before.
    """
    content = bytes_of(file.path)
    digest = hashlib.sha256(content).hexdigest()
    run = parse_run(content, number) if digest == file.sha256 and file.path.suffix != ".gz" else None
    if run is None:
        document = read_document(file.path, "run" if file.is_named else "", file.name)
        digest, run = document.sha256, _as_lines(document, number) if document.kind == "run" else None
    if digest != file.sha256:
        raise BadInput(f"{escape_control(file.name)} was changed while it was read", "Merge again.")
    return None if run is None or _is_recorded(file, run) or _is_scaling(file, run) else run


def _as_lines(document: Document, number: int) -> TypedRun:
    head = {key: value for key, value in document.data.items() if key != "results"}
    results = document.data["results"]
    lines = b"".join(orjson.dumps({**result, "run_file": number}) + b"\n" for result in results)
    return TypedRun(head, lines, frozenset(result["case"] for result in results))


def _longest_line(lines: bytes) -> int:
    """A length that no line exceeds, in bytes; exact only where it matters."""
    return len(lines) if len(lines) <= _SMALLEST_BUFFER_BYTES else max(map(len, lines.split(b"\n"))) + 1


def _is_recorded(file: InputFile, run: TypedRun) -> bool:
    """Whether a run file is of a recorded program: it is left out. Raises BadInput where the user named this very file.

    A recording is no sample of a framework's functions, and its reference is weaker, so that it must not change rates.
    """
    is_recorded = bool(_RECORDED.fullmatch(run.head["manifest"]["name"])) or not run.cases.isdisjoint(_REPLAYS)
    if is_recorded and file.is_named:
        raise BadInput(
            f"{escape_control(file.name)}: its tests repeat the calls of a recorded program",
            "Such results are not part of a study. 'portbench verdict' shows them.",
        )
    return is_recorded


def _is_scaling(file: InputFile, run: TypedRun) -> bool:
    """Whether a run file compares sizes: it is left out, since its tests are no sample of what functions are called
    with. Raises BadInput where the user named this very file."""
    is_scaling = bool(run.head["protocol"]["name"] == _SCALING)
    if is_scaling and file.is_named:
        raise BadInput(
            f"{escape_control(file.name)}: $.protocol.name: expected cold, steady or both, found 'scaling'",
            "Such results are not part of a study. 'portbench scaling' shows them.",
        )
    return is_scaling


def _source(file: InputFile, head: Mapping[str, Any]) -> Source:
    mutant = head["protocol"].get("mutant")
    if mutant:
        raise BadInput(
            f"{escape_control(file.name)}: $.protocol.mutant: expected null, found {mutant!r}: "
            "functions were mutated, to test the tests",
            "Such results say nothing about a framework: leave the file out.",
        )
    return Source(file.name, RunFile.from_document(head, file.sha256))


def _write_part(connection: duckdb.DuckDBPyConnection, heads: Path, lines: Path, longest: int, tables: Path) -> None:
    for name, value in (("heads", heads), ("lines", lines)):
        set_variable(connection, name, str(value))
    set_variable(connection, "longest", max(_SMALLEST_BUFFER_BYTES, longest))
    for name in ("read_run_files", "new_tables"):
        connection.execute(load_sql("study", name))
    connection.execute("CREATE TEMP VIEW recorded_results AS FROM new_results")
    put_fingerprints(connection, "recorded_results")
    connection.execute(load_sql("study", "part_results"))
    digests = connection.sql("SELECT sha256 FROM new_runs ORDER BY ALL").fetchall()
    part = hashlib.sha256("\n".join(digest for (digest,) in digests).encode()).hexdigest()[:16]
    write_part(connection, tables, part, _PART)

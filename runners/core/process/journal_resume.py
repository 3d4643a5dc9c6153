"""Continues an unfinished journal of the same run, or finds the run file of a run that is complete.

Every line is checked: its checksum, the result against the format of run files, and that it is the only one of its
test and pass. What fails goes into the side file, and its test runs again. A header that is damaged is written again
from the run that resumes, if the journal's results are of that run.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Iterator, Mapping, NamedTuple

from runners.core import documents, run_check
from runners.core.errors import BadInput, StorageFailed
from runners.core.process import file_lock, journal_lines
from runners.core.process.journal import (
    SUFFIX,
    VERSION,
    Document,
    Journal,
    Tally,
    identity_of,
    locked,
    remove,
    run_file_of,
    set_aside,
    write,
)
from runners.core.process.journal_lines import HEADER, RESULT, Damaged
from runners.core.process.run_file import storage_failed
from runners.core.result import TestResult
from runners.core.run_check import Key, key_of

RESUME_REMEDY = "Run without --resume to start again in the same folder; nothing there is overwritten."


def resume(folder: Path, document: Document, identity: Mapping[str, Any]) -> Journal | Path | None:
    """The newest unfinished journal of this identity, open for more results; the path of the run file if that run is
    complete already; None if the folder has neither. ``document`` is the top level that a new run would have.

    A last line that was cut off is dropped: its test runs again. Raises BadInput, with the first difference, if the
    target's journals belong to something else, or if another runner is still writing.
    """
    target = document["target"]
    pattern = f"{target['framework']}-*-{target['device']}-*"
    refused: BadInput | None = None
    for path in sorted(folder.glob(pattern + SUFFIX), key=_modified, reverse=True):
        opened = _open(path)
        if opened is None:
            continue
        descriptor, lock = opened
        found: Journal | Path | None = None
        try:
            found = _continued(path, descriptor, lock, document, identity)
        except BadInput as error:
            refused = refused or error
        finally:
            if not isinstance(found, Journal):
                lock.release()
                os.close(descriptor)
        if found is not None:
            return found
    if refused:
        raise refused
    return _finished(folder, pattern, identity)


def _open(path: Path) -> tuple[int, file_lock.Lock] | None:
    """A journal, open and locked; None if another runner has finished it. Raises BadInput and StorageFailed."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise storage_failed(path, error) from error
    try:
        lock = locked(path, descriptor)
    except file_lock.Busy as busy:
        os.close(descriptor)
        raise BadInput(f"{path}: another runner is writing to it: {busy}", "Wait for it to end, or stop it.") from busy
    except StorageFailed:
        os.close(descriptor)
        raise
    if not os.fstat(descriptor).st_nlink:
        lock.release()
        os.close(descriptor)
        return None
    return descriptor, lock


class _Content(NamedTuple):
    """What a journal holds. ``length`` is that of its whole lines; ``is_new_header`` says that its own is damaged."""

    header: Document
    tally: Tally
    damaged: list[Damaged]
    length: int
    is_new_header: bool


def _continued(
    path: Path, descriptor: int, lock: file_lock.Lock, document: Document, identity: Mapping[str, Any]
) -> Journal | Path | None:
    try:
        content = _read(path, descriptor, document, identity)
    except OSError as error:
        raise storage_failed(path, error) from error
    if content is None:
        path.unlink()
        return None
    complete = run_file_of(path)
    if _is_complete(complete, identity):
        # The runner ended after it had written the run file and before it removed the journal.
        remove(path)
        return complete
    if not content.damaged and not content.is_new_header:
        os.ftruncate(descriptor, content.length)
        return Journal(path, descriptor, lock, content.header, content.tally)
    notes = _notes(path, content)
    new = _rewritten(path, descriptor, content, lock)
    os.close(descriptor)
    found = Journal(path, new, lock, content.header, content.tally)
    found.notes = notes
    return found


def _read(path: Path, descriptor: int, document: Document, identity: Mapping[str, Any]) -> _Content | None:
    """What is usable in a journal; None if it was killed before its header was whole. Raises BadInput if it belongs to
    another run or cannot be recognized, and OSError."""
    first = next(journal_lines.lines_in(descriptor), b"")
    header = _header(path, first)
    if header is not None:
        difference = _difference(header["identity"], identity)
        if difference:
            raise BadInput(f"{path}: cannot be continued: {difference}", RESUME_REMEDY)
    seal = journal_lines.seal_of(header["identity"] if header else identity)
    tally, damaged = Tally(), []
    for entry in _entries(descriptor, header["document"] if header else document, seal):
        if isinstance(entry, Damaged):
            damaged.append(entry)
        else:
            tally.add(entry)
    if not first.endswith(b"\n") and not tally.done:
        return None
    if header is None:
        if not tally.done:
            raise BadInput(
                f"{path}: is damaged, expected a header and one result a line: its header cannot be read, and it has "
                "no result of this run",
                RESUME_REMEDY,
            )
        header = {"journal": VERSION, "identity": dict(identity), "document": _recovered(path, document)}
        return _Content(header, tally, [Damaged(1, "the header is damaged", first.rstrip(b"\n")), *damaged], 0, True)
    length = sum(len(line) for line in journal_lines.lines_in(descriptor) if line.endswith(b"\n"))
    return _Content(header, tally, damaged, length, is_new_header=False)


def _header(path: Path, line: bytes) -> Document | None:
    """The header, held against its own identity; None if it is damaged. Raises BadInput for another version."""
    for found in journal_lines.values(line, HEADER):
        document = found.get("document")
        fits = isinstance(document, dict) and not run_check.mistake_in_header(
            dict(document, ended_at=document.get("started_at"))
        )
        if found.get("journal") == VERSION and fits and identity_of(found["document"]) == found.get("identity"):
            return dict(found)
    if line.startswith(b'{"journal":'):
        raise BadInput(f"{path}: written by another version of the runner", RESUME_REMEDY)
    return None


def _entries(descriptor: int, document: Document, seal: bytes) -> Iterator[TestResult | Damaged]:
    """The results that can be used, each once, and the lines that cannot, one at a time. Raises OSError."""
    done: set[Key] = set()
    for number, text in enumerate(journal_lines.lines_in(descriptor), 1):
        line = text[:-1] if text.endswith(b"\n") else text
        is_last = line is text
        reason = ""
        for result in journal_lines.values(line, RESULT, seal):
            mistake = run_check.mistake_in_result(document, result)
            if not mistake and key_of(result) not in done:
                done.add(key_of(result))
                yield result
            else:
                reason = reason or mistake or "a second result of the same test and run"
        if not journal_lines.is_whole(line, RESULT, seal):
            reason = "its checksum is wrong"
        # The first line is the header, and a last one without its end is one that was being written.
        if number > 1 and not is_last:
            if reason:
                yield Damaged(number, reason, line)
        elif any(journal_lines.values(line, RESULT, seal)):
            yield Damaged(number, "the end of the line is wrong", line)


def _recovered(path: Path, document: Document) -> Document:
    """The top level of a run whose own is damaged: that of the run that resumes it, begun when the file's name says."""
    moment = path.name[: -len(SUFFIX)].split("-")[-2]
    started = f"{moment[:4]}-{moment[4:6]}-{moment[6:11]}:{moment[11:13]}:{moment[13:15]}Z"
    recovered = dict(document, started_at=started)
    return document if run_check.mistake_in_header(dict(recovered, ended_at=started)) else recovered


def _notes(path: Path, content: _Content) -> list[str]:
    side = set_aside(path, content.damaged)
    count = len(content.damaged)
    lines = "a line that is" if count == 1 else f"{count} lines that are"
    first = content.damaged[0]
    notes = [f"{path}: has {lines} damaged, kept in {side}; line {first.number}: {first.reason}; tests run again"]
    if content.is_new_header:
        notes.append(f"{path}: its header was damaged and is that of this run now, which is the same")
    return notes


def _rewritten(path: Path, old: int, content: _Content, lock: file_lock.Lock) -> int:
    """The journal without its damaged lines, in its place at once. Raises StorageFailed; then the old one is whole."""
    temporary = path.with_name(path.name + ".new")
    seal = journal_lines.seal_of(content.header["identity"])
    try:
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise storage_failed(temporary, error) from error
    try:
        lock.move(descriptor)
        write(descriptor, temporary, journal_lines.line(HEADER, content.header))
        for entry in _entries(old, content.header["document"], seal):
            if not isinstance(entry, Damaged):
                write(descriptor, temporary, journal_lines.line(RESULT, entry, seal))
        os.fsync(descriptor)
        temporary.replace(path)
    except (OSError, StorageFailed) as error:
        os.close(descriptor)
        temporary.unlink()
        raise storage_failed(path, error) if isinstance(error, OSError) else error from error
    return descriptor


def _finished(folder: Path, pattern: str, identity: Mapping[str, Any]) -> Path | None:
    """The newest complete run file of this identity; None if there is none."""
    files = sorted(folder.glob(pattern + ".json"), key=_modified, reverse=True)
    return next((path for path in files if _is_complete(path, identity)), None)


def _is_complete(path: Path, identity: Mapping[str, Any]) -> bool:
    """Whether a run file of this identity is there and whole."""
    try:
        document = documents.parse(path.read_bytes())
        if _difference(identity_of(document), identity):
            return False
        return not run_check.mistake_in_run(document)
    except (ValueError, KeyError, TypeError, AttributeError, OSError, RecursionError):
        return False


def _difference(old: Any, new: Any, path: str = "") -> str:
    """The first difference between two nested mappings, with both values; empty if there is none."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted(set(old) | set(new)):
            found = _difference(old.get(key), new.get(key), f"{path}.{key}" if path else str(key))
            if found:
                return found
        return ""
    return "" if old == new else f"{path} was {json.dumps(old)}, is now {json.dumps(new)}"


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0

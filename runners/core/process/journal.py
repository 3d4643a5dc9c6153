"""Stores every result as soon as it is finished, and turns them into the run file at the end.

``STEM.journal.jsonl`` holds a header and then one result a line (see journal_lines), each checked and written with one
``write``: what a killed process has written stays. ``STEM.json`` is the run file. ``STEM.damaged.jsonl`` holds what
could not be used, with the reason. The header's ``identity`` says what the results belong to; only a run of the same
identity can continue a journal. journal_resume continues one. No more than one result is in memory at a time.
"""

from __future__ import annotations

import json
import os
import uuid
from collections import Counter
from pathlib import Path
from typing import Any, Dict, Iterator, Mapping, Sequence

from runners.core import documents, run_check
from runners.core.errors import RunnerError, StorageFailed, UnusableResult
from runners.core.process import file_lock, journal_lines, run_file
from runners.core.process.journal_lines import HEADER, RESULT, Damaged
from runners.core.process.run_file import storage_failed
from runners.core.result import TestResult, shown_outcome
from runners.core.run_check import Key, key_of

SUFFIX = ".journal.jsonl"
VERSION = 2
"""Of the journal. No earlier one was released."""

_MAY_CHANGE = ("runner_commit", "device_state")

Document = Dict[str, Any]


class Tally:
    """What is known of the results in a journal without reading it again. ``done``: their keys; ``outcomes`` counts
    them as messages show it; ``disturbed``: how many were disturbed from outside."""

    def __init__(self) -> None:
        self.done: set[Key] = set()
        self.outcomes: Counter[str] = Counter()
        self.disturbed = 0

    def add(self, result: TestResult) -> None:
        self.done.add(key_of(result))
        self.outcomes[shown_outcome(result)] += 1
        self.disturbed += bool(result.get("disturbed"))


class Journal:
    """An open, locked journal. Created by ``create`` or ``journal_resume.resume``. ``tally``: of what it holds.

    ``notes`` say what was wrong with it when it was resumed.
    """

    def __init__(self, path: Path, descriptor: int, lock: file_lock.Lock, header: Document, tally: Tally) -> None:
        self.path = path
        self.header = header
        self.tally = tally
        self.notes: list[str] = []
        self._descriptor = descriptor
        self._lock = lock
        self._seal = journal_lines.seal_of(header["identity"])

    @property
    def done(self) -> set[Key]:
        """The tests and passes that have a result."""
        return self.tally.done

    def results(self) -> Iterator[TestResult]:
        """The results in the order in which they were stored, read again one by one. Raises StorageFailed where one of
        them cannot be read any more."""
        number = 0
        try:
            for line in journal_lines.lines_in(self._descriptor):
                for result in journal_lines.values(line, RESULT, self._seal):
                    number += 1
                    yield result
        except OSError as error:
            raise StorageFailed(f"{self.path}: cannot be read: {error.strerror}", "Run again with --resume.") from error
        if number != len(self.done):
            raise StorageFailed(
                f"{self.path}: holds {number} results, expected the {len(self.done)} that this run stored in it",
                "Something else has changed the file. Run again with --resume: what is missing runs again.",
            )

    def append(self, result: TestResult) -> None:
        """Checks and stores one result.

        Raises UnusableResult if it does not fit the format of run files, and StorageFailed; then what was stored
        before is still whole.
        """
        mistake = run_check.mistake_in_result(self.header["document"], result)
        if not mistake and key_of(result) in self.done:
            mistake = "$: a second result of the same test and run"
        try:
            line = journal_lines.line(RESULT, result, self._seal)
        except (ValueError, TypeError) as error:
            mistake = mistake or f"$: {error}"
        if mistake:
            raise UnusableResult(mistake, repr(result))
        self._lock.check()
        write(self._descriptor, self.path, line)
        self.tally.add(result)

    def set_aside(self, damaged: Sequence[Damaged]) -> Path:
        """Keeps in the side file what cannot be used. Returns the path of that file. Raises StorageFailed."""
        return set_aside(self.path, damaged)

    def finish(self, ended_at: str, device_state: Mapping[str, Any] | None) -> Path:
        """Checks the top level, writes the run file next to the journal, removes the journal.

        Every result was checked when it was stored. ``device_state`` is that of the end. Raises StorageFailed, or
        RunnerError if the top level does not fit the schema; the journal stays in both cases.
        """
        document = dict(self.header["document"])
        # The clock may have been set back since the start.
        document["ended_at"] = max(ended_at, document["started_at"])
        document["environment"]["device_state"]["end"] = documents.escaped(device_state)
        check_header(document)
        path = run_file_of(self.path)
        self._lock.check()
        run_file.write(path, document, self.results())
        remove(self.path)
        self.close()
        return path

    def close(self) -> None:
        """Releases the lock. The journal stays if the run is not finished."""
        if self._descriptor >= 0:
            self._lock.release()
            os.close(self._descriptor)
            self._descriptor = -1


def create(folder: Path, document: Document, identity: Mapping[str, Any]) -> Journal:
    """Starts a journal for a run whose file gets the given top level. Raises StorageFailed, or RunnerError if the top
    level does not fit the schema."""
    check_header(dict(document, ended_at=document["started_at"]))
    target = document["target"]
    moment = document["started_at"][:19].replace("-", "").replace(":", "")
    stem = f"{target['framework']}-{target['version']}-{target['device']}-{moment}Z-{document['run_id'][:8]}"
    path = folder / (stem + SUFFIX)
    header = {"journal": VERSION, "identity": dict(identity), "document": document}
    while True:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise storage_failed(path, error) from error
        try:
            lock = locked(path, descriptor, wait=True)
            if not os.fstat(descriptor).st_nlink:
                # A runner that resumes has found it empty and removed it.
                os.close(descriptor)
                continue
            write(descriptor, path, journal_lines.line(HEADER, header))
        except StorageFailed:
            os.close(descriptor)
            path.unlink()
            raise
        return Journal(path, descriptor, lock, header, Tally())


def check_header(document: Mapping[str, Any]) -> None:
    """Raises RunnerError if a run file's top level does not fit the schema."""
    mistake = run_check.mistake_in_header(document)
    if mistake:
        raise RunnerError(
            f"the run file would not fit its schema: {mistake}",
            "Change the option or variable that it names. If there is none, please report it.",
        )


def locked(path: Path, descriptor: int, wait: bool = False) -> file_lock.Lock:
    """Locks an open journal. Raises file_lock.Busy and StorageFailed."""
    try:
        return file_lock.Lock(path, descriptor, wait)
    except OSError as error:
        raise storage_failed(path, error) from error


def identity_of(document: Mapping[str, Any]) -> Document:
    """What results in one run file must have in common, from the top level of that file."""
    environment = document["environment"]
    return {
        "target": document["target"],
        # Its functions follow from its SHA-256, and the message would be long.
        "manifest": {key: value for key, value in document["manifest"].items() if key != "functions"},
        "protocol": document["protocol"],
        "environment": {key: environment[key] for key in environment if key not in _MAY_CHANGE},
    }


def new_run_id() -> str:
    return uuid.uuid4().hex


def run_file_of(journal: Path) -> Path:
    return journal.with_name(journal.name[: -len(SUFFIX)] + ".json")


def remove(path: Path) -> None:
    """Removes the journal of a complete run. Raises StorageFailed."""
    try:
        path.unlink()
    except OSError as error:
        raise StorageFailed(
            f"{path}: cannot be removed: {error.strerror}",
            f"You can delete it: {run_file_of(path)} is complete.",
        ) from error


def set_aside(path: Path, damaged: Sequence[Damaged]) -> Path:
    """Appends to the side file of a journal what cannot be used. Raises StorageFailed."""
    side = path.with_name(path.name[: -len(SUFFIX)] + ".damaged.jsonl")
    entries = [
        {"line": each.number, "reason": each.reason, "text": each.text.decode("utf-8", "backslashreplace")}
        for each in damaged
    ]
    try:
        with side.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(entry) + "\n" for entry in entries)
    except OSError as error:
        raise storage_failed(side, error) from error
    return side


def write(descriptor: int, path: Path, data: bytes) -> None:
    """Writes all of it, or restores the file's length: a half-written line must not precede a later whole one. Raises
    StorageFailed."""
    length = os.fstat(descriptor).st_size
    try:
        written = os.write(descriptor, data)
        while written < len(data):
            written += os.write(descriptor, data[written:])
    except OSError as error:
        os.ftruncate(descriptor, length)
        raise storage_failed(path, error) from error

"""Stores every result as soon as it is finished, and turns them into the run file at the end.

``STEM.journal.jsonl`` holds a header and then one result a line, each written with one ``write``: what a killed
process has written stays. ``STEM.json`` is the run file. The header's ``identity`` says what the results belong to;
only a run of the same identity can continue a journal.
"""

from __future__ import annotations

import fcntl
import json
import os
import uuid
from pathlib import Path
from typing import Any, Dict, Mapping, Tuple

from runners.core.errors import BadInput, StorageFailed
from runners.core.process import run_file
from runners.core.process.run_file import storage_failed
from runners.core.result import TestResult

SUFFIX = ".journal.jsonl"
RESUME_REMEDY = "Run without --resume to start again in the same folder; nothing there is overwritten."

_MAY_CHANGE = ("runner_commit", "device_state")

Document = Dict[str, Any]
Key = Tuple[str, str, int]


class Journal:
    """An open, locked journal. Created by ``create`` or ``resume``."""

    def __init__(self, path: Path, descriptor: int, header: Document, results: list[TestResult]) -> None:
        self.path = path
        self.header = header
        self.results = results
        self.done: set[Key] = {key_of(result) for result in results}
        self._descriptor = descriptor

    def append(self, result: TestResult) -> None:
        """Stores one result. Raises StorageFailed; then what was stored before is still whole."""
        _write(self._descriptor, self.path, _line(result))
        self.results.append(result)
        self.done.add(key_of(result))

    def finish(self, ended_at: str, device_state: Mapping[str, Any] | None) -> Path:
        """Checks the results against the schema, writes the run file next to the journal, removes the journal.

        ``device_state`` is that of the end. Raises StorageFailed, or RunnerError if the results do not fit the schema;
        the journal stays in both cases.
        """
        document = dict(self.header["document"])
        # The clock may have been set back since the start.
        document["ended_at"] = max(ended_at, document["started_at"])
        document["environment"]["device_state"]["end"] = device_state
        run_file.check(document, self.results, self.path)
        path = run_file_of(self.path)
        run_file.write(path, document, self.results)
        try:
            self.path.unlink()
        except OSError as error:
            raise StorageFailed(
                f"{self.path}: cannot be removed: {error.strerror}", f"You can delete it: {path} is complete."
            ) from error
        self.close()
        return path

    def close(self) -> None:
        os.close(self._descriptor)


def create(folder: Path, document: Document, identity: Mapping[str, Any]) -> Journal:
    """Starts a journal for a run whose file gets the given top level. Raises StorageFailed."""
    target = document["target"]
    moment = document["started_at"][:19].replace("-", "").replace(":", "")
    stem = f"{target['framework']}-{target['version']}-{target['device']}-{moment}Z-{document['run_id'][:8]}"
    path = folder / (stem + SUFFIX)
    header = {"journal": 1, "identity": dict(identity), "document": document}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise storage_failed(path, error) from error
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        _write(descriptor, path, _line(header))
    except StorageFailed:
        os.close(descriptor)
        path.unlink()
        raise
    return Journal(path, descriptor, header, [])


def resume(folder: Path, framework: str, device: str, identity: Mapping[str, Any]) -> Journal | None:
    """The newest unfinished journal of this identity, open for more results; None if the folder has none.

    A last line that was cut off is dropped: its test runs again. Raises BadInput, with the first difference, if the
    target's journals belong to something else, or if another runner is still writing.
    """
    difference = ""
    for path in sorted(folder.glob(f"{framework}-*-{device}-*{SUFFIX}"), key=_modified, reverse=True):
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        except FileNotFoundError:
            # Another runner has finished it.
            continue
        except OSError as error:
            raise storage_failed(path, error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            raise BadInput(f"{path}: another runner is writing to it", "Wait for it to end, or stop it.") from error
        if not os.fstat(descriptor).st_nlink:
            os.close(descriptor)
            continue
        header, results, length = _read(path)
        if header is None:
            # Killed before its header was whole: it holds nothing.
            os.close(descriptor)
            continue
        found = _difference(header["identity"], identity)
        if not found:
            os.ftruncate(descriptor, length)
            return Journal(path, descriptor, header, results)
        difference = difference or f"{path}: cannot be continued: {found}"
        os.close(descriptor)
    if difference:
        raise BadInput(difference, RESUME_REMEDY)
    return None


def finished(folder: Path, framework: str, device: str, identity: Mapping[str, Any]) -> Path | None:
    """The newest complete run file of this identity; None if there is none."""
    for path in sorted(folder.glob(f"{framework}-*-{device}-*.json"), key=_modified, reverse=True):
        try:
            document = json.loads(path.read_text("utf-8"))
            if not _difference(identity_of(document), identity):
                return path
        except (ValueError, KeyError, TypeError, OSError, RecursionError):
            continue
    return None


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


def key_of(result: TestResult) -> Key:
    """Function, test and pass: what no two results of a run share."""
    return (result["function"], result["test"], result["run"])


def new_run_id() -> str:
    return uuid.uuid4().hex


def run_file_of(journal: Path) -> Path:
    return journal.with_name(journal.name[: -len(SUFFIX)] + ".json")


def _read(path: Path) -> tuple[Document | None, list[TestResult], int]:
    """Header, results and the length in bytes up to the last whole line."""
    content = path.read_bytes()
    lines = content.split(b"\n")[:-1]
    try:
        header = json.loads(lines[0])
        results = [json.loads(line) for line in lines[1:]]
        if header["journal"] != 1:
            raise BadInput(f"{path}: written by another version of the runner", RESUME_REMEDY)
        _ = header["identity"], header["document"]["environment"]["device_state"]["start"]
        _ = {key_of(result) for result in results}
    except IndexError:
        return None, [], 0
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise BadInput(
            f"{path}: is damaged, expected a header and one result a line: {reason}", RESUME_REMEDY
        ) from error
    return header, results, content.rfind(b"\n") + 1


def _difference(old: Any, new: Any, path: str = "") -> str:
    """The first difference between two nested mappings, with both values; empty if there is none."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted(set(old) | set(new)):
            found = _difference(old.get(key), new.get(key), f"{path}.{key}" if path else str(key))
            if found:
                return found
        return ""
    return "" if old == new else f"{path} was {json.dumps(old)}, is now {json.dumps(new)}"


def _line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def _write(descriptor: int, path: Path, data: bytes) -> None:
    """Writes all of it, or restores the file's length: a half-written line must not precede a later whole one."""
    length = os.fstat(descriptor).st_size
    try:
        written = os.write(descriptor, data)
        while written < len(data):
            written += os.write(descriptor, data[written:])
    except OSError as error:
        os.ftruncate(descriptor, length)
        raise storage_failed(path, error) from error


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0

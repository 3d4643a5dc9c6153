"""What was recorded in one process: an entry for each distinct signature. Written to a file of the process's own.

The file is replaced every few seconds, at the end of the process, and in the processes that it forks, so a program that
is killed loses the last seconds only.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
import time
import uuid
from collections import Counter
from pathlib import Path
from typing import Any, Callable, Dict, Hashable

from portbench_recorder.programs import Programs
from portbench_recorder.sites import Place

FORMAT = 1
PARTS = "parts"
_FIRST_WRITE_S = 1.0
_WRITE_EVERY_S = 5.0
_WRITES_SHARE = 0.02
"""Of a program's time, at most."""
_MOST_SIGNATURES = 200
"""Of one function. A loop over lengths would give thousands that differ in a number; the others are only counted."""
_MOST_SITES = 3

Arguments = Dict[str, Any]


class Unnameable(Exception):
    """An argument that data cannot describe; the message says what it is."""


class Entry:
    """One signature of one function: ``arguments`` is the data of a manifest's test, or None with the reason."""

    __slots__ = ("_seen", "arguments", "calls", "function", "reason", "seconds", "sites")

    def __init__(self, function: str, arguments: Arguments | None, reason: str) -> None:
        self.function = function
        self.arguments = arguments
        self.reason = reason
        self.calls = 0
        self.seconds = 0.0
        self.sites: list[str] = []
        self._seen: set[Hashable] = set()

    def add_site(self, place: Place | None) -> None:
        """Keeps the first few places in the program that made this call."""
        if place is not None and len(self.sites) < _MOST_SITES and place[0] not in self._seen:
            self._seen.add(place[0])
            self.sites.append(place[1]())

    def as_data(self) -> dict[str, Any]:
        return {
            "function": self.function,
            "arguments": self.arguments,
            "reason": self.reason,
            "calls": self.calls,
            "seconds": self.seconds,
            "sites": self.sites,
        }


class Recording:
    """Collects entries from all threads. ``enabled`` is False as soon as the recording has ended."""

    def __init__(self, folder: Path, steps: int | None = None, values: bool = False) -> None:
        self.folder = folder
        self.values = values
        self.enabled = True
        self._steps = steps
        self.at_end: list[Callable[[], None]] = []
        """Called when the recording ends."""
        self._lock = threading.Lock()
        self._frameworks: dict[str, str] = {}
        self._begin()
        atexit.register(self.end)
        os.register_at_fork(after_in_child=self._forked)

    def _begin(self) -> None:
        self._path = self.folder / PARTS / f"{os.getpid()}-{uuid.uuid4().hex[:8]}.json"
        self._entries: dict[tuple[str, Hashable], Entry] = {}
        self._signatures: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()
        self.programs = Programs(self.folder)
        self._next_write = time.monotonic() + _FIRST_WRITE_S

    def add_framework(self, name: str, version: str) -> None:
        """Says that this process has imported a framework."""
        self._frameworks[name] = version

    def entry(self, framework: str, function: str, key: Hashable, describe: Callable[[], Arguments]) -> Entry:
        """The entry of a signature; ``describe`` is called for a new one, before the call changes its arguments."""
        place = (framework, (function, key))
        found = self._entries.get(place)  # type: ignore[call-overload]
        if found is None:
            found = self._new(framework, function, place, describe)
        return found

    def _new(self, framework: str, function: str, place: Any, describe: Callable[[], Arguments]) -> Entry:
        full = f"{framework} {function}"
        if self._signatures[full] >= _MOST_SIGNATURES:
            place, made = (framework, (function, None)), Entry(function, None, "too many signatures of one function")
        else:
            try:
                made = Entry(function, describe(), "")
            except Unnameable as error:
                made = Entry(function, None, str(error))
        with self._lock:
            self._signatures[full] += 1
            return self._entries.setdefault(place, made)

    def add(self, entry: Entry, seconds: float, find_place: Callable[[], Place | None]) -> None:
        """Counts a call; ``find_place`` says where it was made. Writes the file if that was long ago."""
        try:
            with self._lock:
                entry.calls += 1
                entry.seconds += seconds
            entry.add_site(find_place())
            if time.monotonic() > self._next_write:
                self.write()
        except Exception as error:
            self.failed(error)

    def failed(self, error: BaseException) -> None:
        """Counts a failure of the recorder itself."""
        self._failures[f"{type(error).__name__}: {error}"[:200]] += 1

    def step(self) -> None:
        """A step of the program ended."""
        if self._steps is not None and self.enabled:
            self._steps -= 1
            if self._steps <= 0:
                self.end()

    def end(self) -> None:
        """Records nothing more, and writes what there is."""
        if self.enabled:
            self.enabled = False
            for ended in self.at_end:
                ended()
            self.write()

    def write(self) -> None:
        """Writes the file of this process. A folder that cannot be written is said once, on standard error."""
        begin = time.monotonic()
        with self._lock:
            # Other threads do not write meanwhile.
            self._next_write = begin + _WRITE_EVERY_S
            programs = self.programs.as_data()
            if not self._entries and not self._failures and not programs:
                return
            entries = [dict(entry.as_data(), framework=place[0]) for place, entry in self._entries.items()]
            document = {
                "format": FORMAT,
                "program": os.path.basename(sys.argv[0]) if sys.argv else "",
                "python": ".".join(map(str, sys.version_info[:3])),
                "frameworks": self._frameworks,
                "failures": dict(self._failures),
                "entries": entries,
                "programs": programs,
            }
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            temporary = self._path.with_suffix(".tmp")
            temporary.write_text(json.dumps(document), "utf-8")
            os.replace(str(temporary), str(self._path))
            took = time.monotonic() - begin
            self._next_write = begin + max(_WRITE_EVERY_S, took / _WRITES_SHARE)
        except (OSError, ValueError, TypeError) as error:
            sys.stderr.write(f"portbench record: cannot write {self._path}: {error}\n")
            self.enabled = False

    def _forked(self) -> None:
        self._lock = threading.Lock()
        self._begin()
        multiprocessing = sys.modules.get("multiprocessing.util")
        if multiprocessing is not None:
            # Its processes skip atexit, and clear what was registered before they began.
            multiprocessing.register_after_fork(self, Recording._finalize)

    def _finalize(self) -> None:
        from multiprocessing.util import Finalize

        Finalize(None, self.end, exitpriority=0)

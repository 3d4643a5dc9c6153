"""The events of a runner: it writes one JSON object per line to its stdout (`--progress json`).

Lines that are no event, and events of an unknown kind or without the expected keys, are ignored: an image may be older
or newer than the host.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

REMOVED = "removed"


@dataclass(frozen=True)
class Started:
    """The runner has read the manifest. ``total`` counts the results of the run: of all tests in the first pass, of the
    timed ones in the others. ``done`` counts those that a resumed run already has."""

    target: str
    tests: int
    runs: int
    total: int
    done: int


@dataclass(frozen=True)
class Result:
    """A test ended, with any outcome, or its function was ``removed``. ``run`` counts from 1; ``case_ns`` is the time
    inside the case, 0 if unknown."""

    function: str
    test: str
    run: int
    outcome: str
    case_ns: int


@dataclass(frozen=True)
class Ended:
    """The runner wrote the run file. ``run_file`` is the runner's path of it. ``disturbed`` counts the results of a
    second try, since something outside of the test had ended the first."""

    run_file: str
    outcomes: Mapping[str, int]
    unchanged: bool
    disturbed: int = 0


@dataclass(frozen=True)
class Failed:
    """The runner stopped with an error for the user."""

    message: str
    remedy: str


@dataclass(frozen=True)
class Warned:
    """Something that limits what the results are good for."""

    message: str


@dataclass(frozen=True)
class Uncurated:
    """These functions of the manifest have no tests yet, and so get no results."""

    functions: tuple[str, ...]


@dataclass(frozen=True)
class Listed:
    """The selected tests of a manifest by function, and its selected functions that have no tests yet. ``untimed`` are
    the tests, as ``function::test``, that run once, however often the others do."""

    manifest: str
    tests: Mapping[str, tuple[str, ...]]
    uncurated: tuple[str, ...]
    untimed: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Stepped:
    """So much of something else than a run is done."""

    done: int
    total: int


Event = Stepped | Started | Result | Ended | Failed | Warned | Uncurated | Listed


def parse_event(line: str) -> Event | None:
    """Parses a line of the runner's stdout. None if it is no event."""
    try:
        document = json.loads(line)
        return _EVENTS[document["event"]](document)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _started(document: Mapping[str, Any]) -> Started:
    tests, runs, total, done = (int(document[key]) for key in ("tests", "runs", "total", "done"))
    return Started(str(document["target"]), tests, runs, total, done)


def _result(document: Mapping[str, Any]) -> Result:
    function, test, outcome = (str(document[key]) for key in ("function", "test", "outcome"))
    # The function was removed: its tests are counted apart from those that were skipped for another reason.
    outcome = REMOVED if document.get("category") == REMOVED else outcome
    return Result(function, test, int(document["run"]), outcome, int(document["case_ns"] or 0))


def _ended(document: Mapping[str, Any]) -> Ended:
    outcomes = {str(outcome): int(count) for outcome, count in document["outcomes"].items()}
    return Ended(
        str(document["run_file"]), outcomes, bool(document.get("unchanged", False)), int(document.get("disturbed", 0))
    )


def _failed(document: Mapping[str, Any]) -> Failed:
    return Failed(str(document["message"]), str(document.get("remedy") or ""))


def _warned(document: Mapping[str, Any]) -> Warned:
    return Warned(str(document["message"]))


def _uncurated(document: Mapping[str, Any]) -> Uncurated:
    return Uncurated(tuple(map(str, document["functions"])))


def _listed(document: Mapping[str, Any]) -> Listed:
    tests = {str(function): tuple(map(str, ids)) for function, ids in document["tests"].items()}
    uncurated = tuple(map(str, document["uncurated"]))
    return Listed(str(document["manifest"]), tests, uncurated, frozenset(map(str, document.get("untimed", ()))))


def _stepped(document: Mapping[str, Any]) -> Stepped:
    return Stepped(int(document["done"]), int(document["total"]))


_EVENTS: dict[str, Callable[[Mapping[str, Any]], Event]] = {
    "start": _started,
    "result": _result,
    "end": _ended,
    "error": _failed,
    "warning": _warned,
    "uncurated": _uncurated,
    "list": _listed,
    "step": _stepped,
}

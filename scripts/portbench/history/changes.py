"""What changed from version to version: the status of every function, and the functions that broke or were fixed.

Statuses are those of a study of the run files, changes are those of 'portbench compare' between a version and the one
before it that ran.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise

import duckdb

from portbench.analysis.configurations import Configuration
from portbench.compare.comparison import compare_sides
from portbench.compare.functions import function_events, function_name, is_successor
from portbench.history.run import VersionRun
from portbench.study.document import TargetEntry
from portbench.study.model import REMOVED, STATUS_TEXTS, TargetKey, status_text
from portbench.study.open import analysed, study_of

STATUSES = (*STATUS_TEXTS.values(), REMOVED)
"""The statuses of functions, as they are shown."""


@dataclass(frozen=True)
class Change:
    """A function that changed in ``version``, compared with ``since``, the version before. ``before`` and ``after`` are
    statuses over the tests that ran in both; ``tests`` are those that changed, ``evidence`` is the first message."""

    version: str
    since: str
    function: str
    kind: str
    before: str
    after: str
    tests: tuple[str, ...] = ()
    evidence: str = ""


@dataclass(frozen=True)
class VersionResult:
    """A version; ``statuses`` by function, empty if it did not run. A successor is ``new (for old)``."""

    run: VersionRun
    statuses: Mapping[str, str] = field(default_factory=dict)

    @property
    def counts(self) -> Mapping[str, int]:
        """Functions by status, without successors: as the rates of a study."""
        return Counter(status for name, status in self.statuses.items() if not is_successor(name))


@dataclass(frozen=True)
class History:
    """All versions, oldest first, and the changes between those that ran."""

    framework: str
    device: str
    manifest: str
    versions: tuple[VersionResult, ...]
    changes: tuple[Change, ...]

    @property
    def ran(self) -> tuple[VersionResult, ...]:
        """The versions that ran."""
        return tuple(version for version in self.versions if version.statuses)

    def changed(self, version: str, kind: str) -> int:
        """The number of functions to which this happened in a version."""
        return sum((change.version, change.kind) == (version, kind) for change in self.changes)


def read_history(framework: str, device: str, manifest: str, runs: Sequence[VersionRun]) -> History:
    """The history that the run files hold; ``runs`` are sorted from the oldest version to the newest.

    Raises BadInput and StorageFailed for run files that cannot be read.
    """
    if not any(run.run_file for run in runs):
        return History(framework, device, manifest, tuple(map(VersionResult, runs)), ())
    with _entries(runs) as (connection, entries):
        versions = tuple(
            VersionResult(run, _statuses(entries[run.version])) if run.version in entries else VersionResult(run)
            for run in runs
        )
        ran = [version for version in versions if version.statuses]
        changes = [
            change
            for first, second in pairwise(ran)
            for change in _changes(connection, first, second, (entries[first.run.version], entries[second.run.version]))
        ]
    return History(framework, device, manifest, versions, tuple(changes))


@contextmanager
def _entries(runs: Sequence[VersionRun]) -> Iterator[tuple[duckdb.DuckDBPyConnection, Mapping[str, TargetEntry]]]:
    """A study of the run files, and its targets by version."""
    paths = [str(run.run_file) for run in runs if run.run_file]
    with study_of(paths) as study, analysed(study) as found:
        yield found.connection, {entry["target"]["version"]: entry for entry in found.summary["targets"]}


def _statuses(entry: TargetEntry) -> dict[str, str]:
    return {
        function_name(function["name"], function["successor_of"] or ""): status_text(
            function["status"], function["tests_by_category"]
        )
        for function in entry["functions"]
    }


def _changes(
    connection: duckdb.DuckDBPyConnection,
    first: VersionResult,
    second: VersionResult,
    entries: tuple[TargetEntry, TargetEntry],
) -> Iterator[Change]:
    since, version = first.run.version, second.run.version
    before, after = (Configuration(*TargetKey.of_entry(entry)) for entry in entries)
    outcomes = compare_sides(connection, before, after).outcomes
    for event in function_events(outcomes, first.statuses, second.statuses):
        yield Change(version, since, **vars(event))

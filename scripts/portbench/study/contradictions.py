"""Refuses run files that cannot be in one study: two contents with one name, first calls of two kinds of one target,
and drift that new files bring."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import duckdb

from portbench.errors import Contradiction
from portbench.study.drift import Drift
from portbench.study.model import RunFile, TargetKey
from portbench.study.run_files import Source
from portbench.util.strict_json import shown
from portbench.util.text import escape_control, shortened


class SeveralContents(Contradiction):
    """One manifest name with several contents. ``older``: the new run files whose target has one of a newer content."""

    def __init__(self, message: str, remedy: str, older: Sequence[Source]) -> None:
        super().__init__(message, remedy)
        self.older = older


class Mixture(Contradiction):
    """Collected tests together with others."""


def refuse_contradictions(
    known: Iterable[RunFile], study: Path, sources: Sequence[Source], several_contents: bool = False
) -> None:
    """Checks the run files that a study has and new ones together.

    Raises Contradiction for one run_id with two contents, Mixture for collected tests together with others and, without
    ``several_contents``, SeveralContents for one manifest name with two contents.
    """
    all_runs = [
        *((run, f"in {shown(study)}") for run in known),
        *((source.run, f"of {escape_control(source.name)}") for source in sources),
    ]
    _refuse_mixture(all_runs)
    files: dict[str, tuple[str, str]] = {}
    manifests: dict[str, tuple[str, str]] = {}
    for run, place in all_runs:
        file, where = files.setdefault(run.run_id, (run.sha256, place))
        if file != run.sha256:
            raise Contradiction(
                f"run_id {run.run_id} has two contents: sha256 {file} {where}, {run.sha256} {place}",
                "One of them was changed after the run: keep the file that the runner wrote.",
            )
        manifest, where = manifests.setdefault(run.manifest, (run.manifest_sha256, place))
        if manifest != run.manifest_sha256 and not several_contents:
            older = _older_contents(sources)
            raise SeveralContents(
                f"manifest {escape_control(run.manifest)} has two contents: "
                f"sha256 {manifest} {where}, {run.manifest_sha256} {place}",
                _remedy(older),
                older,
            )


def _refuse_mixture(runs: Iterable[tuple[RunFile, str]]) -> None:
    """Collected tests in a study of others would change its rates, and most of their references are weaker."""
    places = {run.is_collected: (escape_control(run.manifest), place) for run, place in runs}
    if len(places) > 1:
        (collected, there), (other, where) = places[True], places[False]
        raise Mixture(
            f"the run file {there} has collected tests ({collected}), the one {where} has others ({other})",
            "Merge them into two studies: collected tests are part of no other rate. 'portbench publish' takes both.",
        )


def _older_contents(sources: Iterable[Source]) -> list[Source]:
    """The run files of a manifest that was changed afterwards: their target has run a newer content of it."""
    newest: dict[tuple[TargetKey, str], RunFile] = {}
    for run in sorted((source.run for source in sources), key=lambda run: run.started_at or ""):
        newest[run.key, run.manifest] = run
    return [
        source
        for source in sources
        if source.run.manifest_sha256 != newest[source.run.key, source.run.manifest].manifest_sha256
    ]


def _remedy(older: Sequence[Source]) -> str:
    if not older:
        return "Merge them into two studies, or give the changed manifest a name of its own and run it again."
    names = ", ".join(escape_control(source.name) for source in older)
    return (
        f"Remove the run files of the older content ({names}), or run the changed manifest with another --out. "
        "'portbench report' and 'portbench explain' use the newest content of each target."
    )


def refuse_drift(drifts: Iterable[Drift], study: Path, new: Mapping[str, str]) -> None:
    """Raises Contradiction for drift in which only new run files have one of the values. ``new``: digest → name."""
    for drift in drifts:
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


def refuse_pooling(connection: duckdb.DuckDBPyConnection, study: Path) -> None:
    """Raises Contradiction where the view ``runs`` has first calls of tests and of processes (--cold) of one target,
    machine and synchronization: their times are not the same quantity."""
    query = (
        "SELECT framework || '-' || version || '-' || device, machine,"
        " min(run_id) FILTER (cold = 'test'), min(run_id) FILTER (cold = 'process')"
        " FROM runs GROUP BY framework, version, device, machine, sync HAVING count(DISTINCT cold) > 1 ORDER BY ALL"
    )
    found = connection.sql(query).fetchone()
    if found:
        target, machine, of_test, of_process = found
        raise Contradiction(
            f"{shown(study)}: {escape_control(target)} on {escape_control(machine)} has first calls of tests (run_id "
            f"{of_test}, --cold test) and of processes (run_id {of_process}, --cold process), which are never pooled",
            "Merge them into two studies; 'portbench compare' takes both.",
        )


def _place(digests: Sequence[str], study: Path, new: Mapping[str, str]) -> str:
    named = [new[digest] for digest in digests if digest in new]
    return f"of {escape_control(named[0])}" if named else f"in {shown(study)}"

"""The commands that repeat the tests of a study's run files."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import Any

from portbench.analysis.configurations import Configuration
from portbench.explain.evidence import TargetEvidence, TestEvidence
from portbench.explain.reproducer import KnownManifest, known_manifests, not_repeatable, reproducer
from portbench.study.summary import Row
from portbench.util.repository import Checkout


def repeat_commands(runs: Sequence[Row], checkout: Checkout) -> tuple[list[Row], list[int]]:
    """The commands that repeat a test of the run files ``runs``, without function and test; and the number of each run
    file's command. Where a test cannot be repeated, the command is empty, and its notes say why."""
    commands: list[Row] = []
    places: dict[tuple[Any, ...], int] = {}
    numbers = []
    known = known_manifests(checkout)
    facts = (
        "framework",
        "version",
        "device",
        "sync",
        "manifest",
        "manifest_sha256",
        "protocol",
        "timeout_s",
        "imported",
    )
    for run in runs:
        key = (*(str(run[name]) for name in facts), run["environment"]["image_digest"], run["environment"]["container"])
        if key not in places:
            places[key] = len(commands)
            commands.append(_repeat(run, checkout, known))
        numbers.append(places[key])
    return commands, numbers


def _repeat(run: Row, checkout: Checkout, known: Sequence[KnownManifest]) -> Row:
    where = place(Configuration.of(run), [run])
    result = {"run_id": run["run_id"], "outcome": "passed"}
    passed, failed = (
        reproducer(where, TestEvidence("", verdict, (result,), None), checkout, known=known)
        for verdict in ("passed", "failed")
    )
    if passed is None or failed is None:
        return {"before": "", "after_passed": "", "after_failed": "", "notes": [not_repeatable(run)]}
    return {
        "before": shlex.join(passed.argv_before(passed.manifest_or_blank)),
        "after_passed": shlex.join(passed.argv_after),
        "after_failed": shlex.join(failed.argv_after),
        "notes": passed.notes,
    }


def place(side: Configuration, runs: Iterable[Row]) -> TargetEvidence:
    """The target, machine and run files of a configuration, without a function. ``runs``: with parsed environments."""
    by_id = {run["run_id"]: run for run in runs}
    return TargetEvidence(side.target, side.machine, side.sync, "", "", "", (), by_id)

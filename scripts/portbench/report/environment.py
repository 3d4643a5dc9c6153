"""What a report says of drift: facts of one target, or one machine, that were not the same in all run files."""

from __future__ import annotations

from portbench.study.summary import Row
from portbench.util.format import NOTHING
from portbench.util.section import Section
from portbench.util.text import pluralize

_NOTE = (
    "One target has one environment, one machine one kernel and one CPU. Here they do not, so what looks like a "
    "difference between runs may be one between these. The run files were merged with --allow-drift, or by a portbench "
    "that did not look."
)


def of_study(summary: Row) -> list[Section]:
    """A row for each value of each fact that drifted; no section where nothing did. ``summary``: a study's."""
    rows = tuple(
        (
            drift["target"] or NOTHING,
            drift["machine"] or NOTHING,
            drift["fact"],
            value["value"],
            pluralize(len(value["run_files"]), "run file"),
        )
        for drift in summary.get("drift", ())
        for value in drift["values"]
    )
    if not rows:
        return []
    return [Section("Drift of environments", ("target", "machine", "fact"), (), ("value", "run files"), rows, _NOTE)]

"""The section of a report on drift: facts of one target, or one machine, that differ between run files."""

from __future__ import annotations

from portbench.study.summary import Row
from portbench.util.format import NOTHING
from portbench.util.section import Section
from portbench.util.text import pluralize

_NOTE = (
    "A target should have one environment, a machine one kernel and one CPU. Here they differ, so a difference between "
    "runs may be a difference between these. The run files were merged with --allow-drift, or by a portbench that did "
    "not check."
)


def drift_sections(summary: Row) -> list[Section]:
    """A row for each value of each fact that drifted; no section where none did. ``summary``: that of a study."""
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
    return [Section("Environment drift", ("target", "machine", "fact"), (), ("value", "run files"), rows, _NOTE)]

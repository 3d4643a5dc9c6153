"""The table of a report on drift: facts of one target, or one machine, that differ between run files."""

from __future__ import annotations

from collections.abc import Iterator

from portbench.study.document import StudySummary
from portbench.tables.model import Table, names, texts
from portbench.util.format import NOTHING
from portbench.util.text import pluralize

_NOTE = (
    "A target should have one environment, a machine one kernel and one CPU. Here they differ, so a difference between "
    "runs may be a difference between these. The run files were merged with --allow-drift, or by a portbench that did "
    "not check."
)


def drift_table(summary: StudySummary) -> Iterator[Table]:
    """A row for each value of each fact that drifted; no table where none did."""
    rows = [
        (
            drift["target"] or NOTHING,
            drift["machine"] or NOTHING,
            drift["fact"],
            value["value"],
            pluralize(len(value["run_files"]), "run file"),
        )
        for drift in summary["drift"]
        for value in drift["values"]
    ]
    if rows:
        columns = (*names("target", "machine", "fact"), *texts("value", "run files"))
        yield Table.of_rows("Environment drift", columns, rows, _NOTE)

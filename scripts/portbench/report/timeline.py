"""The table of what passes by date, of targets that ran on several days."""

from __future__ import annotations

from collections.abc import Iterator

from portbench.analysis.timeline import Timeline
from portbench.tables.model import Cells, Table, fixed, names, numbers, texts


def timeline_table(timeline: Timeline) -> Iterator[Table]:
    """A row for each target that ran on several days; no table where there is none."""
    rows: list[Cells] = []
    for line in timeline.by_date:
        first, last = line.points[0], line.points[-1]
        least = min(line.points, key=lambda point: point.percent)
        side = line.side
        target = f"{side.target}{f' ({side.synchronization})' if side.synchronization else ''}"
        rows.append(
            (
                *(target, side.machine, len(line.points), first.place, first.percent, last.place, last.percent),
                *(least.percent, least.place),
            )
        )
    if rows:
        columns = (
            *names("target", "machine"),
            *numbers("days"),
            *texts("first day"),
            *numbers("all pass %", shown=fixed(1)),
            *texts("last day"),
            *numbers("all pass %", "least %", shown=fixed(1)),
            *texts("on"),
        )
        note = (
            "Percent of functions on each day on which the target ran (UTC); a test that did not run then counts with "
            "its last result before. All other tables are over the runs of all days together: a test that passed on "
            "some days only is flaky there. --since DATE says what changed."
        )
        yield Table.of_rows("Functions that pass, by date", columns, rows, note)

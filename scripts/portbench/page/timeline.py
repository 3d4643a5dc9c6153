"""The timeline of a study as charts in a page: by date, then by version, a chart for each framework."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from portbench.analysis.timeline import Line, Timeline, grouped
from portbench.page import charts
from portbench.page.charts import percent_chart
from portbench.study.model import Target


def timeline_charts(timeline: Timeline) -> list[tuple[str, Markup]]:
    """All charts of a timeline, each with its title."""
    return [*date_charts(timeline.by_date), *_version_charts(timeline.by_version)]


def date_charts(lines: Sequence[Line]) -> list[tuple[str, Markup]]:
    """The charts of what passes on each day on which a target ran."""
    return [
        (
            f"{group.title}: percent of functions whose tests all pass, by date (UTC)",
            percent_chart(
                f"{group.title}: percent of functions whose tests all pass, by date",
                sorted({point.place for _, line in group.lines for point in line.points}),
                _values(group.lines),
                is_date=True,
            ),
        )
        for group in grouped(lines, charts.MOST_LINES, has_version=True)
    ]


def _version_charts(lines: Sequence[Line]) -> list[tuple[str, Markup]]:
    found = []
    for group in grouped(lines, charts.MOST_LINES, has_version=False):
        title = f"{group.title}: percent of functions whose tests all pass, by version"
        versions = {point.place for _, line in group.lines for point in line.points}
        order = sorted(versions, key=lambda version: Target("", version, "").order)
        found.append((title, percent_chart(title, order, _values(group.lines))))
    return found


def _values(lines: Sequence[tuple[str, Line]]) -> list[charts.Line]:
    return [charts.Line(label, {point.place: point.percent for point in line.points}) for label, line in lines]

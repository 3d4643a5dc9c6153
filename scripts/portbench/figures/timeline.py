"""Figures of what passes over time: by the date of the runs, and by version."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from portbench.analysis.timeline import Group, Line
from portbench.figures import canvas, style
from portbench.figures.style import Drawing
from portbench.study.model import Target
from portbench.util.text import pluralize

MOST_LINES = 4
"""How many lines a panel has: as many as its own legend has room for."""

_COLOURS = (style.BLUE, style.VERMILLION, style.GREEN, style.PURPLE)
_MARKERS = ("o", "^", "s", "D")
_CAPTION = (
    "Percent of the functions of which a test ran whose tests all pass. The vertical axis begins where the least value "
    "needs it. Predicted targets have panels of their own: there a test counts that is accepted."
)


def by_date(name: str, shown: Sequence[Group]) -> Drawing:
    """What passes on each day on which a target ran: a panel for each framework."""
    caption = (
        f"{_CAPTION} A point is a day (UTC) on which the target ran; a test that did not run then counts with its last "
        "result before."
    )
    return _drawing(name, "Functions whose tests all pass, by date", caption, shown, is_date=True)


def by_version(name: str, shown: Sequence[Group]) -> Drawing:
    """What passes in each version on a device and machine: a panel for each framework."""
    return _drawing(name, "Functions whose tests all pass, by version", _CAPTION, shown, is_date=False)


def _drawing(name: str, title: str, caption: str, shown: Sequence[Group], *, is_date: bool) -> Drawing:
    labels = [panel.title for panel in shown]
    figure, every = canvas.panels(title, labels, None, max(len(panel.lines) for panel in shown))
    for number, (panel, axes) in enumerate(zip(shown, every, strict=True)):
        places = _places(panel, axes, is_date=is_date)
        for order, (label, line) in enumerate(panel.lines):
            (drawn,) = axes.plot(
                [places[point.place] for point in line.points],
                [point.percent for point in line.points],
                color=_COLOURS[order],
                marker=_MARKERS[order],
                markersize=2.5 if len(line.points) < 60 else 0,
                label=style.fitted(label, 1.6, others=[other for other, _ in panel.lines]),
            )
            drawn.set_gid(f"line-{number}-{order}")
        least = min(point.percent for _, line in panel.lines for point in line.points)
        low = max(0, 10 * math.floor((least - 2) / 10))
        axes.set_ylim(low, 100 + (100 - low) / 40)
        axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10], integer=True))
        axes.set_ylabel("functions (%)")
        canvas.own_legend(axes)
    details = [_detail(panel.title, label, line) for panel in shown for label, line in panel.lines]
    return Drawing(name, title, caption, details, figure)


def _places(panel: Group, axes: Axes, *, is_date: bool) -> Mapping[str, float]:
    """Where each day or version is on the horizontal axis, which it labels."""
    found = dict.fromkeys(point.place for _, line in panel.lines for point in line.points)
    if is_date:
        days = {place: date.fromisoformat(place).toordinal() for place in found}
        first, last = min(days.values()), max(days.values())
        ticks = sorted({first, (first + last) // 2, last})
        axes.set_xticks(ticks, [date.fromordinal(day).isoformat() for day in ticks])
        return {place: float(day) for place, day in days.items()}
    order = sorted(found, key=lambda version: Target("", version, "").order)
    apart = max(1, math.ceil(len(order) / 5))
    axes.set_xticks(range(0, len(order), apart), [style.fitted(place, 0.6) for place in order[::apart]])
    return {place: float(number) for number, place in enumerate(order)}


def _detail(panel: str, label: str, line: Line) -> str:
    first, last = line.points[0], line.points[-1]
    least = min(line.points, key=lambda point: point.percent)
    return (
        f"{panel}, {label}: {first.percent:.1f} % of {pluralize(first.rated, 'function')} ({first.place}) to "
        f"{last.percent:.1f} % of {last.rated:,} ({last.place}) over {len(line.points)} points; the least "
        f"{least.percent:.1f} % ({least.place})."
    )

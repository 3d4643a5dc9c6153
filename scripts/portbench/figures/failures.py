"""Figures of what fails: functions by status, by use in the corpus, and failures by category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from portbench.analysis.rate_model import ALL, DECILES, FunctionRates
from portbench.figures import canvas, style
from portbench.figures.data import MOST_IN_PANEL, PLACEMENT, Panel, Rated
from portbench.figures.style import Drawing
from portbench.published.paper import OTHERS, TOP20
from portbench.study.categories import CATEGORIES
from portbench.study.model import STATUS_TEXTS
from portbench.util.format import percent
from portbench.util.text import pluralize

_STATUS = {"all_pass": style.BLUE, "some_fail": style.ORANGE, "all_fail": style.VERMILLION}
_STATUS_HATCHES = {"some_fail": "////", "all_fail": "xxxx"}

_CATEGORY = dict(
    zip(
        (*CATEGORIES, PLACEMENT),
        (
            style.BLUE,
            style.ORANGE,
            style.SKY,
            style.GREEN,
            style.VERMILLION,
            style.BLACK,
            style.PURPLE,
            style.GREY,
            style.YELLOW,
        ),
        strict=True,
    )
)
_CATEGORY_HATCHES = dict(zip(_CATEGORY, ("", "////", "....", "\\\\\\\\", "xxxx", "", "----", "", "++++"), strict=True))

_STRATA = {TOP20: ("o", style.BLUE, "top 20"), OTHERS: ("D", style.ORANGE, "all (drawn by decile)")}
_HOLLOW: dict[str, Any] = {
    "color": style.BLACK,
    "markerfacecolor": "none",
    "markersize": 6.5,
    "markeredgewidth": 0.8,
}
_DODGE = 0.19


def statuses(name: str, sides: Sequence[Rated]) -> Drawing:
    """Functions by status on each target, over all functions."""
    title = "Functions by status on each target (paper's method)"
    handles: list[Artist] = [
        Patch(
            facecolor=colour,
            edgecolor="white",
            linewidth=0,
            hatch=_STATUS_HATCHES.get(status),
            label=STATUS_TEXTS[status],
        )
        for status, colour in _STATUS.items()
    ]
    if any(side.published_status for side in sides):
        handles.append(Line2D([], [], color=style.BLACK, linewidth=1.2, label="the paper's figures"))
    named = [(side.label, f"n = {side.by_stratum[ALL].rated}") for side in sides]
    figure, axes = canvas.rows(title, named, "functions (%)", canvas.Legend(handles, 2))
    canvas.percent_axis(axes)
    for row, side in enumerate(sides):
        canvas.stacked(axes, row, side.by_stratum[ALL].counts, _STATUS, _STATUS_HATCHES)
        if side.published_status:
            ends = (
                side.published_status["all_pass"],
                side.published_status["all_pass"] + side.published_status["some_fail"],
            )
            marks = axes.vlines(ends, row - 0.11, row + 0.41, color=style.BLACK, linewidth=1.2, zorder=4)
            marks.set_gid(f"published-{row}")
    caption = (
        "As published: percent of the functions of which some test ran, by how many of their tests passed in every run."
    )
    if any(side.published_status for side in sides):
        caption += " Black lines: where the first and the second status end in the paper's table."
    return Drawing(name, title, caption, [f"{side.label}: {_shares(side.by_stratum[ALL])}." for side in sides], figure)


def deciles(name: str, panels: Sequence[Panel]) -> Drawing:
    """Share of functions that fail by decile of their use in the corpus, with Wilson's intervals."""
    title = "Functions that fail, by decile of use in the corpus (paper's method)"
    most = max(len(panel.sides) for panel in panels)
    figure, made = canvas.panels(title, [panel.label for panel in panels], None, own_legend_lines=most)
    for position, (panel, axes) in enumerate(zip(panels, made, strict=True)):
        _decile_panel(axes, panel, f"deciles-{position}")
    caption = (
        "Percent of the functions with a status that fail partially or completely (paper's method), in each decile of "
        "use in the corpus (10: used most), with 95 % Wilson intervals. The number at a point: functions."
    )
    details = [
        f"{panel.label} {side.label}: {pluralize(sum(rates.rated for _, rates in _by_decile(side)), 'function')}."
        for panel in panels
        for side in panel.sides
    ]
    return Drawing(name, title, caption, details, figure)


def top20(name: str, sides: Sequence[Rated]) -> Drawing:
    """Share of functions that fail among the 20 of greatest use and among those drawn by decile."""
    title = "Functions that fail: the 20 used most against all (paper's method)"
    handles: list[Artist] = [
        Line2D([], [], color=colour, marker=marker, markersize=4, label=label)
        for marker, colour, label in _STRATA.values()
    ]
    if any(side.published_failing for side in sides):
        handles += [
            Line2D([], [], marker=marker, linestyle="", label=f"the paper's {label.partition(' (')[0]}", **_HOLLOW)
            for marker, _, label in _STRATA.values()
        ]
    named = [(side.label, f"n = {', '.join(str(_rated(side, stratum)) for stratum in _STRATA)}") for side in sides]
    figure, axes = canvas.rows(title, named, "functions that fail (%)", canvas.Legend(handles, 2))
    canvas.percent_axis(axes)
    axes.set_xlim(-2, 102)
    for row, side in enumerate(sides):
        for place, (stratum, (marker, colour, _)) in zip((0.06, 0.28), _STRATA.items(), strict=True):
            if _rated(side, stratum):
                _with_interval(axes, side.by_stratum[stratum], row + place, marker, colour, f"{stratum}-{row}")
            if side.published_failing and stratum in side.published_failing:
                (dot,) = axes.plot([side.published_failing[stratum]], [row + place], marker, **_HOLLOW)
                dot.set_gid(f"published-{stratum}-{row}")
    caption = (
        "Percent of the functions with a status that fail partially or completely (paper's method), with 95 % Wilson "
        "intervals: of the 20 functions of each framework that are used most, and of those drawn by decile of use, "
        "which the paper calls all. n: functions of the former, of the latter."
    )
    details = [f"{side.label}: {', '.join(_failing(side, stratum) for stratum in _STRATA)}." for side in sides]
    return Drawing(name, title, caption, details, figure)


def categories(name: str, sides: Sequence[tuple[str, Mapping[str, int]]]) -> Drawing:
    """Failing tests by category: a row for each label, with how many tests fail by each category."""
    title = "Why tests fail on each target: failures by category"
    seen = [category for category in _CATEGORY if any(counts.get(category) for _, counts in sides)]
    handles = [
        Patch(facecolor=_CATEGORY[c], edgecolor="white", linewidth=0, hatch=_CATEGORY_HATCHES[c], label=_spaced(c))
        for c in seen
    ]
    named = [(label, f"n = {sum(counts.values())}") for label, counts in sides]
    figure, axes = canvas.rows(title, named, "failing tests (%)", canvas.Legend(handles, min(4, len(handles))))
    canvas.percent_axis(axes)
    for row, (_, counts) in enumerate(sides):
        canvas.stacked(axes, row, counts, _CATEGORY, _CATEGORY_HATCHES)
    caption = "Tests that did not pass, by why; one that failed in two ways in two runs counts for both."
    details = [
        f"{label}: " + ", ".join(f"{_spaced(c)} {counts[c]}" for c in _CATEGORY if counts.get(c)) + "."
        for label, counts in sides
    ]
    return Drawing(name, title, caption, details, figure)


def _decile_panel(axes: Axes, panel: Panel, gid: str) -> None:
    canvas.percent_axis(axes, "y")
    axes.set_ylim(-3, 103)
    axes.set_xlim(0.3, 10.7)
    axes.set_xticks(range(1, 11))
    axes.set_xlabel("decile of use (10: used most)")
    axes.set_ylabel("functions that fail (%)")
    for position, side in enumerate(panel.sides):
        aside = (position - (len(panel.sides) - 1) / 2) * _DODGE
        found = _by_decile(side)
        colour = style.OF_DEVICE[side.device]
        for decile, rates in found:
            interval = rates.failing_interval
            axes.vlines(decile + aside, 100 * interval.low, 100 * interval.high, color=colour, linewidth=0.8)
        (line,) = axes.plot(
            [decile + aside for decile, _ in found],
            [rates.failing_percent or 0 for _, rates in found],
            "os^D"[position % MOST_IN_PANEL],
            color=colour,
            markersize=3,
            label=style.fitted(side.label, 1.5),
        )
        line.set_gid(f"{gid}-{position}")
        for decile, rates in found:
            place = (decile + aside, rates.failing_percent or 0)
            axes.annotate(
                str(rates.rated), place, (2.5, 1), textcoords="offset points", fontsize=4, color=colour, zorder=5
            )
    canvas.own_legend(axes)


def _with_interval(axes: Axes, rates: FunctionRates, place: float, marker: str, colour: str, gid: str) -> None:
    interval = rates.failing_interval
    axes.plot([100 * interval.low, 100 * interval.high], [place] * 2, color=colour, linewidth=1.0)
    (dot,) = axes.plot([rates.failing_percent or 0], [place], marker, color=colour, markersize=4)
    dot.set_gid(gid)


def _by_decile(side: Rated) -> list[tuple[int, FunctionRates]]:
    return [(decile, side.by_stratum[key]) for decile, key in enumerate(DECILES, 1) if _rated(side, key)]


def _rated(side: Rated, stratum: str) -> int:
    return side.by_stratum[stratum].rated if stratum in side.by_stratum else 0


def _failing(side: Rated, stratum: str) -> str:
    rated = _rated(side, stratum)
    failing = side.by_stratum[stratum].failing if rated else 0
    return f"{_STRATA[stratum][2]} {percent(failing, rated)} % ({failing} of {rated})"


def _spaced(category: str) -> str:
    return category.replace("_", " ")


def _shares(rates: FunctionRates) -> str:
    counts = rates.counts
    shares = ", ".join(
        f"{STATUS_TEXTS[status]} {percent(counts[status], rates.rated)} % ({counts[status]} of {rates.rated})"
        for status in _STATUS
    )
    none = counts.get("not_testable", 0)
    return shares + (f"; {STATUS_TEXTS['not_testable']} {none}" if none else "")

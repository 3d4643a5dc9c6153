"""Figures of what fails: functions by status, by use in the corpus, and failures by category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from portbench import figures_canvas as canvas
from portbench.categories import CATEGORIES
from portbench.figures_canvas import Drawing
from portbench.printable import number
from portbench.rates import ALL, DECILES, OTHERS, TOP20, FunctionRates
from portbench.report_figures import percent

PLACEMENT = "placement"
"""The category of a test that passed, but not wholly on the device, where that counts as failed."""

_STATUS = {"pass": canvas.BLUE, "partial": canvas.ORANGE, "complete": canvas.VERMILLION}
_STATUS_WORDS = {"pass": "success", "partial": "partial failure", "complete": "complete failure"}
_STATUS_HATCHES = {"partial": "////", "complete": "xxxx"}

_CATEGORY = dict(
    zip(
        (*CATEGORIES, PLACEMENT),
        (
            canvas.BLUE,
            canvas.ORANGE,
            canvas.SKY,
            canvas.GREEN,
            canvas.VERMILLION,
            canvas.PURPLE,
            canvas.GREY,
            canvas.YELLOW,
        ),
        strict=True,
    )
)
_CATEGORY_HATCHES = dict(zip(_CATEGORY, ("", "////", "....", "\\\\\\\\", "xxxx", "----", "", "++++"), strict=True))

_STRATA = {TOP20: ("o", canvas.BLUE, "top 20"), OTHERS: ("D", canvas.ORANGE, "all (drawn by decile)")}
_HOLLOW: dict[str, Any] = {
    "color": canvas.BLACK,
    "markerfacecolor": "none",
    "markersize": 6.5,
    "markeredgewidth": 0.8,
}
_DODGE = 0.16
MOST_IN_PANEL = 5
"""How many sides share a panel."""


@dataclass(frozen=True)
class Rated:
    """The functions' rates of one side by stratum (see ``portbench.rates``) and what the study printed of it, in
    percent: by status, and failing by stratum; None where it is no side of the study."""

    label: str
    device: str
    by_stratum: Mapping[str, FunctionRates]
    published_status: Mapping[str, float] | None = None
    published_failing: Mapping[str, float] | None = None


@dataclass(frozen=True)
class Panel:
    """Sides of one framework and version; their labels are without these."""

    label: str
    sides: Sequence[Rated]


def statuses(name: str, sides: Sequence[Rated]) -> Drawing:
    """Functions by status on each side, over all functions."""
    title = "Functions by status on each target (as published)"
    figure, axes = canvas.rows(
        title,
        [side.label for side in sides],
        [f"n = {side.by_stratum[ALL].rated}" for side in sides],
        "functions (%)",
        legend_lines=2,
    )
    canvas.percent_axis(axes)
    handles: list[Artist] = [
        Patch(
            facecolor=colour,
            edgecolor="white",
            linewidth=0,
            hatch=_STATUS_HATCHES.get(status),
            label=_STATUS_WORDS[status],
        )
        for status, colour in _STATUS.items()
    ]
    for row, side in enumerate(sides):
        canvas.stacked(
            axes, row, {status: side.by_stratum[ALL].counts[status] for status in _STATUS}, _STATUS, _STATUS_HATCHES
        )
        if side.published_status:
            ends = (side.published_status["pass"], side.published_status["pass"] + side.published_status["partial"])
            marks = axes.vlines(ends, row - 0.11, row + 0.41, color=canvas.BLACK, linewidth=1.2)
            marks.set_gid(f"published-{row}")
    if any(side.published_status for side in sides):
        handles.append(Line2D([], [], color=canvas.BLACK, linewidth=1.2, label="the study's success, and with partial"))
    canvas.legend(figure, handles, 3)
    caption = (
        "As published: a function succeeds if every test that ran passed in every run, fails completely if none did, "
        "and else partially; percent of the functions of which some test ran. "
        + " ".join(f"{side.label}: {_told(side.by_stratum[ALL])}." for side in sides)
    )
    return Drawing(name, title, caption, figure)


def deciles(name: str, panels: Sequence[Panel]) -> Drawing:
    """Share of functions that fail by decile of their use in the corpus, with Wilson's intervals."""
    title = "Functions that fail, by decile of use in the corpus (as published)"
    most = max(len(panel.sides) for panel in panels)
    figure, made = canvas.panels(title, [panel.label for panel in panels], legend_lines=0, own_legend_lines=most)
    for position, (panel, axes) in enumerate(zip(panels, made, strict=True)):
        _decile_panel(axes, panel, f"deciles-{position}")
    caption = (
        "Percent of the functions with a status that fail partially or completely (as published), in each decile of "
        "use in the corpus (10: used most), with 95 % Wilson intervals. Functions: "
        + " ".join(
            f"{panel.label} {side.label}: {sum(side.by_stratum[d].rated for d in DECILES if d in side.by_stratum)}."
            for panel in panels
            for side in panel.sides
        )
    )
    return Drawing(name, title, caption, figure)


def top20(name: str, sides: Sequence[Rated]) -> Drawing:
    """Share of functions that fail among the 20 of greatest use and among those drawn by decile."""
    title = "Functions that fail: the 20 used most against all (as published)"
    notes = [
        f"n = {side.by_stratum[TOP20].rated}, {side.by_stratum[OTHERS].rated if OTHERS in side.by_stratum else 0}"
        for side in sides
    ]
    figure, axes = canvas.rows(title, [side.label for side in sides], notes, "functions that fail (%)", legend_lines=2)
    canvas.percent_axis(axes)
    axes.set_xlim(-2, 102)
    for row, side in enumerate(sides):
        for place, (stratum, (marker, colour, _)) in zip((0.06, 0.28), _STRATA.items(), strict=True):
            rates = side.by_stratum.get(stratum)
            if rates and rates.rated:
                _with_interval(axes, rates, row + place, marker, colour, f"{stratum}-{row}")
            if side.published_failing and stratum in side.published_failing:
                (dot,) = axes.plot([side.published_failing[stratum]], [row + place], marker, **_HOLLOW)
                dot.set_gid(f"published-{stratum}-{row}")
    handles: list[Artist] = [
        Line2D([], [], color=colour, marker=marker, markersize=4, label=label)
        for marker, colour, label in _STRATA.values()
    ]
    if any(side.published_failing for side in sides):
        handles += [
            Line2D([], [], marker=marker, linestyle="", label=f"the study's {label.partition(' (')[0]}", **_HOLLOW)
            for marker, _, label in _STRATA.values()
        ]
    canvas.legend(figure, handles, 2)
    caption = (
        "Percent of the functions with a status that fail partially or completely (as published), with 95 % Wilson "
        "intervals: of the 20 functions of each framework that are used most, and of those drawn by decile of use, "
        "which the study calls all. n: functions of the former, of the latter."
    )
    return Drawing(name, title, caption, figure)


def categories(name: str, sides: Sequence[tuple[str, Mapping[str, int]]]) -> Drawing:
    """Failing tests by category: a row for each side's label, with how many tests fail by each category."""
    title = "Why tests fail on each target: failures by category"
    notes = [f"n = {sum(counts.values())}" for _, counts in sides]
    seen = [category for category in _CATEGORY if any(counts.get(category) for _, counts in sides)]
    figure, axes = canvas.rows(
        title, [label for label, _ in sides], notes, "failing tests (%)", legend_lines=-(-len(seen) // 4)
    )
    canvas.percent_axis(axes)
    for row, (_, counts) in enumerate(sides):
        canvas.stacked(axes, row, counts, _CATEGORY, _CATEGORY_HATCHES)
    handles = [
        Patch(
            facecolor=_CATEGORY[c],
            edgecolor="white",
            linewidth=0,
            hatch=_CATEGORY_HATCHES[c],
            label=c.replace("_", " "),
        )
        for c in seen
    ]
    canvas.legend(figure, handles, min(4, len(handles)))
    told = " ".join(
        f"{label}: "
        + ", ".join(f"{c.replace('_', ' ')} {counts[c]}" for c in _CATEGORY if counts.get(c))
        + f" of {number(sum(counts.values()), 'failure')}."
        for label, counts in sides
    )
    caption = f"Tests that did not pass by why; a test that failed in two ways counts for both. {told}"
    return Drawing(name, title, caption, figure)


def _decile_panel(axes: Axes, panel: Panel, gid: str) -> None:
    canvas.percent_axis(axes, "y")
    axes.set_ylim(-3, 103)
    axes.set_xlim(0.3, 10.7)
    axes.set_xticks(range(1, 11))
    axes.set_xlabel("decile of use (10: used most)")
    axes.set_ylabel("functions that fail (%)")
    for position, side in enumerate(panel.sides):
        aside = (position - (len(panel.sides) - 1) / 2) * _DODGE
        found = [(decile, side.by_stratum[key]) for decile, key in enumerate(DECILES, 1) if key in side.by_stratum]
        found = [(decile, rates) for decile, rates in found if rates.rated]
        colour = canvas.OF_DEVICE[side.device]
        for decile, rates in found:
            interval = rates.failing_interval
            axes.vlines(decile + aside, 100 * interval.low, 100 * interval.high, color=colour, linewidth=0.8)
        (line,) = axes.plot(
            [decile + aside for decile, _ in found],
            [rates.failing_percent or 0 for _, rates in found],
            "os^Dv"[position % MOST_IN_PANEL],
            color=colour,
            markersize=3,
            label=canvas.plain(side.label, 40),
        )
        line.set_gid(f"{gid}-{position}")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.24), handletextpad=0.3, borderaxespad=0, labelspacing=0.25)


def _with_interval(axes: Axes, rates: FunctionRates, place: float, marker: str, colour: str, gid: str) -> None:
    interval = rates.failing_interval
    axes.plot([100 * interval.low, 100 * interval.high], [place] * 2, color=colour, linewidth=1.0)
    (dot,) = axes.plot([rates.failing_percent or 0], [place], marker, color=colour, markersize=4)
    dot.set_gid(gid)


def _told(rates: FunctionRates) -> str:
    counts = rates.counts
    shares = ", ".join(
        f"{_STATUS_WORDS[status]} {percent(counts[status], rates.rated)} % ({counts[status]} of {rates.rated})"
        for status in _STATUS
    )
    none = counts.get("none", 0)
    return shares + (f"; nothing ran of {none}" if none else "")

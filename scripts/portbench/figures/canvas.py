"""The layout of all figures: rows and panels in a paper's columns, axes, bars and legends.

Figures are made with Matplotlib's objects, never with pyplot, and laid out in inches by hand: the same data give the
same bytes.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator
from matplotlib.transforms import ScaledTranslation

from portbench.figures import style

COLUMN = 3.5
"""The width of one column of a paper, and of two, in inches."""
COLUMNS = 7.16

MOST_ROWS = 30
"""How many rows a figure has at most; more rows go into the next figure."""
MOST_PANELS = 12
MOST_SHAPES = 1000
"""How many shapes of a kind an SVG holds; more are rasterized."""

_MARGIN = 0.12
_LINE = 0.14  # a line of text, in inches
_ROW = 0.34


@dataclass(frozen=True)
class Legend:
    """The legend below everything else: labelled handles, ``across`` of them in a row."""

    handles: Sequence[Artist]
    across: int

    @property
    def height(self) -> float:
        """Its height in inches."""
        return 0.08 + _LINE * -(-len(self.handles) // self.across)

    def put(self, figure: Figure) -> None:
        """Puts it at the bottom of a figure."""
        figure.legend(
            handles=list(self.handles),
            loc="lower center",
            ncols=self.across,
            borderaxespad=0.3,
            handlelength=1.4,
            columnspacing=1.2,
            handletextpad=0.5,
            labelspacing=0.3,
        )


def rows(
    title: str, named: Sequence[tuple[str, str]], axis: str, legend: Legend, row_height: float = _ROW
) -> tuple[Figure, Axes]:
    """A figure as wide as a column with a row for each label and note, the first on top, at y = 0, 1, 2...

    A label is above its row's drawing, which may take y - 0.1 to y + 0.42, and its note is to the right.
    ``axis`` is the label of the x axis.
    """
    lines = _wrapped(title, COLUMN)
    top = _MARGIN + _LINE * len(lines) + 0.02
    bottom = 0.37 + legend.height
    height = top + row_height * len(named) + bottom
    figure = Figure(figsize=(COLUMN, height))
    left, width = 0.16, COLUMN - 0.38
    axes = figure.add_axes((left / COLUMN, bottom / height, width / COLUMN, row_height * len(named) / height))
    _put_title(figure, lines, height)
    axes.set_ylim(len(named) - 0.5, -0.5)
    axes.set_yticks([])
    axes.grid(visible=False, axis="y")
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(axis)
    text: dict[str, Any] = {
        "transform": axes.get_yaxis_transform(),
        "fontsize": style.SMALL,
        "va": "bottom",
        "bbox": _box("white"),
    }
    names = [label for label, _ in named]
    for row, (label, note) in enumerate(named):
        axes.text(
            0, row - 0.13, style.fitted(label, width - style.width(note, style.SMALL) - 0.1, others=names), **text
        )
        axes.text(1, row - 0.13, note, ha="right", **text)
    legend.put(figure)
    return figure, axes


def panels(
    title: str, labels: Sequence[str], legend: Legend | None, own_legend_lines: int = 0
) -> tuple[Figure, list[Axes]]:
    """A figure with a square panel for each label: one column wide for one panel, else up to three side by side.

    ``own_legend_lines``: how many lines of room each panel has below for a legend of its own.
    """
    across = min(3, len(labels))
    down = -(-len(labels) // across)
    width = (COLUMN, 0.7 * COLUMNS, COLUMNS)[across - 1]
    lines = _wrapped(title, width)
    above, below, before = 0.26, 0.44 + _LINE * own_legend_lines, 0.6
    side = (width - 2 * _MARGIN) / across - before
    top = _MARGIN + _LINE * len(lines)
    bottom = legend.height if legend else 0.04
    height = top + down * (above + side + below) + bottom
    figure = Figure(figsize=(width, height))
    _put_title(figure, lines, height)
    made = []
    for position, label in enumerate(labels):
        row, column = divmod(position, across)
        x = before + column * (before + side)
        y = height - top - (row + 1) * (above + side) - row * below
        axes = figure.add_axes((x / width, y / height, side / width, side / height))
        axes.set_title(style.fitted(label, side, 7, labels), loc="left", fontsize=7)
        axes.yaxis.set_label_coords(-0.43 / side, 0.5)
        made.append(axes)
    if legend:
        legend.put(figure)
    return figure, made


def own_legend(axes: Axes) -> None:
    """A legend below one panel, in the room that ``panels`` left for it."""
    below = axes.transAxes + ScaledTranslation(0, -0.38, axes.figure.dpi_scale_trans)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0), bbox_transform=below, handletextpad=0.3, borderaxespad=0)


def log_axis(axes: Axes, low: float, high: float, which: str = "x", room: int = 5) -> None:
    """Makes an axis logarithmic from a power of ten to another, with numbers as people write them: 0.1, 1, 1,000.
    ``room``: how many decades have a number each; of more, only every second or third has one."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    (axes.set_xlim if which == "x" else axes.set_ylim)(low, high)
    first, last = round(math.log10(low)), round(math.log10(high))
    apart = -(-(last - first) // room)
    decades = range(first, last + 1)
    labels = [_decade(decade) if decade % apart == 0 else "" for decade in decades]
    axis.set_major_locator(FixedLocator([10.0**decade for decade in decades]))
    axis.set_major_formatter(FixedFormatter(labels))
    axis.set_minor_locator(NullLocator())


def powers(low: float, high: float) -> tuple[float, float]:
    """The powers of ten around positive numbers, at least one apart."""
    first = math.floor(math.log10(low))
    return 10.0**first, 10.0 ** max(math.ceil(math.log10(high)), first + 1)


def percent_axis(axes: Axes, which: str = "x") -> None:
    """Makes an axis one of 0 to 100 percent."""
    if which == "x":
        axes.set_xlim(0, 100)
        axes.set_xticks(range(0, 101, 20))
    else:
        axes.set_ylim(0, 100)
        axes.set_yticks(range(0, 101, 20))


def stacked(
    axes: Axes, row: int, amounts: Mapping[str, float], colours: Mapping[str, str], hatches: Mapping[str, str]
) -> None:
    """A stacked bar in a row: the shares of the amounts that have a colour, in the order of the colours, each with its
    percentage where there is room."""
    whole = sum(amounts.get(name, 0) for name in colours)
    left = 0.0
    for name, colour in colours.items():
        share = 100 * amounts.get(name, 0) / whole
        if not share:
            continue
        (bar,) = axes.barh(row + 0.15, share, 0.44, left, color=colour, edgecolor="white", linewidth=0.4)
        bar.set_hatch(hatches.get(name, ""))
        bar.set_gid(f"bar-{row}-{name}")
        if share >= 9:
            ink = "white" if colour in (style.BLUE, style.VERMILLION, style.GREEN) else style.BLACK
            label = axes.text(left + share / 2, row + 0.16, f"{share:.0f}", color=ink, fontsize=6)
            label.set(ha="center", va="center", bbox=_box(colour))
        left += share


def _decade(exponent: int) -> str:
    return f"{10.0**exponent:,.10g}" if -5 < exponent < 6 else f"1e{exponent}"


def _box(colour: str) -> dict[str, Any]:
    """The background of a text on lines or hatches."""
    return {"boxstyle": "square,pad=0.12", "facecolor": colour, "edgecolor": "none"}


def _wrapped(title: str, width: float) -> list[str]:
    # Text in brackets stays on one line.
    bound = re.sub(r"\(.*?\)", lambda found: found[0].replace(" ", "\N{NO-BREAK SPACE}"), style.plain(title))
    return textwrap.wrap(bound, int(width * 15.5))


def _put_title(figure: Figure, lines: Sequence[str], height: float) -> None:
    figure.text(
        _MARGIN / figure.get_figwidth(),
        1 - _MARGIN / height,
        "\n".join(lines),
        fontsize=7.5,
        fontweight="bold",
        va="top",
        linespacing=1.25,
    )

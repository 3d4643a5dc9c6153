"""What all figures share: a paper's sizes and fonts, colours that everybody can tell apart, and files that are the
same for the same data.

Figures are made with Matplotlib's objects, never with pyplot, and laid out in inches by hand: the same data give the
same bytes. Text comes out of run files and is not trusted: no text is read as mathematics, and what the font cannot
show is written as an escape.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from portbench.printable import printable, shortened

# The palette of Okabe and Ito (2008), by the names they gave.
BLACK, GREY = "#000000", "#999999"
BLUE, SKY, GREEN, YELLOW = "#0072B2", "#56B4E9", "#009E73", "#F0E442"
ORANGE, VERMILLION, PURPLE = "#E69F00", "#D55E00", "#CC79A7"
PALE = "#E5E5E5"

OF_DEVICE = {"gpu": BLUE, "tpu": VERMILLION, "xla": PURPLE, "cpu": GREY}

COLUMN = 3.5
"""The width of one column of a paper, and of two, in inches."""
COLUMNS = 7.16

MOST_ROWS = 30
"""How many rows a figure has at most; what is beyond goes into the next."""
MOST_PANELS = 12
MOST_SHAPES = 1000
"""How many shapes of a kind an SVG holds one by one; more are a picture in it."""

_FONT = "DejaVu Sans"
_MARGIN = 0.12
_LINE = 0.14  # a line of text, in inches
_ROW = 0.34
_PANEL = 1.75

_STYLE: dict[Any, Any] = {
    "font.family": [_FONT],
    "font.size": 7.0,
    "axes.titlesize": 7.5,
    "axes.labelsize": 7.0,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": PALE,
    "grid.linewidth": 0.5,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.fontsize": 6.5,
    "legend.frameon": False,
    "lines.linewidth": 1.0,
    "hatch.linewidth": 0.5,
    "svg.hashsalt": "portbench",
    "svg.fonttype": "path",
    "text.parse_math": False,
    "savefig.dpi": 200.0,
}


@dataclass(frozen=True)
class Drawing:
    """A figure; ``name`` is that of its files, ``title`` and ``caption`` are plain text."""

    name: str
    title: str
    caption: str
    figure: Figure

    def svg(self) -> bytes:
        """As SVG, without a date."""
        file = io.BytesIO()
        self.figure.savefig(file, format="svg", metadata={"Date": None, "Title": self.title})
        return file.getvalue()

    def png(self) -> bytes:
        """As PNG with 200 dots per inch."""
        file = io.BytesIO()
        self.figure.savefig(file, format="png", metadata={"Title": self.title})
        return file.getvalue()


@dataclass(frozen=True)
class NotDrawn:
    """A figure for which there are no data, and why."""

    name: str
    reason: str


@contextmanager
def style() -> Iterator[None]:
    """Within it figures are drawn and saved alike, whatever the user's own Matplotlib is set to."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def plain(text: str, limit: int = 60) -> str:
    """Text on one line of at most ``limit`` characters, with what the font cannot show written as an escape."""
    font = font_manager.get_font(font_manager.findfont(_FONT))
    return shortened(
        "".join(
            character if font.get_char_index(ord(character)) else f"\\u{ord(character):04x}"
            for character in printable(text)
        ),
        limit,
    )


def rows(
    title: str, labels: Sequence[str], notes: Sequence[str], axis: str, legend_lines: int = 1
) -> tuple[Figure, Axes]:
    """A figure as wide as a column with one row for each label, the first on top, at y = 0, 1, 2...

    A label stands above what is drawn of its row, which may take y - 0.1 to y + 0.42, and its note to the right of it.
    ``axis`` is the label of the x axis.
    """
    lines = _wrapped(title, COLUMN)
    top = _MARGIN + _LINE * len(lines) + 0.02
    bottom = 0.4 + _LINE * legend_lines
    height = top + _ROW * len(labels) + bottom
    figure = Figure(figsize=(COLUMN, height))
    left, right = 0.16 / COLUMN, 1 - 0.2 / COLUMN
    axes = figure.add_axes((left, bottom / height, right - left, _ROW * len(labels) / height))
    _put_title(figure, lines, height)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.set_yticks([])
    axes.grid(visible=False, axis="y")
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(axis)
    across = axes.get_yaxis_transform()
    for row, (label, note) in enumerate(zip(labels, notes, strict=True)):
        axes.text(0, row - 0.14, plain(label, 64 - len(note)), transform=across, fontsize=6.5, va="bottom")
        axes.text(1, row - 0.14, note, transform=across, fontsize=6.5, va="bottom", ha="right")
    return figure, axes


def panels(
    title: str, labels: Sequence[str], legend_lines: int = 1, own_legend_lines: int = 0
) -> tuple[Figure, list[Axes]]:
    """A figure with a square panel for each label: one column wide for one panel, else three panels side by side.

    ``own_legend_lines`` is the room below each panel for a legend of its own, ``legend_lines`` that below the figure.
    """
    across = min(3, len(labels))
    down = -(-len(labels) // across)
    width = COLUMN if across == 1 else COLUMNS * (0.7 if across == 2 else 1)
    lines = _wrapped(title, width)
    top = _MARGIN + _LINE * len(lines) + 0.04
    bottom = 0.06 + _LINE * 1.15 * legend_lines
    above, below, before = 0.24, 0.42 + _LINE * own_legend_lines, 0.52
    side = (width - _MARGIN) / across - before
    height = top + down * (above + side + below) + bottom
    figure = Figure(figsize=(width, height))
    _put_title(figure, lines, height)
    made = []
    for position, label in enumerate(labels):
        row, column = divmod(position, across)
        x = before + column * (before + side)
        y = height - top - (row + 1) * (above + side) - row * below
        axes = figure.add_axes((x / width, y / height, side / width, side / height))
        axes.set_title(plain(label, 44), loc="left", fontsize=7.0)
        made.append(axes)
    return figure, made


def legend(figure: Figure, handles: Sequence[Any], across: int) -> None:
    """Puts a legend below everything else."""
    figure.legend(
        handles=list(handles),
        loc="lower center",
        ncols=across,
        borderaxespad=0.35,
        handlelength=1.4,
        columnspacing=1.2,
        handletextpad=0.5,
        labelspacing=0.3,
    )


def log_axis(axes: Axes, low: float, high: float, which: str = "x") -> None:
    """Makes an axis logarithmic from a power of ten to one, with numbers as people write them: 0.1, 1, 1,000."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    (axes.set_xlim if which == "x" else axes.set_ylim)(low, high)
    axis.set_major_locator(LogLocator(base=10, numticks=7))
    axis.set_minor_locator(LogLocator(base=10, subs="auto", numticks=30))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}" if value < 1e6 else f"{value:.0e}"))
    axis.set_minor_formatter(NullFormatter())


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
    """A bar of a row, as shares of the amounts' sum, in the order of ``colours``; the share stands in it where there is
    room."""
    whole = sum(amounts.values())
    left = 0.0
    for name, colour in colours.items():
        share = 100 * amounts.get(name, 0) / whole
        if not share:
            continue
        (bar,) = axes.barh(row + 0.15, share, 0.44, left, color=colour, edgecolor="white", linewidth=0.4)
        bar.set_hatch(hatches.get(name, ""))
        bar.set_gid(f"bar-{row}-{name}")
        if share >= 9:
            dark = colour in (BLUE, VERMILLION, BLACK, GREEN)
            axes.text(
                left + share / 2,
                row + 0.16,
                f"{share:.0f}",
                color="white" if dark else BLACK,
                fontsize=6,
                ha="center",
                va="center",
            )
        left += share


def _wrapped(title: str, width: float) -> list[str]:
    return textwrap.wrap(plain(title, 300), int(width * 15.5))


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

"""The style of all figures: colours that everybody can tell apart, a paper's fonts, the same bytes for the same data.

Text comes out of run files and is not trusted: none is read as mathematics, and characters that the font lacks are
written as escapes.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib
from matplotlib import font_manager
from matplotlib.figure import Figure
from matplotlib.ft2font import FT2Font

from portbench.util.text import escape_control, shortened

# The palette of Okabe and Ito (2008), by the names they gave.
BLACK, GREY = "#000000", "#999999"
BLUE, SKY, GREEN, YELLOW = "#0072B2", "#56B4E9", "#009E73", "#F0E442"
ORANGE, VERMILLION, PURPLE = "#E69F00", "#D55E00", "#CC79A7"
PALE = "#E5E5E5"

OF_DEVICE = {
    "gpu": BLUE,
    "tpu": VERMILLION,
    "xla": PURPLE,
    "pjrt": ORANGE,
    "privateuse1": ORANGE,
    "pluggable": ORANGE,
    "cpu": GREY,
}

SMALL = 6.5  # points, for smaller texts

_FONT = "DejaVu Sans"

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
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.fontsize": SMALL,
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
    """A figure; ``name`` is that of its files. Title, caption and ``details``, a sentence for each row or panel, are
    plain text."""

    name: str
    title: str
    caption: str
    details: Sequence[str]
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
    """A figure for which the study has no data, and why."""

    name: str
    reason: str


@contextmanager
def style() -> Iterator[None]:
    """Sets Matplotlib up for drawing and saving, independent of the user's own settings, and restores these."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def plain(text: str) -> str:
    """Text on one line, with characters that the font lacks written as escapes."""
    font = _font()
    return "".join(
        character if font.get_char_index(ord(character)) else f"\\u{ord(character):04x}"
        for character in escape_control(text)
    )


def fitted(text: str, inches: float, points: float = SMALL, others: Iterable[str] = ()) -> str:
    """``plain`` text, cut with an ellipsis where it is wider than ``inches`` at a size of ``points``.

    It is cut at its end, or in its middle where one of ``others`` begins with what would be left of it.
    """
    whole = plain(text)
    shown = _cut(whole, inches, points, lambda limit: shortened(whole, limit))
    left = shown.removesuffix("…")
    if shown != whole and any(other != text and plain(other).startswith(left) for other in others):
        return _cut(
            whole, inches, points, lambda limit: f"{whole[: limit // 3].rstrip()}…{whole[limit // 3 - limit :]}"
        )
    return shown


def _cut(whole: str, inches: float, points: float, cut: Callable[[int], str]) -> str:
    shown, limit = whole, len(whole)
    while limit > 1 and width(shown, points) > inches:
        limit -= 1
        shown = cut(limit)
    return shown


def width(text: str, points: float) -> float:
    """The width of a text at a size of ``points``, in inches."""
    font = _font()
    font.set_size(points, 720)  # tenfold, as small glyphs are rounded to whole dots
    font.set_text(text)
    return font.get_width_height()[0] / 64 / 720


def _font() -> FT2Font:
    return font_manager.get_font(font_manager.findfont(_FONT))

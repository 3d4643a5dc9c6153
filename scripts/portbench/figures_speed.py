"""Figures of pairs of sides: latencies against each other, who is faster, and how the ratios are distributed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from portbench import figures_canvas as canvas
from portbench.figures_canvas import Drawing
from portbench.latency import FunctionLatency, Latencies
from portbench.printable import number
from portbench.report_figures import percent, significant

MUCH_FASTER, FASTER, UNCLEAR, SLOWER, MUCH_SLOWER = "much faster", "faster", "unclear", "slower", "much slower"

COLOURS = {
    MUCH_FASTER: canvas.BLUE,
    FASTER: canvas.SKY,
    UNCLEAR: canvas.PALE,
    SLOWER: canvas.ORANGE,
    MUCH_SLOWER: canvas.VERMILLION,
}
HATCHES = {MUCH_FASTER: "///", MUCH_SLOWER: "xxx"}
_MARKERS = {MUCH_FASTER: "v", FASTER: "v", UNCLEAR: "o", SLOWER: "o", MUCH_SLOWER: "^"}

NEWER = 1.5
"""How many times faster the study called faster on newer hardware."""


@dataclass(frozen=True)
class Pair:
    """The latencies of two sides, how both are called in a figure, and what is the same in both: ``jax 0.4.8``."""

    latencies: Latencies
    shared: str
    first: str
    second: str

    @property
    def n(self) -> int:
        """How many functions have a ratio."""
        return len(self.latencies.functions)

    @property
    def label(self) -> str:
        """What the second is compared with, and over how many functions."""
        return f"{self.shared}: {self.second} against {self.first} (n = {self.n})"


def speed(function: FunctionLatency, threshold: float) -> str:
    """How the second side does against the first: much faster or slower is by more than ``threshold`` times.

    Unclear is a ratio of exactly one, or one whose interval holds one.
    """
    ratio = function.ratio
    if ratio == 1 or (function.low is not None and function.high is not None and function.low <= 1 <= function.high):
        return UNCLEAR
    if ratio > 1:
        return MUCH_SLOWER if ratio > threshold else SLOWER
    return MUCH_FASTER if ratio < 1 / threshold else FASTER


def scatter(name: str, pairs: Sequence[Pair], method: str, threshold: float) -> Drawing:
    """Latency on one side against that on the other, a panel for each pair and a point for each function."""
    title = f"Latency of each function on two devices ({method})"
    names = list(dict.fromkeys(speed(one, threshold) for pair in pairs for one in pair.latencies.functions))
    figure, panels = canvas.panels(title, [f"{pair.shared} (n = {pair.n})" for pair in pairs], legend_lines=3)
    for position, (pair, axes) in enumerate(zip(pairs, panels, strict=True), 1):
        _scatter_panel(axes, pair, threshold, f"points-{position}")
    times = f"{threshold:g}"
    words = _words("second", times)
    handles = [_marker(cls, words[cls]) for cls in COLOURS if cls in names]
    handles.append(Line2D([], [], color=canvas.BLACK, linewidth=0.8, label="as fast"))
    handles.append(Line2D([], [], color=canvas.BLACK, linewidth=0.6, linestyle="--", label=f"{times} times"))
    canvas.legend(figure, handles, 2 if len(pairs) == 1 else 4)
    caption = (
        "Each point is a function; above the diagonal it is slower on the device of the y axis. "
        f"Dashed: {times} times slower and faster. {_how(method)} {_outside(pairs)}"
    )
    return Drawing(name, title, caption, figure)


def faster_shares(name: str, pairs: Sequence[Pair], method: str, threshold: float) -> Drawing:
    """Which share of the functions is faster on which side, a bar for each pair."""
    title = f"Share of functions that are faster or slower ({method})"
    figure, axes = canvas.rows(title, [pair.label for pair in pairs], "functions (%)", legend_lines=3)
    canvas.percent_axis(axes)
    seen = set()
    for row, pair in enumerate(pairs):
        counts = _counts(pair, threshold)
        seen |= {cls for cls, functions in counts.items() if functions}
        canvas.stacked(axes, row, counts, COLOURS, HATCHES)
    words = _words("", f"{threshold:g}")
    canvas.legend(figure, [_patch(cls, words[cls]) for cls in COLOURS if cls in seen], 2)
    caption = f"Share of functions by how the first-named side does against the second-named. {_how(method)} " + " ".join(
        f"{pair.label}: {_told(_counts(pair, threshold), words)}." for pair in pairs
    )
    return Drawing(name, title, caption, figure)


def ratios(name: str, pairs: Sequence[Pair], method: str, threshold: float) -> Drawing:
    """How the ratios of a pair are distributed: every function as a dot, with median and quartiles."""
    title = f"How many times slower each function is ({method})"
    figure, axes = canvas.rows(title, [pair.label for pair in pairs], "ratio of latencies (1: as fast)", legend_lines=1)
    found = [np.array([function.ratio for function in pair.latencies.functions]) for pair in pairs]
    every = np.concatenate(found)
    canvas.log_axis(axes, *_powers(min(every.min(), 1 / threshold), max(every.max(), threshold)))
    axes.axvline(1, color=canvas.BLACK, linewidth=0.8)
    for limit in (threshold, 1 / threshold):
        axes.axvline(limit, color=canvas.BLACK, linewidth=0.6, linestyle="--")
    for row, (pair, values) in enumerate(zip(pairs, found, strict=True)):
        classes = [speed(function, threshold) for function in pair.latencies.functions]
        # Side by side in the order of their size, so that dots of equal ratios do not hide each other.
        heights = row + 0.04 + 0.26 * ((np.argsort(np.argsort(values, kind="stable")) * 7 % 11) / 10)
        dots = axes.scatter(values, heights, s=5, c=[COLOURS[cls] for cls in classes], linewidths=0, alpha=0.8)
        dots.set_gid(f"dots-{row}")
        low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
        axes.plot([low, high], [row + 0.38] * 2, color=canvas.BLACK, linewidth=1.6, solid_capstyle="butt")
        axes.plot([middle], [row + 0.38], "D", color="white", markeredgecolor=canvas.BLACK, markersize=3.5)
    handles = [
        Line2D([], [], color=canvas.BLACK, marker="D", markerfacecolor="white", markersize=3.5, label="median, quartiles"),
        Line2D([], [], color=canvas.BLACK, linewidth=0.6, linestyle="--", label=f"{threshold:g} times"),
    ]
    canvas.legend(figure, handles, 2)
    medians = " ".join(
        f"{pair.label}: median {significant(float(np.median(values)))}." for pair, values in zip(pairs, found, strict=True)
    )
    caption = f"Ratio of latencies of each function (dots), right of 1 slower. {_how(method)} {medians}"
    return Drawing(name, title, caption, figure)


def _scatter_panel(axes: Axes, pair: Pair, threshold: float, gid: str) -> None:
    functions = pair.latencies.functions
    x, y = (np.array([getattr(one, side) for one in functions]) / 1e6 for side in ("first_ns", "second_ns"))
    limits = _powers(min(x.min(), y.min()), max(x.max(), y.max()))
    for which in "xy":
        canvas.log_axis(axes, *limits, which)
    ends = np.array(limits)
    axes.plot(ends, ends, color=canvas.BLACK, linewidth=0.8)
    for factor in (threshold, 1 / threshold):
        axes.plot(ends, ends * factor, color=canvas.BLACK, linewidth=0.6, linestyle="--")
    classes = [speed(one, threshold) for one in functions]
    for cls, colour in COLOURS.items():
        of_class = np.array([one == cls for one in classes])
        if of_class.any():
            edge = canvas.GREY if cls == UNCLEAR else "none"
            dots = axes.scatter(
                x[of_class], y[of_class], s=9, c=colour, marker=_MARKERS[cls], alpha=0.8, linewidths=0.4, edgecolors=edge
            )
            dots.set_gid(f"{gid}-{cls.replace(' ', '-')}")
    axes.set_xlabel(f"{canvas.plain(pair.first, 30)} (ms)")
    axes.set_ylabel(f"{canvas.plain(pair.second, 30)} (ms)")


def _counts(pair: Pair, threshold: float) -> dict[str, int]:
    classes = [speed(function, threshold) for function in pair.latencies.functions]
    return {cls: classes.count(cls) for cls in COLOURS}


def _words(who: str, times: str) -> dict[str, str]:
    who = f"{who} " if who else ""
    return {
        MUCH_FASTER: f"{who}over {times} times faster",
        FASTER: f"{who}faster",
        UNCLEAR: "no clear difference",
        SLOWER: f"{who}slower",
        MUCH_SLOWER: f"{who}over {times} times slower",
    }


def _told(counts: dict[str, int], words: dict[str, str]) -> str:
    whole = sum(counts.values())
    return ", ".join(
        f"{words[cls]} {percent(functions, whole)} % ({functions} of {whole})" for cls, functions in counts.items() if functions
    )


def _how(method: str) -> str:
    if method == "as published":
        return "As published: means of all first calls of the tests that were timed on both."
    return (
        "Robust: medians of calls after the warm-up, geometric mean of the ratios of the tests that were timed on both; "
        "no clear difference where the 95 % interval holds 1."
    )


def _outside(pairs: Sequence[Pair]) -> str:
    missing = sum(len(pair.latencies.left_out) for pair in pairs)
    return f"Left out, as not timed on both: {number(missing, 'function')}." if missing else ""


def _powers(low: float, high: float) -> tuple[float, float]:
    """The powers of ten around an interval."""
    return 10.0 ** np.floor(np.log10(low)), 10.0 ** np.ceil(np.log10(high * 1.0000001))


def _marker(cls: str, label: str) -> Line2D:
    edge = canvas.GREY if cls == UNCLEAR else "none"
    return Line2D([], [], color=COLOURS[cls], marker=_MARKERS[cls], linestyle="", markersize=4, label=label, markeredgecolor=edge)


def _patch(cls: str, label: str) -> Patch:
    return Patch(facecolor=COLOURS[cls], edgecolor="white", hatch=HATCHES.get(cls), label=label)

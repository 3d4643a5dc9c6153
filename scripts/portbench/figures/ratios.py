"""Figures of pairs of configurations: latencies against each other, which is faster, and how ratios are distributed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from portbench.analysis.terms import PAPER_METHOD, ROBUST
from portbench.figures import canvas, style
from portbench.figures.data import Floats, Pair
from portbench.figures.style import Drawing
from portbench.util.format import percent, significant
from portbench.util.text import pluralize

MUCH_FASTER, FASTER, UNCLEAR, SLOWER, MUCH_SLOWER = "much-faster", "faster", "unclear", "slower", "much-slower"

_COLOURS = {
    MUCH_FASTER: style.BLUE,
    FASTER: style.SKY,
    UNCLEAR: style.PALE,
    SLOWER: style.ORANGE,
    MUCH_SLOWER: style.VERMILLION,
}
_HATCHES = {MUCH_FASTER: "////", MUCH_SLOWER: "xxxx"}
# Points without a clear difference are below: above, they would hide one side more than the other.
_DRAWN = (UNCLEAR, FASTER, SLOWER, MUCH_FASTER, MUCH_SLOWER)
_MARKERS = {MUCH_FASTER: "v", FASTER: "v", UNCLEAR: "o", SLOWER: "o", MUCH_SLOWER: "^"}

_HOW = {
    PAPER_METHOD: "Paper's method: latency is the mean over the tests that every run timed on both, of each test's "
    "mean over its first calls and runs.",
    ROBUST: "Robust: latency is that of calls after the warm-up (medians of the tests timed on both, and their "
    "geometric mean); no clear difference where the 95 % interval of the ratio holds 1 (a single test has none).",
}


def speeds(pair: Pair, threshold: float) -> NDArray[np.str_]:
    """The class of each function on the second configuration against the first; MUCH_FASTER and MUCH_SLOWER are by more
    than ``threshold`` times.

    UNCLEAR is a ratio of exactly one, or one whose interval holds one.
    """
    ratios = pair.ratios
    unclear = (ratios == 1) | ((pair.low <= 1) & (pair.high >= 1))
    conditions = [unclear, ratios > threshold, ratios > 1, ratios < 1 / threshold]
    return np.select(conditions, [UNCLEAR, MUCH_SLOWER, SLOWER, MUCH_FASTER], FASTER)


def scatter(name: str, pairs: Sequence[Pair], threshold: float) -> Drawing:
    """Latency on one device against that on the other: a panel for each pair, a point for each function."""
    method = pairs[0].method
    title = f"Latency of each function, one device against another ({method})"
    words = _words(threshold)
    legend = canvas.Legend(
        [
            *(_marker(cls, words[cls]) for cls in _seen(pairs, threshold)),
            Line2D([], [], color=style.BLACK, linewidth=0.8, label="as fast"),
            _threshold_line(threshold),
        ],
        across=2 if len(pairs) == 1 else 3,
    )
    figure, panels = canvas.panels(
        title, [f"{pair.shared} ({pair.count}){pair.synchronization}" for pair in pairs], legend
    )
    for position, (pair, axes) in enumerate(zip(pairs, panels, strict=True)):
        _scatter_panel(axes, pair, threshold, f"points-{position}")
    caption = (
        f"Each point is a function; above the diagonal it is slower on the device of the vertical axis. {_HOW[method]}"
    )
    details = [f"{pair.label}: {pluralize(pair.functions, 'function')}.{_exclusions(pair)}" for pair in pairs]
    return Drawing(name, title, caption, details, figure)


def shares(name: str, pairs: Sequence[Pair], title: str, threshold: float) -> Drawing:
    """Which share of the functions is faster and slower, a bar for each pair."""
    method = pairs[0].method
    title = f"{title} ({method})"
    words = _words(threshold)
    legend = canvas.Legend(
        [
            Patch(facecolor=_COLOURS[cls], edgecolor="white", linewidth=0, hatch=_HATCHES.get(cls), label=words[cls])
            for cls in _seen(pairs, threshold)
        ],
        across=2,
    )
    figure, axes = canvas.rows(title, [(pair.label, pair.count) for pair in pairs], "functions (%)", legend)
    canvas.percent_axis(axes)
    for row, pair in enumerate(pairs):
        canvas.stacked(axes, row, _counts(pair, threshold), _COLOURS, _HATCHES)
    caption = f"How the first-named of each pair does against the second-named. {_HOW[method]}"
    details = [f"{pair.label}: {_class_shares(_counts(pair, threshold), words)}.{_exclusions(pair)}" for pair in pairs]
    return Drawing(name, title, caption, details, figure)


def ratios(name: str, pairs: Sequence[Pair], threshold: float) -> Drawing:
    """How the ratios of each pair are distributed: a dot for each function, median and quartiles below."""
    method = pairs[0].method
    title = f"How many times slower functions are ({method})"
    median = Line2D([], [], color=style.BLACK, marker="D", markerfacecolor="white", markersize=3.5)
    median.set_label("median, quartiles")
    legend = canvas.Legend([median, _threshold_line(threshold)], across=2)
    named = [(pair.label, pair.count) for pair in pairs]
    figure, axes = canvas.rows(title, named, "times slower (below 1: faster)", legend)
    every = np.concatenate([pair.ratios for pair in pairs])
    canvas.log_axis(axes, *canvas.powers(min(every.min(), 1 / threshold), max(every.max(), threshold)))
    axes.axvline(1, color=style.BLACK, linewidth=0.8)
    for limit in (threshold, 1 / threshold):
        axes.axvline(limit, color=style.BLACK, linewidth=0.6, linestyle="--")
    for row, pair in enumerate(pairs):
        _ratio_row(axes, row, pair, threshold)
    caption = (
        "Each dot is a function: how many times slower it is on the first-named of each pair than on the second-named. "
        f"{_HOW[method]}"
    )
    details = [
        f"{pair.label}: median {significant(float(np.median(pair.ratios)))} over "
        f"{pluralize(pair.functions, 'function')}."
        for pair in pairs
    ]
    return Drawing(name, title, caption, details, figure)


def _scatter_panel(axes: Axes, pair: Pair, threshold: float, gid: str) -> None:
    x, y = pair.first_ns / 1e6, pair.second_ns / 1e6
    limits = canvas.powers(min(x.min(), y.min()), max(x.max(), y.max()))
    canvas.log_axis(axes, *limits)
    canvas.log_axis(axes, *limits, which="y")
    ends = np.array(limits)
    axes.plot(ends, ends, color=style.BLACK, linewidth=0.8)
    for factor in (threshold, 1 / threshold):
        axes.plot(ends, ends * factor, color=style.BLACK, linewidth=0.6, linestyle="--")
    classes = speeds(pair, threshold)
    for cls in _DRAWN:
        found = classes == cls
        if found.any():
            dots = axes.scatter(x[found], y[found], s=8, c=_COLOURS[cls], marker=_MARKERS[cls], alpha=0.8)
            # Where edges have a colour, even an invisible one, dots are drawn many times as fast.
            dots.set(edgecolor=style.BLACK, linewidth=_edge(cls))
            dots.set_gid(f"{gid}-{cls}")
            dots.set_rasterized(len(x) > canvas.MOST_SHAPES)
    axes.set_xlabel(f"{style.fitted(pair.first, 1.3)} (ms)")
    axes.set_ylabel(f"{style.fitted(pair.second, 1.3)} (ms)")


def _ratio_row(axes: Axes, row: int, pair: Pair, threshold: float) -> None:
    values: Floats = pair.ratios
    classes = speeds(pair, threshold)
    # By size, over eleven heights: dots of near-equal ratios do not hide each other.
    heights = row + 0.24 * (np.argsort(np.argsort(values, kind="stable")) * 7 % 11) / 10
    for cls in _DRAWN:
        found = classes == cls
        if found.any():
            dots = axes.scatter(values[found], heights[found], s=5, c=_COLOURS[cls], linewidths=0, alpha=0.8)
            dots.set_gid(f"dots-{row}-{cls}")
            dots.set_rasterized(len(values) > canvas.MOST_SHAPES)
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    axes.plot([low, high], [row + 0.36] * 2, color=style.BLACK, linewidth=1.6, solid_capstyle="butt")
    axes.plot([middle], [row + 0.36], "D", color=style.BLACK, markerfacecolor="white", markersize=3.5)


def _counts(pair: Pair, threshold: float) -> dict[str, int]:
    classes = speeds(pair, threshold)
    return {cls: int(np.count_nonzero(classes == cls)) for cls in _COLOURS}


def _seen(pairs: Sequence[Pair], threshold: float) -> list[str]:
    """The classes of the legend."""
    found = {cls for pair in pairs for cls in np.unique(speeds(pair, threshold))}
    return [cls for cls in _COLOURS if cls in found]


def _words(threshold: float) -> dict[str, str]:
    return {
        MUCH_FASTER: f"more than {threshold:g} times faster",
        FASTER: "faster",
        UNCLEAR: "no clear difference",
        SLOWER: "slower",
        MUCH_SLOWER: f"more than {threshold:g} times slower",
    }


def _class_shares(counts: dict[str, int], words: dict[str, str]) -> str:
    whole = sum(counts.values())
    return ", ".join(
        f"{words[cls]} {percent(found, whole)} % ({found} of {whole})" for cls, found in counts.items() if found
    )


def _exclusions(pair: Pair) -> str:
    return f" Left out: {pair.exclusions}." if pair.exclusions else ""


def _threshold_line(threshold: float) -> Line2D:
    label = f"{threshold:g} times slower or faster"
    return Line2D([], [], color=style.BLACK, linewidth=0.6, linestyle="--", label=label)


def _marker(cls: str, label: str) -> Line2D:
    return Line2D(
        [],
        [],
        color=_COLOURS[cls],
        marker=_MARKERS[cls],
        markeredgecolor=style.BLACK,
        markeredgewidth=_edge(cls),
        linestyle="",
        markersize=4,
        label=label,
    )


def _edge(cls: str) -> float:
    """The width of a dot's edge, in points: only pale dots have one."""
    return 0.3 if cls == UNCLEAR else 0

"""Figures of times on each target: densities of the functions' latencies, and the spread of the tests' times."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from scipy.stats import gaussian_kde

from portbench.figures import canvas, style
from portbench.figures.data import Latency, Spread
from portbench.figures.style import Drawing
from portbench.util.format import in_ms
from portbench.util.text import pluralize

COLD, STEADY = "cold", "steady"

_ROW = 0.46  # the height of a row of densities, in inches

_COLOURS = {COLD: style.SKY, STEADY: style.ORANGE}
_PLACES = {COLD: 0.05, STEADY: 0.27}
_WORDS = {COLD: "first call", STEADY: "steady state"}


def densities(name: str, sides: Sequence[Latency]) -> Drawing:
    """The density of the functions over the logarithm of their latency, a row for each target; a tick is a function."""
    title = "Densities of the functions' latencies on each target (paper's method)"
    devices = [device for device in style.OF_DEVICE if any(side.device == device for side in sides)]
    handles: list[Artist] = [Patch(color=style.OF_DEVICE[device], alpha=0.5, label=device) for device in devices]
    handles.append(Line2D([], [], color=style.BLACK, label="median"))
    named = [(side.label, f"n = {len(side.functions_ns)}") for side in sides]
    figure, axes = canvas.rows(title, named, "latency (ms)", canvas.Legend(handles, len(handles)), _ROW)
    found = [np.array(side.functions_ns) / 1e6 for side in sides]
    every = np.concatenate(found)
    limits = canvas.powers(every.min(), every.max())
    canvas.log_axis(axes, *limits)
    grid = np.linspace(math.log10(limits[0]), math.log10(limits[1]), 300)
    for row, (side, values) in enumerate(zip(sides, found, strict=True)):
        colour = style.OF_DEVICE[side.device]
        curve = _density(np.log10(values), grid)
        if curve is not None:
            area = axes.fill_between(
                10**grid, row + 0.3, row + 0.3 - 0.38 * curve / curve.max(), color=colour, alpha=0.5, linewidth=0
            )
            area.set_gid(f"density-{row}")
        # Markers are drawn many times as fast as lines.
        (ticks,) = axes.plot(values, np.full_like(values, row + 0.355), "|", color=colour)
        ticks.set(markersize=0.07 * 72 * _ROW, markeredgewidth=0.5)
        ticks.set_gid(f"ticks-{row}")
        ticks.set_rasterized(len(values) > canvas.MOST_SHAPES)
        axes.vlines(np.median(values), row - 0.06, row + 0.41, color=style.BLACK, linewidth=1.0)
    caption = (
        "Density over the logarithm of the latency (Gaussian kernel, Scott's width; none for fewer than three "
        "functions), each curve to its own height; a tick is a function. As published: latency is the mean of all "
        "first calls, over all runs, of the tests that passed."
    )
    details = [
        f"{side.label}: median {in_ms(float(np.median(side.functions_ns)))} ms over "
        f"{pluralize(len(side.functions_ns), 'function')}."
        for side in sides
    ]
    return Drawing(name, title, caption, details, figure)


def distributions(name: str, sides: Sequence[tuple[str, Mapping[str, Spread]]]) -> Drawing:
    """Times of tests, first calls (COLD) and calls after the warm-up (STEADY): a row for each label."""
    title = "Times of tests on each target: first calls (paper's method) and steady state (robust)"
    shown = [kind for kind in _COLOURS if any(kind in spreads for _, spreads in sides)]
    handles = [Patch(facecolor=_COLOURS[k], edgecolor=style.BLACK, linewidth=0.5, label=_WORDS[k]) for k in shown]
    named = [(label, _tests(spreads)) for label, spreads in sides]
    figure, axes = canvas.rows(title, named, "time of a call (ms)", canvas.Legend(handles, len(handles)))
    ends = [spread.quantiles_ns[end] / 1e6 for _, spreads in sides for spread in spreads.values() for end in (0, -1)]
    canvas.log_axis(axes, *canvas.powers(min(ends), max(ends)))
    for row, (_, spreads) in enumerate(sides):
        for kind, spread in spreads.items():
            _box(axes, row + _PLACES[kind], spread, _COLOURS[kind], f"box-{row}-{kind}")
    caption = (
        "Boxes: median and quartiles over the tests that passed; whiskers: 5th and 95th percentile; dots: least and "
        "greatest. First call: mean of a test's first calls, over all runs (paper's method); steady state: median of "
        "its calls after the warm-up (robust). n: tests with a first call, and with a steady state where these differ."
    )
    details = [f"{label}: {', '.join(map(_median, spreads, spreads.values()))}." for label, spreads in sides]
    return Drawing(name, title, caption, details, figure)


def _tests(spreads: Mapping[str, Spread]) -> str:
    counts = [str(spreads[kind].tests if kind in spreads else 0) for kind in _COLOURS]
    return f"n = {', '.join(dict.fromkeys(counts))}"


def _density(logarithms: np.ndarray, grid: np.ndarray) -> np.ndarray | None:
    if len(logarithms) < 3 or np.ptp(logarithms) < 1e-6:
        return None
    return np.asarray(gaussian_kde(logarithms)(grid))


def _median(kind: str, spread: Spread) -> str:
    return f"{_WORDS[kind]} median {in_ms(spread.quantiles_ns[3])} ms over {pluralize(spread.tests, 'test')}"


def _box(axes: Axes, place: float, spread: Spread, colour: str, gid: str) -> None:
    least, low, first, middle, third, high, most = (ns / 1e6 for ns in spread.quantiles_ns)
    axes.plot([low, high], [place] * 2, color=style.BLACK, linewidth=0.6)
    (bar,) = axes.barh(place, third - first, 0.16, first, facecolor=colour, edgecolor=style.BLACK, linewidth=0.5)
    bar.set_gid(gid)
    axes.plot([middle] * 2, [place - 0.08, place + 0.08], color=style.BLACK, linewidth=1.2, solid_capstyle="butt")
    axes.plot([least, most], [place] * 2, ".", color=style.BLACK, markersize=2)

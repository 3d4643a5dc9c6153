"""Figures of times on one side each: their densities over functions, and their distribution over tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from scipy.stats import gaussian_kde

from portbench import figures_canvas as canvas
from portbench.figures_canvas import Drawing
from portbench.report_figures import in_ms

COLD, STEADY = "cold", "steady"
_COLOURS = {COLD: canvas.SKY, STEADY: canvas.ORANGE}


@dataclass(frozen=True)
class Times:
    """Times in nanoseconds on one side, in any order; ``of`` is what each is of: functions or tests."""

    label: str
    device: str
    cold_ns: Sequence[float]
    steady_ns: Sequence[float]


def densities(name: str, sides: Sequence[Times]) -> Drawing:
    """The density of the functions' cold latency (as published), a row for each side, with a line for each function."""
    title = "Latency of functions on each target (as published)"
    labels = [f"{side.label} (n = {len(side.cold_ns)})" for side in sides]
    figure, axes = canvas.rows(title, labels, "mean of first calls (ms)", legend_lines=1)
    found = [np.array(side.cold_ns, float) / 1e6 for side in sides]
    every = np.concatenate(found)
    low, high = canvas.powers(every.min(), every.max())
    canvas.log_axis(axes, low, high)
    grid = np.linspace(np.log10(low), np.log10(high), 400)
    curves = [_density(np.log10(values), grid) for values in found]
    highest = max((curve.max() for curve in curves if curve is not None), default=1.0)
    for row, (side, values, curve) in enumerate(zip(sides, found, curves, strict=True)):
        colour = canvas.OF_DEVICE[side.device]
        if curve is not None:
            area = axes.fill_between(
                10**grid, row + 0.3, row + 0.3 - 0.42 * curve / highest, color=colour, alpha=0.55, linewidth=0
            )
            area.set_gid(f"density-{row}")
        ticks = axes.vlines(values, row + 0.31, row + 0.39, color=colour, linewidth=0.5)
        ticks.set_gid(f"ticks-{row}")
        axes.vlines(np.median(values), row - 0.08, row + 0.41, color=canvas.BLACK, linewidth=1.0)
    devices = [device for device in canvas.OF_DEVICE if any(side.device == device for side in sides)]
    handles: list[Patch | Line2D] = [
        Patch(facecolor=canvas.OF_DEVICE[device], alpha=0.55, label=device) for device in devices
    ]
    handles.append(Line2D([], [], color=canvas.BLACK, linewidth=1.0, label="median"))
    canvas.legend(figure, handles, len(handles))
    medians = " ".join(f"{label}: median {in_ms(float(np.median(v)))} ms." for label, v in zip(labels, found, strict=True))
    caption = (
        "Density of the functions over the logarithm of their latency, all areas to one scale; a tick is a function. "
        f"As published: means of all first calls of the tests that passed. {medians}"
    )
    return Drawing(name, title, caption, figure)


def distributions(name: str, sides: Sequence[Times]) -> Drawing:
    """Times of tests, first calls beside calls after the warm-up, as boxes, a row for each side."""
    title = "Times of tests on each target: first calls and steady calls"
    labels = [f"{side.label} ({_numbers(side)})" for side in sides]
    figure, axes = canvas.rows(title, labels, "time of a call (ms)", legend_lines=1)
    every = np.concatenate([np.array([*side.cold_ns, *side.steady_ns], float) for side in sides]) / 1e6
    canvas.log_axis(axes, *canvas.powers(every.min(), every.max()))
    for row, side in enumerate(sides):
        for kind, times, place in ((COLD, side.cold_ns, 0.04), (STEADY, side.steady_ns, 0.28)):
            if len(times):
                _box(axes, row + place, np.array(times, float) / 1e6, _COLOURS[kind], f"box-{row}-{kind}")
    canvas.legend(figure, [Patch(facecolor=_COLOURS[k], edgecolor=canvas.BLACK, linewidth=0.5, label=k) for k in _COLOURS], 2)
    caption = (
        "Box: median and quartiles; whiskers: the 5th and the 95th percentile; dots: least and greatest. "
        "Cold: the mean first call of each passing test over its runs; steady: its median call after the warm-up."
    )
    return Drawing(name, title, caption, figure)

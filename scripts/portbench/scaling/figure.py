"""The figures of time against size: a panel for each function, a line for each target."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from portbench.figures import canvas, style
from portbench.figures.style import Drawing
from portbench.scaling.model import Family, Point, Scaling, Side
from portbench.util.format import in_ms

_COLOURS = (style.BLUE, style.VERMILLION, style.GREEN, style.PURPLE, style.ORANGE, style.BLACK)
_MARKERS = ("o", "^", "s", "D", "v", "P")
_CAPTION = (
    "Time of one call in the steady state against its size, both axes logarithmic: the median over the runs; a size "
    "that did not pass has no point. Dashed: the roofline of a predicted device, a lower bound that was not measured."
)


def drawings(scaling: Scaling) -> list[Drawing]:
    """The figures of each framework, of so many functions each as there is room for. Functions without any time are
    left out."""
    made = []
    for framework in dict.fromkeys(side.key.framework for side in scaling.sides):
        sides = [side for side in scaling.sides if side.key.framework == framework]
        timed = [each for each in scaling.families if any(_curve(side, each) for side in sides)]
        for start in range(0, len(timed), canvas.MOST_PANELS):
            number = start // canvas.MOST_PANELS + 1
            made.append(_drawing(f"scaling-{framework}-{number}", scaling, sides, timed[start:][: canvas.MOST_PANELS]))
    return made


def _drawing(name: str, scaling: Scaling, sides: Sequence[Side], families: Sequence[Family]) -> Drawing:
    styles = dict(zip((side.key for side in sides), _looks(sides), strict=True))
    handles = [Line2D([], [], label=scaling.label(side), **styles[side.key]) for side in sides]
    labels = [family.function for family in families]
    title = f"Time against size: {labels[0]} to {labels[-1]}"
    figure, every = canvas.panels(title, labels, canvas.Legend(handles, min(3, len(handles))))
    details = []
    for number, (family, axes) in enumerate(zip(families, every, strict=True)):
        curves = {side.key: curve for side in sides if (curve := _curve(side, family))}
        for order, side in enumerate(sides):
            if side.key in curves:
                (line,) = axes.plot(*zip(*curves[side.key], strict=True), **styles[side.key])
                line.set_gid(f"line-{number}-{order}")
                details.append(_detail(family, scaling.label(side), curves[side.key]))
        _axes(axes, family, [point for curve in curves.values() for point in curve])
    return Drawing(name, title, _CAPTION, details, figure)


def _looks(sides: Sequence[Side]) -> list[dict[str, Any]]:
    """Colour, marker and line of each side."""
    looks = zip(sides, cycle(zip(_COLOURS, _MARKERS, strict=True)), strict=False)
    return [
        {"color": colour, **({"linestyle": "--"} if side.is_predicted else {"marker": marker, "markersize": 2.5})}
        for side, (colour, marker) in looks
    ]


def _curve(side: Side, family: Family) -> list[tuple[float, float]]:
    """Sizes and times in ms."""
    found = ((point.n, _ns(side, point)) for point in side.points.get(family, ()))
    return [(float(n), ns / 1e6) for n, ns in found if ns]


def _ns(side: Side, point: Point) -> float | None:
    return point.roofline_ns if side.is_predicted else point.median_ns


def _axes(axes: Axes, family: Family, points: Sequence[tuple[float, float]]) -> None:
    sizes, times = zip(*points, strict=True)
    canvas.log_axis(axes, *canvas.powers(min(sizes), max(sizes)), room=3)
    canvas.log_axis(axes, *canvas.powers(min(times), max(times)), which="y")
    axes.set_xlabel(style.fitted(family.of, 1.7))
    axes.set_ylabel("ms")


def _detail(family: Family, label: str, curve: Sequence[tuple[float, float]]) -> str:
    (least, first), (most, last) = curve[0], curve[-1]
    return (
        f"{family.function} on {label}: {in_ms(first * 1e6)} ms at {least:,.0f} to {in_ms(last * 1e6)} ms at "
        f"{most:,.0f} {family.of}."
    )

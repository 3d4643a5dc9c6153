"""Trends over versions and dates as SVG, in pages: lines in the colours of shared.css."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from markupsafe import Markup, escape

from portbench.util.text import escape_control, shortened

MOST_LINES = 8
"""As many lines as the style sheet has colours."""
_WIDTH, _HEIGHT = 680, 230
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 170, 14, 28
_LABEL_HEIGHT = 14
_LONGEST_LABEL = 26
_MOST_DOTS = 60
_NEAREST_LABELS = 86


@dataclass(frozen=True)
class Line:
    """The values of one line, by version."""

    label: str
    values: Mapping[str, float]


@dataclass(frozen=True)
class _Axis:
    low: float
    high: float
    is_log: bool

    def y(self, value: float) -> float:
        share = (self._of(value) - self._of(self.low)) / (self._of(self.high) - self._of(self.low))
        return round(_HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM), 1)

    def _of(self, value: float) -> float:
        return math.log10(value) if self.is_log else value

    @property
    def ticks(self) -> list[float]:
        if not self.is_log:
            return [self.low + part * (self.high - self.low) / 4 for part in range(5)]
        first, last = round(math.log10(self.low)), round(math.log10(self.high))
        step = max(1, math.ceil((last - first) / 5))
        return [10.0**power for power in range(first, last + 1, step)]


def percent_chart(title: str, places: Sequence[str], lines: Sequence[Line], *, is_date: bool = False) -> Markup:
    """A chart of percentages by version, or by date (``2026-11-20``); '' where no line has two of them. The axis begins
    where the least value needs it."""
    shown = _with_trend(lines)
    least = min((value for line in shown for value in line.values.values()), default=100)
    axis = _Axis(max(0.0, 20 * math.floor((least - 2) / 20)), 100, is_log=False)
    return _chart(title, places, shown, axis, lambda value: f"{value:.0f} %", is_date=is_date)


def time_chart(title: str, versions: Sequence[str], lines: Sequence[Line]) -> Markup:
    """A chart of times in nanoseconds by version, on a logarithmic axis; '' where no line has two of them."""
    shown = _with_trend(lines)
    values = [value for line in shown for value in line.values.values()]
    if not values:
        return Markup()
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return _chart(title, versions, shown, _Axis(10.0**low, 10.0 ** max(high, low + 1), is_log=True), short_time)


def short_time(ns: float) -> str:
    """A time with three significant digits at most, and the unit that fits."""
    unit, name = next((each for each in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")) if ns >= each[0]), (1, "ns"))
    value = ns / unit
    digits = 0 if value >= 100 or value == int(value) else 1 if value >= 10 else 2
    return f"{value:,.{digits}f} {name}"


def _with_trend(lines: Sequence[Line]) -> list[Line]:
    return [line for line in lines if len(line.values) > 1][:MOST_LINES]


def _chart(
    title: str,
    versions: Sequence[str],
    lines: Sequence[Line],
    axis: _Axis,
    unit: Callable[[float], str],
    *,
    is_date: bool = False,
) -> Markup:
    if not lines:
        return Markup()
    used = [version for version in versions if any(version in line.values for line in lines)]
    places = _places(used, is_date=is_date)
    parts = [
        f'<path class="grid" d="M{_LEFT} {axis.y(tick)}H{_WIDTH - _RIGHT}"/>'
        f'<text x="{_LEFT - 8}" y="{axis.y(tick) + 4:g}" text-anchor="end">{unit(tick)}</text>'
        for tick in axis.ticks
    ]
    parts += [
        f'<text x="{places[version]}" y="{_HEIGHT - 8}" text-anchor="middle">{_said(version)}</text>'
        for version in _labelled(used, places)
    ]
    for number, line in enumerate(lines):
        points = [(places[version], axis.y(line.values[version])) for version in used if version in line.values]
        path = "L".join(f"{x} {y}" for x, y in points)
        dots = "".join(f'<circle cx="{x}" cy="{y}" r="3"/>' for x, y in points if len(points) <= _MOST_DOTS)
        parts.append(f'<g class="line{number}"><path d="M{path}"/>{dots}</g>')
    parts += _labels(lines, used, axis)
    spoken = escape(f"{title}: {', '.join(escape_control(line.label) for line in lines)}")
    return Markup(
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{spoken}">{"".join(parts)}</svg>'
    )


def _places(versions: Sequence[str], *, is_date: bool) -> dict[str, float]:
    """Where each version is on the horizontal axis: as far apart as the dates are, versions equally."""
    numbers = [date.fromisoformat(each).toordinal() if is_date else place for place, each in enumerate(versions)]
    step = (_WIDTH - _LEFT - _RIGHT) / max(numbers[-1] - numbers[0], 1)
    found = zip(versions, numbers, strict=True)
    return {each: round(_LEFT + step * (number - numbers[0]), 1) for each, number in found}


def _labelled(versions: Sequence[str], places: Mapping[str, float]) -> list[str]:
    """The versions with a label: the last one, and of the others those that are far enough from their neighbours."""
    found = [versions[-1]]
    for version in reversed(versions[:-1]):
        if places[found[-1]] - places[version] >= _NEAREST_LABELS:
            found.append(version)
    return found[::-1]


def _labels(lines: Sequence[Line], versions: Sequence[str], axis: _Axis) -> list[str]:
    """The names of the lines at their right ends, moved apart where they would overlap."""
    ends = []
    for number, line in enumerate(lines):
        last = next(version for version in reversed(versions) if version in line.values)
        ends.append((axis.y(line.values[last]), number, line.label))
    found, free = [], 0.0
    for y, number, label in sorted(ends):
        place = max(y, free, _TOP)
        free = place + _LABEL_HEIGHT
        found.append((place, number, label))
    excess = max(0.0, free - _LABEL_HEIGHT - (_HEIGHT - _BOTTOM))
    return [
        f'<text class="label{number}" x="{_WIDTH - _RIGHT + 10}" y="{place - excess + 4:g}">{_said(label)}</text>'
        for place, number, label in found
    ]


def _said(text: str) -> str:
    return str(escape(escape_control(shortened(text, _LONGEST_LABEL))))
